"""Statements in the other process: what they return, and that each of them ends."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from dpproxy.algebra.plan import PREPARED
from dpproxy.backends.duckdb.source import BATCH, DuckDB
from dpproxy.backends.failures import WorkerLost
from dpproxy.backends.process import remote as module
from dpproxy.backends.process.remote import Remote
from dpproxy.values.errors import Cancelled, Internal, NumberOutOfRange, Refusal, StartupError, TooComplex
from dpproxy.values.pgtypes import TEXT
from tests.backends.inline import Inline
from tests.reading import words
from udfs.privacy import Exact

ENDLESS = words("SELECT CAST(count(*) AS HUGEINT) AS m0 FROM range(10000000000) AS r(i), t")
GROUPS = words(
    "SELECT k AS k0, CAST(sum(i) AS HUGEINT) AS m0, count(*)::HUGEINT AS n FROM t GROUP BY 1 ORDER BY 1"
)
ONE = words("SELECT CAST(count(*) AS HUGEINT) AS m0 FROM t")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i, CAST(i % 3 AS VARCHAR) AS k, i / 2.0 AS x, DATE '2020-01-01' AS d, "
            "TIMESTAMP '2020-01-01 00:00:01' AS w, CAST(i AS HUGEINT) * 10::HUGEINT ** 30 AS h FROM range(9) AS r(i)"
        )
    return path


@pytest.fixture
def remote(file: Path) -> Iterator[Remote]:
    found = Remote(file, threads=2, memory="200MB")
    yield found
    found.close()


def pid(remote: Remote) -> int:
    return remote._keeper.child().process.pid


def works(remote: Remote) -> None:
    assert remote.run(ONE, {}, "after", few=()).value.to_pylist() == [{"m0": 9}]


def test_it_returns_what_the_engine_in_this_process_returns(remote: Remote, file: Path):
    own = Inline(DuckDB(file, threads=1))
    try:
        assert remote.schema() == own.schema()
        assert remote.prepared_names() == own.prepared_names() == set()
        public = words("SELECT *, NULL, TRUE, CAST(i AS DECIMAL(5, 1)), 'NaN'::DOUBLE > 1 FROM t")
        assert remote.run_public(public, "s") == own.run_public(public, "s")
        opened = words("SELECT k AS c0, h AS c1 FROM t ORDER BY i")
        assert remote.run_open(opened, "s").equals(own.run_open(opened, "s"))
        for few in ((TEXT,), None):
            given = (GROUPS, {}, "s")
            assert remote.run(*given, few=few).value.equals(own.run(*given, few=few).value)
        with pytest.raises(NumberOutOfRange):
            remote.run_public(words("SELECT CAST(k || 'x' AS INTEGER) FROM t"), "s")
        with pytest.raises(Internal, match="stays charged"):
            remote.run(words("SELECT error(k) AS m0 FROM t"), {}, "s")
    finally:
        own.close()


def test_groups_are_chosen_here_and_kept_there(remote: Remote):
    def select(counts: Exact[pa.Array]) -> NDArray[np.bool_]:
        assert [int(n) for n in counts.value.to_pylist()] == [3, 3, 3]
        return np.array([True, False, True])

    kept = remote.run(GROUPS, {}, "s", select=select).value
    assert kept["k0"].to_pylist() == ["0", "2"]

    def refuse(_: Exact[pa.Array]) -> NDArray[np.bool_]:
        raise TooComplex("too many keys")

    with pytest.raises(TooComplex, match="too many keys"):
        remote.run(GROUPS, {}, "s", select=refuse)
    works(remote)


def test_many_groups_come_portion_by_portion_in_the_order_in_which_they_are_found(remote: Remote):
    groups, sizes = 2 * BATCH + 7, list[int]()

    def select(counts: Exact[pa.Array]) -> NDArray[np.bool_]:
        found = counts.value.to_numpy()
        sizes.append(len(found))
        kept: NDArray[np.bool_] = found % 3 == 0
        return kept

    sql = words(f"SELECT i AS k0, i * 2 AS m0, i AS m1 FROM range({groups}) AS r(i)")
    kept = remote.run(sql, {}, "s", select=select).value
    assert sum(sizes) == groups
    assert len(sizes) > 2
    assert kept.column_names == ["k0", "m0"]
    assert kept["k0"].to_pylist() == [*range(0, groups, 3)]
    assert kept["m0"].to_pylist() == [*range(0, 2 * groups, 6)]


def test_who_has_changed_their_mind_runs_nothing(remote: Remote):
    with pytest.raises(Cancelled, match="user request"):
        remote.run(ENDLESS, {}, "s", few=(), cancelled=lambda: True)
    threading.Timer(0.2, remote.interrupt, ("s",)).start()
    with pytest.raises(Cancelled, match="user request"):
        remote.run(ENDLESS, {}, "s", few=())
    remote.interrupt("s")
    works(remote)


def test_the_limit_is_the_servers(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "GRACE", 60.0)
    remote = Remote(file, limit=0.3)
    first = pid(remote)
    with pytest.raises(Cancelled, match="statement timeout"):
        remote.run(ENDLESS, {}, "s", few=())
    remote._limit = 60.0
    works(remote)
    assert pid(remote) == first
    remote.close()


@pytest.mark.alone
def test_the_limit_is_kept_to_some_milliseconds(remote: Remote):
    """The engine looks for an interrupt between two portions of rows."""
    remote._limit = 0.03
    took = []
    for _ in range(10):
        begun = time.monotonic()
        with pytest.raises(Cancelled, match="statement timeout"):
            remote.run(ENDLESS, {}, "s", few=())
        took.append(time.monotonic() - begun)
    assert min(took) >= 0.03
    assert sorted(took)[5] < 0.08
    assert remote.epoch == 0


def stop(process: int) -> None:
    """Returns once all its threads stand still: one that is asked meanwhile may still answer."""
    os.kill(process, signal.SIGSTOP)
    states = [Path(f"/proc/{process}/task/{thread}/stat") for thread in os.listdir(f"/proc/{process}/task")]
    while any(state.read_text().rpartition(")")[2].split()[0] != "T" for state in states):
        time.sleep(0.001)


def test_what_does_not_obey_is_killed_and_the_next_statement_works(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
):
    """A stopped process obeys nothing, as an engine that is inside one long operator."""
    monkeypatch.setattr(module, "GRACE", 0.3)
    remote._limit = 0.3
    first = pid(remote)
    stop(first)
    with pytest.raises(Cancelled, match="statement timeout"):
        remote.run(ONE, {}, "s", few=())
    remote._limit = 60.0
    works(remote)
    assert pid(remote) != first
    assert remote.epoch == 1
    second = pid(remote)
    stop(second)
    threading.Timer(0.3, remote.interrupt, ("s",)).start()
    with pytest.raises(Cancelled, match="user request"):
        remote.run_public(words("SELECT 1"), "s")
    works(remote)


def test_a_kill_under_load_fails_all_it_ran_and_nothing_else(remote: Remote):
    started = threading.Barrier(17)

    def ask(number: int) -> str:
        started.wait()
        try:
            remote.run(ENDLESS, {}, f"s{number}", few=())
        except Refusal as refusal:
            return f"{type(refusal).__name__} {refusal.message}"
        return "answered"

    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(ask, number) for number in range(16)]
        started.wait()
        while len(remote._running) < 16:
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(pid(remote), signal.SIGKILL)
        told = {future.result() for future in asked}
    assert told == {"WorkerLost the statement could not be computed: its process ended; it stays charged"}
    works(remote)
    with pytest.raises(WorkerLost):
        raise module.failure("lost")


def test_memory_that_runs_out_is_a_clean_error(remote: Remote):
    first = pid(remote)
    for sql in (
        "SELECT CAST(len(list(a.i * b.i)) AS HUGEINT) AS m0 FROM range(100000) AS a(i), range(10000) AS b(i)",
        "SELECT a.i AS m0, b.i AS m1 FROM range(1000000) AS a(i), range(1000) AS b(i)",
    ):
        with pytest.raises(Internal, match="stays charged"):
            remote.run(words(sql), {}, "s")
        works(remote)
    assert first >= 0


def test_what_cannot_be_opened_is_refused(tmp_path: Path):
    path = tmp_path / "no.duckdb"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(StartupError, match="damaged"):
        Remote(path)


def test_one_that_says_what_it_should_not_is_ended(remote: Remote, monkeypatch: pytest.MonkeyPatch):
    def other(*_: object) -> object:
        raise ValueError("no frame")

    first = pid(remote)
    monkeypatch.setattr(module.Channel, "receive", other)
    with pytest.raises(Internal):
        remote.run(ONE, {}, "s", few=())
    monkeypatch.undo()
    works(remote)
    assert pid(remote) != first


def test_a_view_is_read_from_its_file_and_put_away(file: Path, tmp_path: Path):
    remote = Remote(file, threads=1, prepared=tmp_path / "prepared.duckdb")
    path = tmp_path / "v-1.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE rows AS SELECT i AS a, i / 4 AS b FROM range(5) AS r(i)")
    for _ in range(2):
        remote.load("w1", path, "SELECT a, b FROM rows")
    assert "w1" in remote.prepared_names()
    plan = words(f'SELECT sum(a) AS c0, max(b) AS c1 FROM "{PREPARED}"."main"."w1"')
    assert [part.to_pydict() for part in remote.run_portions(plan, 5, "s")] == [{"c0": [10], "c1": [1.0]}]
    remote.unload("w1")
    assert "w1" not in remote.prepared_names()
    with pytest.raises(Internal, match="view"):
        remote.load("w2", tmp_path / "absent.duckdb", "SELECT a FROM rows")
    remote.close()


def test_stopped_statements_leave_no_thread_and_no_file(file: Path):
    """Interrupted, killed, closed: what was opened for them is given back."""

    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    before = held()
    remote = Remote(file, threads=1, limit=0.02)
    for _ in range(2):
        with pytest.raises(Cancelled):
            remote.run(ENDLESS, {}, "s", few=())
    running = held()
    for _ in range(10):
        with pytest.raises(Cancelled):
            remote.run(ENDLESS, {}, "s", few=())
    assert held() == running
    remote.close()
    assert held() == before


def test_a_table_that_is_built_says_how_far_it_is(tmp_path: Path):
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT i FROM range(400000) AS r(i)")
    remote = Remote(path, threads=1, prepared=tmp_path / "prepared.duckdb")
    slow = words("SELECT sha256(CAST(i AS VARCHAR)) AS h FROM t")
    with ThreadPoolExecutor(1) as executor:
        built, seen = executor.submit(remote.build, "w1", slow, {}, "prepare", lambda: False), []
        while not built.done():
            seen.append(remote.progress("prepare"))
        built.result()
    shares = [share for share in seen if share is not None]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1
    assert shares[-1] > 0
    assert remote.progress("prepare") is None
    remote.close()
