"""A SQLite file: read live, stopped, replaced under the proxy's feet, and never written."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.failures import Altered
from dpproxy.backends.servers.source import Order, Pushed
from dpproxy.backends.sqlite.server import Sqlite
from dpproxy.system.disk import is_sqlite
from dpproxy.values.errors import Cancelled, Internal, StartupError, Unsupported
from tests.backends.inline import Inline
from tests.backends.statements import check
from tests.reading import read

COUNT = "SELECT CAST(COUNT(*) AS INT128) AS m0 FROM t WHERE t.v > 1.0e0"
SLOW = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
COUNTED = pa.schema([("c", pa.int64())])


def execute(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    execute(
        tmp_path / "t.sqlite",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v REAL); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
    )
    return tmp_path / "t.sqlite"


@pytest.fixture
def source(path: Path) -> Iterator[Pushed]:
    duckdb.connect(path.with_name("empty.duckdb")).close()
    found = Pushed(Sqlite(path, "main", 30.0), Inline(DuckDB(path.with_name("empty.duckdb"))), path.parent)
    yield found
    found.close()


def number(source: Pushed, sql: str = COUNT) -> int:
    return int(source.run(read(sql), {}, "s", epoch=source.epoch).value.column(0)[0].as_py())


def test_each_statement_reads_what_is_there_then(path: Path, source: Pushed):
    assert is_sqlite(path)
    assert number(source) == 2
    execute(path, "INSERT INTO t VALUES (4, 4), (5, 'much'), (6, 1e999)")
    assert number(source) == 4, "a text is no number, and infinity is one"


def test_a_file_in_its_place_is_read_from_the_next_statement_on(path: Path, source: Pushed):
    assert number(source) == 2
    other = path.with_suffix(".other")
    execute(
        other,
        "CREATE TABLE t (extra TEXT, id INTEGER PRIMARY KEY, v REAL); INSERT INTO t VALUES ('x', 1, 7);",
    )
    other.replace(path)
    assert number(source) == 1


@pytest.mark.parametrize(
    "change", ["ALTER TABLE t RENAME v TO w", "DROP TABLE t; CREATE TABLE t (id INTEGER, v TEXT)"]
)
def test_a_table_that_is_declared_otherwise_is_refused_with_the_reason(
    path: Path, source: Pushed, change: str, caplog: pytest.LogCaptureFixture
):
    assert number(source) == 2
    execute(path, change)
    with pytest.raises(Altered, match="stays charged"):
        number(source)
    for sql in (COUNT, COUNT.replace("> 1.0", "> 2.0")):  # a known one, and a new one
        with pytest.raises(Altered) as refused:
            check(source, sql)
        assert "charged" not in str(refused.value)
    assert 'table "t" is declared otherwise' in caplog.text


def test_what_is_added_goes_on(path: Path, source: Pushed):
    execute(path, "ALTER TABLE t ADD COLUMN w TEXT; CREATE TABLE u (x INTEGER)")
    assert number(source) == 2
    check(source, COUNT)


def test_a_statement_is_stopped_at_its_limit_and_when_it_is_interrupted(path: Path):
    server = Sqlite(path, "main", 0.3)
    with pytest.raises(Cancelled, match="timeout"):
        list(server.batches(Order(SLOW, (), COUNTED, "s", 0.3, charged=True)))
    raised: list[Cancelled] = []

    def ask() -> None:
        with pytest.raises(Cancelled, match="user request") as caught:
            list(server.batches(Order(SLOW, (), COUNTED, "s", 60.0, charged=True)))
        raised.append(caught.value)

    thread = threading.Thread(target=ask)
    thread.start()
    until = time.monotonic() + 20
    while not raised and time.monotonic() < until:
        server.interrupt("s")
        time.sleep(0.05)
    thread.join(20)
    assert raised
    with pytest.raises(Cancelled):
        list(server.batches(Order(SLOW, (), COUNTED, "s", 60.0, charged=True, cancelled=lambda: True)))
    server.close()


def test_what_sqlite_does_not_take_is_refused_without_its_words(path: Path):
    server = Sqlite(path, "main", 30.0)
    with pytest.raises(Unsupported) as caught:
        server.check("SELECT no_such_function(v) FROM t", 0)
    assert "no_such" not in f"{caught.value.message} {caught.value.hint}"
    server.close()


def test_nothing_is_written(path: Path):
    server = Sqlite(path, "main", 30.0)
    before = path.read_bytes()
    for statement in ("DELETE FROM t", "CREATE TABLE u (x)", "INSERT INTO t VALUES (9, 9)"):
        with pytest.raises(Internal, match="stays charged"):
            list(server.batches(Order(statement, (), COUNTED, "s", 30.0, charged=True)))
    assert path.read_bytes() == before
    server.close()


def test_what_is_no_database_is_said_at_the_start(tmp_path: Path):
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 16)
    with pytest.raises(StartupError, match="cannot be opened"):
        Sqlite(broken, "main", 30.0)
    with pytest.raises(StartupError, match="cannot be opened"):
        Sqlite(tmp_path / "none.sqlite", "main", 30.0)
