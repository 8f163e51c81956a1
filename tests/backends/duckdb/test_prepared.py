"""Tables are built once, kept, and dropped with what they rest on; a build leaves the whole table or nothing."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from dpproxy.algebra.plan import PREPARED, PreparedTable
from dpproxy.backends.duckdb.prepared import PreparedTables, prepared_file
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.failures import WorkerLost
from dpproxy.values.errors import Cancelled, Internal
from tests.backends.inline import Inline
from tests.reading import words

SECRET = b"s" * 32
FIRST = PreparedTable("t1", "t", words("SELECT i, hash($1, i) AS h FROM t"), truncated=True)
SECOND = PreparedTable("t2", "t", words("SELECT i FROM t"), truncated=False)
ENDLESS = PreparedTable("t3", "t", words("SELECT count(*) AS n FROM range(1000000) AS a(x), range(1000000) AS b(y) WHERE x <> y"), truncated=False)  # fmt: skip  # noqa: E501
FAILING = PreparedTable("t4", "t", words("SELECT error('row ' || i) AS e FROM t"), truncated=False)


def never() -> bool:
    return False


class Place:
    """A data file and a state directory; ``open`` as a server does at its start."""

    def __init__(self, folder: Path) -> None:
        self.data, self.state = folder / "data.duckdb", folder
        self.told: list[str] = []
        with duckdb.connect(str(self.data)) as connection:
            connection.execute("CREATE TABLE t AS SELECT i FROM range(10) AS r(i)")

    def open(self, secret: bytes = SECRET) -> tuple[Inline, PreparedTables]:
        backend = Inline(DuckDB(self.data, threads=2, prepared=prepared_file(self.state, self.data, secret)))
        return backend, PreparedTables(backend, secret, self.told.append)

    def files(self) -> list[str]:
        return sorted(p.name for p in self.state.glob("prepared-*.duckdb"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def build(tables: PreparedTables, *wanted: PreparedTable, cancelled: Callable[[], bool] = never) -> None:
    with tables.ready(wanted, cancelled):
        pass


def shut(backend: Inline, tables: PreparedTables) -> None:
    tables.close()
    backend.close()


def test_a_table_is_built_once_and_kept(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.backends.duckdb.prepared.SLOW", 600.0)
    backend, tables = place.open()
    with tables.ready([FIRST, SECOND], never):
        exact = backend.run(words(f"SELECT count(DISTINCT h) AS n FROM {PREPARED}.main.t1"), {}, "s")
    assert exact.value.to_pylist() == [{"n": 10}]
    shut(backend, tables)
    backend, tables = place.open()
    assert backend.prepared_names() == {"t1", "t2"}
    broken = PreparedTable("t1", "t", words("SELECT error('built again')"), truncated=False)
    build(tables, broken)
    assert (tables.usable, place.told) == (True, [])
    shut(backend, tables)


def test_the_file_rests_on_the_data_and_the_secret(place: Place):
    backend, tables = place.open()
    build(tables, SECOND)
    shut(backend, tables)
    [first] = place.files()
    backend, tables = place.open(b"o" * 32)
    [second] = place.files()
    assert backend.prepared_names() == set()
    shut(backend, tables)
    with duckdb.connect(str(place.data)) as connection:
        connection.execute("CREATE TABLE u AS SELECT i FROM range(1000) AS r(i)")
    backend, tables = place.open(b"o" * 32)
    [third] = place.files()
    assert len({first, second, third}) == 3
    shut(backend, tables)


def test_a_damaged_file_is_made_anew(place: Place):
    prepared_file(place.state, place.data, SECRET).write_bytes(b"not a database" * 1000)
    backend, tables = place.open()
    build(tables, SECOND)
    assert backend.prepared_names() == {"t2"}
    shut(backend, tables)


def test_nothing_else_is_reachable_or_written(place: Place, tmp_path: Path):
    backend, tables = place.open()
    for sql in (
        f"ATTACH '{tmp_path / 'other.duckdb'}' AS other",
        f"COPY t TO '{tmp_path / 'rows.csv'}'",
        f"SELECT * FROM read_csv('{tmp_path / 'rows.csv'}')",
        "CREATE TABLE main.u AS SELECT 1",
        "INSERT INTO t VALUES (11)",
        "SET enable_external_access = true",
        "SET threads = 3",
    ):
        with pytest.raises(Internal):
            backend.run(words(sql), {}, "s", few=())
    shut(backend, tables)


def test_a_table_that_cannot_be_built_is_given_up(place: Place):
    backend, tables = place.open()
    with pytest.raises(Internal) as caught:
        build(tables, FAILING)
    assert "stays charged" in caught.value.message
    assert not tables.usable
    [line] = place.told
    assert 'table "t" could not be prepared' in line
    assert "row" not in line.replace("rows", "")
    assert backend.prepared_names() == set()
    build(tables, SECOND)
    shut(backend, tables)


def test_those_of_other_policies_are_dropped_but_not_while_they_are_read(place: Place):
    backend, tables = place.open()
    with tables.ready([FIRST, SECOND], never):
        tables.keep({"t2"})
        tables._builder.submit(lambda: None).result()
        assert backend.prepared_names() == {"t1", "t2"}
    tables.keep({"t2"})
    tables._builder.submit(lambda: None).result()
    assert backend.prepared_names() == {"t2"}
    build(tables, FIRST)
    assert backend.prepared_names() == {"t1", "t2"}
    shut(backend, tables)


def test_who_waits_may_leave_and_a_build_that_is_stopped_leaves_nothing(place: Place):
    backend, tables = place.open()
    with pytest.raises(Cancelled):
        build(tables, ENDLESS, cancelled=lambda: True)
    assert "t3" in tables._building
    tables.close()
    assert backend.prepared_names() == set()
    assert tables.usable
    with pytest.raises(Internal):
        build(tables, SECOND)
    backend.close()


KILLED = """
import os, signal, sys, threading, time
from pathlib import Path
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.duckdb.prepared import PreparedTables, prepared_file
from dpproxy.algebra.plan import PreparedTable
from tests.backends.inline import Inline
from tests.reading import words

data = Path(sys.argv[1])
path = prepared_file(data.parent, data, b"s" * 32)
tables = PreparedTables(Inline(DuckDB(data, prepared=path)), b"s" * 32, print)
big = PreparedTable("t5", "t", words("SELECT hash(i) AS h FROM range(1000000000) AS r(i)"), truncated=False)
threading.Thread(target=lambda: tables._await(big, lambda: False), daemon=True).start()
while path.stat().st_size < 5_000_000:
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_build_that_is_killed_leaves_nothing(place: Place):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(place.data)], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    [left] = place.files()
    assert (place.state / left).stat().st_mode & 0o077 == 0
    backend, tables = place.open()
    assert backend.prepared_names() == set()
    build(tables, SECOND)
    assert backend.prepared_names() == {"t2"}
    shut(backend, tables)


OTHER = """
import sys, time
from pathlib import Path
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.duckdb.prepared import PreparedTables, prepared_file
from dpproxy.algebra.plan import PreparedTable
from tests.backends.inline import Inline
from tests.reading import words

data = Path(sys.argv[1])
backend = Inline(DuckDB(data, prepared=prepared_file(data.parent, data, b"s" * 32)))
tables = PreparedTables(backend, b"s" * 32, lambda _: None)
with tables.ready([PreparedTable("t2", "t", words("SELECT i FROM t"), truncated=False)], lambda: False):
    print(sorted(backend.prepared_names()), flush=True)
sys.stdin.readline()
"""


def test_another_process_has_a_file_of_its_own(place: Place):
    """Nothing of the first one's is removed, and both build."""
    backend, tables = place.open()
    build(tables, FIRST)
    [first] = place.files()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", OTHER, str(place.data)], text=True, **pipes) as other:  # type: ignore[call-overload]
        assert other.stdout.readline().strip() == "['t2']"
        assert place.files() == sorted([first, first.replace(".duckdb", "-2.duckdb")])
        build(tables, SECOND)
        assert backend.prepared_names() == {"t1", "t2"}
        shut(backend, tables)
        prepared_file(
            place.state, place.data, b"o" * 32
        )  # what is open stays, where it rests on other data too
        assert place.files() == [first.replace(".duckdb", "-2.duckdb")]
        other.communicate("\n", timeout=30)


def test_the_end_of_a_build_is_seen_on_a_grid(place: Place):
    backend, tables = place.open()
    tables._padding = 0.5
    start = time.monotonic()
    build(tables, FIRST)
    assert time.monotonic() - start >= 0.5
    shut(backend, tables)


class Restarted:
    """A source whose process ended: the table it built may be there, or gone."""

    def __init__(self, backend: Inline) -> None:
        self._backend, self.epoch, self.lost = backend, 0, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._backend, name)

    def build(self, *given: object) -> None:
        if self.lost:
            self.lost -= 1
            raise WorkerLost("lost")
        self._backend.build(*given)  # type: ignore[arg-type]


def test_tables_are_looked_for_again_when_the_process_was_replaced(place: Place):
    backend, _ = place.open()
    source = Restarted(backend)
    tables = PreparedTables(source, SECRET, place.told.append)  # type: ignore[arg-type]
    build(tables, FIRST)
    backend.build("t1", None, {}, "s", never)
    source.epoch = 1
    build(tables, FIRST)
    assert backend.prepared_names() == {"t1"}
    source.lost = 3
    for usable in (True, True, False):  # one that ends the process each time is not tried for ever
        with pytest.raises(Internal):
            build(tables, SECOND)
        assert tables.usable == usable
    tables.close()
    backend.close()


def test_many_ask_and_one_builds(place: Place, monkeypatch: pytest.MonkeyPatch):
    backend, tables = place.open()
    run, made = backend.build, list[str]()

    def counted(name: str, *rest: object, **more: object) -> object:
        made.append(name)
        return run(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(backend, "build", counted)
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        build(tables, FIRST)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [FIRST.name]
    shut(backend, tables)


def test_a_long_build_is_told(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.backends.duckdb.prepared.SLOW", 0.0)
    backend, tables = place.open()
    build(tables, FIRST)
    tables._builder.submit(lambda: None).result()
    assert place.told[0] == 'preparing table "t"'
    shut(backend, tables)
