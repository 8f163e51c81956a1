from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.observe.audit_log import AuditLog


@pytest.fixture
def log(tmp_path: Path) -> Iterator[AuditLog]:
    with AuditLog.open(tmp_path, b"secret") as found:
        yield found
