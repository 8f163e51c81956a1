from pathlib import Path

import psycopg
import pytest

from dpproxy.errors import StartupError
from dpproxy.process import serving
from tests.proxies import PASSWORD, write_home

POLICY = "ALTER TABLE t SET PRIVACY PUBLIC;"


def test_a_server_runs_for_as_long_as_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DPPROXY_SERVER_LISTEN", "not an address")
    file = write_home(tmp_path, ["CREATE TABLE t AS SELECT 1 AS x"], POLICY)
    with serving(file) as (process, address):
        with psycopg.connect(f"postgresql://root@{address}/main", password=PASSWORD) as connection:
            assert connection.execute("SELECT 1").fetchall() == [(1,)]
        assert process.poll() is None
    assert process.poll() == 0


def test_a_server_that_does_not_start_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(StartupError, match="did not start"), serving(tmp_path / "none.toml"):
        pass
    assert "no such configuration file" in capfd.readouterr().err
