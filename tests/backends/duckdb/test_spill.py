"""Rows that an engine wrote because they did not fit into memory go with the process that wrote them."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from dpproxy.backends.duckdb.spill import PREFIX, Spill
from dpproxy.backends.process.remote import Remote
from dpproxy.values.errors import Refusal
from tests.reading import words

SORTED = (words("SELECT s FROM t ORDER BY s"), 2000)
"""More than the memory holds, all of it at hand before the first row is."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT hash(i)::VARCHAR || hash(i + 1)::VARCHAR AS s FROM range(1000000) AS r(i)"
        )
    return path


@pytest.fixture
def remote(file: Path, tmp_path: Path) -> Iterator[Remote]:
    found = Remote(file, threads=1, memory="60MB", prepared=tmp_path / "prepared.duckdb")
    yield found
    found.close()


def spilled(state: Path) -> list[Path]:
    return [path for path in state.glob(f"{PREFIX}*/*") if path.stat().st_size]


def soon(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def test_what_a_killed_engine_has_written_is_removed_when_the_next_one_is_there(
    remote: Remote, file: Path, tmp_path: Path
):
    portions = remote.run_portions(*SORTED, "s")
    assert next(portions).num_rows
    assert spilled(tmp_path)
    assert not file.with_name(f"{file.name}.tmp").exists()
    child = remote._keeper.child()
    child.process.kill()
    with pytest.raises(Refusal):
        list(portions)
    assert soon(lambda: remote.epoch > 0)
    assert not spilled(tmp_path)
    with closing(remote.run_portions(*SORTED, "again")) as again:
        assert next(again).num_rows
        assert spilled(tmp_path)  # the directory is there for the next one


def test_nothing_stays_of_an_engine_that_ended_in_order(file: Path, tmp_path: Path):
    found = Remote(file, threads=1, memory="60MB", prepared=tmp_path / "prepared.duckdb")
    portions = found.run_portions(*SORTED, "s")
    next(portions)
    assert spilled(tmp_path)
    portions.close()
    found.close()
    assert soon(lambda: not list(tmp_path.glob(f"{PREFIX}*")))


KILLED = """
import os, signal, sys
from pathlib import Path
from dpproxy.backends.duckdb.spill import Spill
(Spill(Path(sys.argv[1])).path / "rows.tmp").write_text("a row")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_that_starts_removes_what_a_killed_one_has_left_and_nothing_of_one_that_runs(tmp_path: Path):
    runs = Spill(tmp_path)
    own = runs.path / "rows.tmp"
    own.write_text("a row", encoding="utf-8")
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, timeout=60)
    assert len(spilled(tmp_path)) == 2
    second = Spill(tmp_path)
    assert spilled(tmp_path) == [own]
    assert second.path.stat().st_mode & 0o777 == 0o700
    second.close()
    runs.clear()
    assert not own.exists()
    runs.close()
    assert not list(tmp_path.glob(f"{PREFIX}*"))


def test_a_state_directory_that_cannot_be_written_is_an_error(tmp_path: Path):
    with pytest.raises(OSError, match="No such file"):
        Spill(tmp_path / "none")
