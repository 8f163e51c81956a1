"""Rows from the other process as they are taken: no faster than that, to their end or not, with a clean error."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from dpproxy.backends.duckdb import source as engine
from dpproxy.backends.failures import WorkerLost
from dpproxy.backends.process import remote as module
from dpproxy.backends.process.remote import Remote
from dpproxy.values.errors import Cancelled, NumberOutOfRange, SeveralRows
from tests.backends.inline import Inline
from tests.reading import words

ROWS = 400_000
ALL = (words("SELECT i AS c0, k AS c1 FROM t"), 5_000)
ENDLESS = (words("SELECT i AS c0 FROM range(1000000000000) AS r(i) WHERE i < 3"), 1)
"""A few rows, then nothing for hours."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT i, 'k' || i % 7 AS k FROM range({ROWS}) AS r(i)")
    return path


@pytest.fixture
def remote(file: Path) -> Iterator[Remote]:
    found = Remote(file, threads=1)
    yield found
    found.close()


def pid(remote: Remote) -> int:
    return remote._keeper.child().process.pid


def works(remote: Remote) -> None:
    assert remote.run_public(words("SELECT count(*) FROM t"), "after") == [(ROWS,)]


def soon(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_every_row_comes_once_in_order(remote: Remote):
    found = [n for part in remote.run_portions(*ALL, "s") for n in part["c0"].to_pylist()]
    assert found == list(range(ROWS))
    none = (words("SELECT i AS c0 FROM t WHERE i < 0"), 10)
    assert list(remote.run_portions(*none, "s")) == []
    lanes = len(remote._keeper.child()._lanes)
    assert sum(part.num_rows for part in remote.run_portions(*ALL, "s")) == ROWS
    assert len(remote._keeper.child()._lanes) == lanes


def seconds(process: int) -> float:
    """Of processor time."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_the_engine_waits_for_who_reads(remote: Remote):
    """Two million characters would be some seconds of work: nothing of it is done."""
    rows = remote.run_portions(*(words("SELECT a.i AS c0 FROM t AS a, t AS b"), 5_000), "s")
    next(rows)
    time.sleep(0.3)
    before = seconds(pid(remote))
    time.sleep(0.5)
    assert seconds(pid(remote)) - before < 0.2
    works(remote)
    rows.close()


def test_who_leaves_early_frees_the_statement_and_its_lane(remote: Remote):
    child = remote._keeper.child()
    works(remote)
    free = len(child._lanes)
    several = [remote.run_portions(*ALL, f"s{n}") for n in range(5)]
    for rows in several:
        next(rows)
    for rows in several:
        rows.close()
    soon(lambda: len(child._lanes) >= max(free, 5))
    files = len(os.listdir(f"/proc/{child.process.pid}/fd"))
    for _ in range(50):
        rows = remote.run_portions(*ALL, "s")
        next(rows)
        del rows  # what nobody holds is closed as well
    soon(lambda: len(child._lanes) >= max(free, 5))
    assert len(os.listdir(f"/proc/{child.process.pid}/fd")) <= files + 50
    works(remote)
    assert child.epoch == remote.epoch


def test_a_cancel_stops_what_is_awaited_and_only_that(remote: Remote):
    rows = remote.run_portions(*ENDLESS, "s")
    next(rows)
    remote.interrupt("s")  # nobody waits: there is nothing to stop
    threading.Timer(0.5, remote.interrupt, ("s",)).start()
    with pytest.raises(Cancelled, match="user request"):
        for _ in rows:
            pass
    assert remote.epoch == 0
    works(remote)


def test_what_does_not_obey_is_killed(remote: Remote, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "GRACE", 0.3)
    rows, first = remote.run_portions(*ALL, "s"), pid(remote)
    next(rows)
    os.kill(first, signal.SIGSTOP)
    threading.Timer(0.1, remote.interrupt, ("s",)).start()
    with pytest.raises(Cancelled):
        for _ in rows:
            pass
    works(remote)
    idle = remote.run_portions(*ALL, "s")
    next(idle)
    os.kill(pid(remote), signal.SIGSTOP)
    idle.close()
    soon(lambda: remote.epoch == 2)


def test_a_process_that_ends_midway_is_told_in_the_same_words(remote: Remote):
    rows = remote.run_portions(*ALL, "s")
    next(rows)
    os.kill(pid(remote), signal.SIGKILL)
    with pytest.raises(WorkerLost, match="send it again"):
        for _ in rows:
            pass
    works(remote)


def test_only_the_engines_own_time_counts(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "LONGEST_PUBLIC", 0.5)
    own = Inline(engine.DuckDB(file, threads=1))
    try:
        rows = own.run_portions(*ALL, "s")
        next(rows)
        time.sleep(0.7)
        assert sum(part.num_rows for part in rows) == ROWS - 5_000
        begun = time.monotonic()
        with pytest.raises(Cancelled, match="statement timeout"):
            list(own.run_portions(*ENDLESS, "s"))
        assert time.monotonic() - begun < 10
    finally:
        own.close()


@pytest.mark.parametrize(
    ("late", "kind"),
    [
        ("CAST('secret' || k AS INTEGER)", NumberOutOfRange),
        ("(SELECT k FROM t)", SeveralRows),
        ("error('secret')", NumberOutOfRange),
    ],
)
def test_an_error_midway_quotes_nothing(remote: Remote, late: str, kind: type[Exception]):
    plan = (words(f"SELECT CASE WHEN i > 300000 THEN {late} END AS c0 FROM t"), 1_000)
    with pytest.raises(kind) as caught:
        list(remote.run_portions(*plan, "s"))
    assert "secret" not in str(caught.value)
    works(remote)
