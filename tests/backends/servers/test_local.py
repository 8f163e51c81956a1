from pathlib import Path

import pytest

from dpproxy.backends.servers.local import beside
from dpproxy.values.errors import StartupError


def test_it_begins_empty_and_its_file_is_nobody_elses(tmp_path: Path):
    engine = beside(tmp_path, bytes(32), {"threads": 1, "memory": None, "limit": 5.0})
    assert engine.schema().tables == {}
    assert engine.prepared_names() == set()
    engine.close()
    assert {path.stat().st_mode & 0o077 for path in tmp_path.glob("*.duckdb")} == {0}


def test_a_state_directory_that_is_none_is_told(tmp_path: Path):
    with pytest.raises(StartupError, match="snapshot-empty"):
        beside(tmp_path / "missing", bytes(32), {})
