"""A proxy that a notebook asks."""

from collections.abc import Iterator

import pytest

from tests.proxies import Proxy, serving, write_home

DDL = (
    "CREATE TABLE visits AS SELECT i AS person, ['n', 's'][1 + i % 2] AS ward, i AS cost FROM range(100) t(i)",
)
POLICY = """
ALTER TABLE visits SET PRIVACY KEY (person);
ALTER TABLE visits SET PRIVACY CEILING EPSILON 9;
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('n', 's');
CREATE PRIVACY BUDGET b LIMIT EPSILON 5 DEFAULT EPSILON 0.1;
GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET b;
"""


@pytest.fixture
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with serving(write_home(tmp_path_factory.mktemp("notebook"), DDL, POLICY)) as running:
        yield running
