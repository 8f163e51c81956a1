"""The backend: types, one row and many alike, errors without the engine's words."""

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.values.errors import Cancelled, Internal, NumberOutOfRange, StartupError
from dpproxy.values.pgtypes import BYTEA, INT4, NUMERIC, TEXT, SqlType


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[DuckDB]:
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (a INTEGER NOT NULL, b VARCHAR, c DECIMAL(5, 2), d BLOB)")
        connection.execute("INSERT INTO t VALUES (1, 'x', 1.5, NULL), (987654, 'y', NULL, NULL)")
    made = DuckDB(path, threads=1)
    yield made
    made.close()


def test_columns_of_types_that_are_not_answered_do_not_exist(backend: DuckDB):
    columns = backend.schema().tables["t"]
    assert [(c.name, c.type.oid, c.not_null) for c in columns] == [
        ("a", INT4.oid, True),
        ("b", TEXT.oid, False),
        ("c", NUMERIC.oid, False),
        ("d", BYTEA.oid, False),
    ]


@pytest.mark.parametrize("few", [(), None])
def test_one_row_is_the_same_relation_either_way(backend: DuckDB, few: tuple[()] | None):
    sql = "SELECT CAST(SUM(a) AS HUGEINT) AS m0, CAST(SUM(a) FILTER (FALSE) AS HUGEINT) AS m1 FROM t"
    exact = backend.run(sql, {}, "s", few=few)
    assert exact.value.column_names == ["m0", "m1"]
    assert exact.value.to_pylist() == [{"m0": 987655, "m1": None}]


@pytest.mark.parametrize("few", [(), None])
def test_a_parameter_is_bound(backend: DuckDB, few: tuple[()] | None):
    exact = backend.run("SELECT CAST(length($1) AS HUGEINT) AS m0", {"1": "abc"}, "s", few=few)
    assert exact.value.to_pylist() == [{"m0": 3}]


@pytest.mark.parametrize("few", [(), None])
def test_an_error_does_not_quote_a_value(backend: DuckDB, few: tuple[()] | None):
    with pytest.raises(Internal) as refusal:
        backend.run("SELECT CAST(CAST(a AS TINYINT) AS HUGEINT) AS m0 FROM t", {}, "s", few=few)
    assert "987654" not in str(refusal.value)
    assert refusal.value.__cause__ is None


@pytest.mark.parametrize("few", [(TEXT,), None])
@pytest.mark.parametrize("condition", ["TRUE", "FALSE"])
def test_keys_keep_their_types_whatever_the_rows(backend: DuckDB, few: tuple[SqlType] | None, condition: str):
    sql = f"SELECT b AS k0, CAST(COUNT(*) AS HUGEINT) AS m0 FROM t WHERE {condition} GROUP BY 1"
    table = backend.run(sql, {}, "s", few=few).value
    assert [str(kind) for kind in table.schema.types] == ["string", "decimal128(38, 0)"]


def test_a_public_table_is_read_as_it_is(backend: DuckDB):
    assert backend.run_public("SELECT b FROM t ORDER BY a", "s") == [("x",), ("y",)]
    with pytest.raises(NumberOutOfRange):
        backend.run_public("SELECT CAST(a AS TINYINT) FROM t", "s")
    assert backend.run_open("SELECT a AS c0 FROM t ORDER BY a", "s").to_pydict() == {"c0": [1, 987654]}


def test_nothing_but_the_tables_is_reachable(backend: DuckDB):
    with pytest.raises(Internal):
        backend.run("SELECT * FROM read_text('/etc/hostname')", {}, "s")


def test_an_interrupt_of_an_idle_session_does_nothing(backend: DuckDB):
    backend.interrupt("s")
    assert backend.run("SELECT CAST(1 AS HUGEINT) AS m0", {}, "s", few=()).value.num_rows == 1


def test_a_running_statement_is_cancelled(backend: DuckDB):
    timer = threading.Timer(0.2, backend.interrupt, ["s"])
    timer.start()
    with pytest.raises(Cancelled):
        backend.run(
            "SELECT CAST(count(*) AS HUGEINT) AS m0 FROM range(10000000000) AS r(i), t", {}, "s", few=()
        )
    timer.join()


def test_what_is_no_database_is_refused(tmp_path: Path):
    path = tmp_path / "no.duckdb"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(StartupError, match=r"cannot be opened"):
        DuckDB(path)


def test_views_are_no_tables_and_collated_texts_do_not_exist(tmp_path: Path):
    file = tmp_path / "x.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute("CREATE TABLE plain (name VARCHAR, n INTEGER)")
        connection.execute("CREATE TABLE folded (name VARCHAR COLLATE NOCASE, n INTEGER)")
        connection.execute("CREATE VIEW twice AS SELECT * FROM plain UNION ALL SELECT * FROM plain")
    backend = DuckDB(file)
    try:
        schema = backend.schema()
    finally:
        backend.close()
    tables = {name: [c.name for c in columns] for name, columns in schema.tables.items()}
    assert tables == {"plain": ["name", "n"], "folded": ["n"]}
    assert schema.left_out == {"folded": ("name",)}
    assert [(name, view.columns, view.flaw is None) for name, view in schema.views.items()] == [
        ("twice", ("name", "n"), False)
    ]
