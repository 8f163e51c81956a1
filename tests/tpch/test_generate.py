"""The generated tables have the shape that the TPC-H specification gives them."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from examples.tpch.generate import generate, main, sizes
from tests.tpch.questions import QUERIES

ROWS = {
    "region": 5,
    "nation": 25,
    "supplier": 100,
    "customer": 1500,
    "part": 2000,
    "partsupp": 8000,
    "orders": 15000,
}


@pytest.fixture(scope="module")
def data(tpch_data: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(tpch_data), read_only=True) as connection:
        yield connection


@pytest.mark.parametrize(("table", "rows"), ROWS.items())
def test_row_counts_are_those_of_the_scale(data: duckdb.DuckDBPyConnection, table: str, rows: int):
    assert data.execute(f"SELECT count(*) FROM {table}").fetchall() == [(rows,)]


# (what never holds, in a table)
NEVER = (
    ("lineitem ANTI JOIN partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey", "true"),
    ("lineitem ANTI JOIN orders ON l_orderkey = o_orderkey", "true"),
    ("orders ANTI JOIN lineitem ON l_orderkey = o_orderkey", "true"),
    ("orders ANTI JOIN customer ON o_custkey = c_custkey", "true"),
    ("orders", "o_custkey % 3 = 0"),
    ("orders", "o_orderkey % 32 NOT BETWEEN 1 AND 8"),
    ("orders", "o_orderdate NOT BETWEEN DATE '1992-01-01' AND DATE '1998-08-02'"),
    ("lineitem JOIN orders ON l_orderkey = o_orderkey", "l_shipdate - o_orderdate NOT BETWEEN 1 AND 121"),
    ("lineitem JOIN orders ON l_orderkey = o_orderkey", "l_commitdate - o_orderdate NOT BETWEEN 30 AND 90"),
    ("lineitem", "l_receiptdate - l_shipdate NOT BETWEEN 1 AND 30"),
    ("lineitem", "l_quantity NOT BETWEEN 1 AND 50 OR l_discount NOT BETWEEN 0 AND 0.1 OR l_tax NOT BETWEEN 0 AND 0.08"),
    ("lineitem JOIN part ON l_partkey = p_partkey", "l_extendedprice <> l_quantity * p_retailprice"),
    ("lineitem", "(l_returnflag = 'N') <> (l_receiptdate > DATE '1995-06-17')"),
    ("lineitem", "(l_linestatus = 'O') <> (l_shipdate > DATE '1995-06-17')"),
    ("customer", "CAST(c_phone[1:2] AS INTEGER) <> c_nationkey + 10"),
    ("customer", "c_acctbal NOT BETWEEN -999.99 AND 9999.99"),
    ("part", "p_brand[7:7] <> p_mfgr[14:14]"),
)  # fmt: skip


@pytest.mark.parametrize(("tables", "condition"), NEVER)
def test_what_never_holds(data: duckdb.DuckDBPyConnection, tables: str, condition: str):
    assert data.execute(f"SELECT count(*) FROM {tables} WHERE {condition}").fetchall() == [(0,)]


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_the_queries_run(data: duckdb.DuckDBPyConnection, name: str):
    rows = data.execute(QUERIES[name]).fetchall()
    assert rows or name in {"q02", "q11"}, "two select so little that a hundredth of the data may hold none"


def test_a_scale_is_the_same_file_everywhere(tmp_path: Path, data: duckdb.DuckDBPyConnection):
    generate(tmp_path / "again.duckdb", 0.01)
    figures = "SELECT sum(l_extendedprice * l_discount), sum(l_partkey * l_linenumber) FROM lineitem"
    with duckdb.connect(str(tmp_path / "again.duckdb"), read_only=True) as again:
        assert again.execute(figures).fetchall() == data.execute(figures).fetchall()


def test_sizes_grow_with_the_scale():
    assert sizes(1).orders == 1_500_000
    assert sizes(0.02).buyers == 2000
    with pytest.raises(ValueError, match=r"the least scale is 0\.01"):
        sizes(float("nan"))


def test_nothing_is_overwritten(tmp_path: Path):
    (tmp_path / "tpch.duckdb").touch()
    with pytest.raises(SystemExit, match="exists already"):
        main([str(tmp_path)])
