"""Data frames: pandas through SQLAlchemy, polars through connectorx and ADBC, ADBC by itself."""

import urllib.parse
from collections.abc import Iterator

import adbc_driver_postgresql.dbapi
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sqlalchemy as sa

from tests.proxies import PASSWORD, Proxy

pytestmark = pytest.mark.external
GROUPS = "SELECT town, count(*) AS n, avg(age) AS a FROM people GROUP BY town"


@pytest.fixture
def uri(world: Proxy) -> str:
    return f"postgresql://ann:{urllib.parse.quote(PASSWORD)}@127.0.0.1:{world.port}/main"


@pytest.fixture
def engine(uri: str) -> Iterator[sa.Engine]:
    made = sa.create_engine(uri.replace("postgresql:", "postgresql+psycopg:"))
    yield made
    made.dispose()


def test_pandas(engine: sa.Engine):
    frame = pd.read_sql(GROUPS, engine)
    assert list(frame.columns) == ["town", "n", "a"]
    assert list(frame["town"]) == ["Bern", "Oslo", "Rome"]
    again = pd.read_sql(sa.text("SELECT n FROM towns WHERE n > :n"), engine, params={"n": 1}, index_col="n")
    assert sorted(again.index) == [2, 3]


def test_pandas_reads_a_table_in_pieces(engine: sa.Engine):
    frame = pd.read_sql_table("towns", engine, parse_dates=["seen"])
    assert frame.shape == (3, 7)
    assert str(frame["seen"].dtype).startswith("datetime64")
    pieces = list(pd.read_sql_query("SELECT n FROM towns ORDER BY n", engine, chunksize=2))
    assert [len(piece) for piece in pieces] == [2, 1]


@pytest.mark.parametrize("protocol", ["binary", "csv", "cursor"])
def test_polars_with_connectorx(uri: str, protocol: str):
    frame = pl.read_database_uri("SELECT town, n, size, founded, capital FROM towns", uri, protocol=protocol)
    assert sorted(frame["n"]) == [1, 2, 3]
    assert frame.schema["founded"] == pl.Date
    assert pl.read_database_uri(GROUPS, uri, protocol=protocol)["town"].to_list() == ["Bern", "Oslo", "Rome"]


def test_polars_with_connectorx_in_partitions(uri: str):
    frame = pl.read_database_uri("SELECT n, town FROM towns", uri, partition_on="n", partition_num=2)
    assert sorted(frame["n"]) == [1, 2, 3]


def test_polars_with_adbc(uri: str):
    frame = pl.read_database_uri(GROUPS, uri, engine="adbc")
    assert frame["town"].to_list() == ["Bern", "Oslo", "Rome"]
    assert frame.schema["n"] == pl.Int64


def test_polars_over_a_connection(engine: sa.Engine):
    with engine.connect() as connection:
        assert pl.read_database("SELECT n FROM towns ORDER BY n", connection)["n"].to_list() == [1, 2, 3]


def test_adbc(uri: str):
    with adbc_driver_postgresql.dbapi.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT town, n, size, founded, seen, capital FROM towns ORDER BY n")
        table = cursor.fetch_arrow_table()
        assert table.num_rows == 3
        assert table.schema.field("founded").type == pa.date32()
        cursor.execute("SELECT count(*) FROM people WHERE age > $1 AND town = $2", (30, "Bern"))
        assert len(cursor.fetchall()) == 1
        cursor.execute("SELECT n FROM towns WHERE n > $1 ORDER BY n", (1,))
        assert cursor.fetchmany(1) == [(2,)]
        assert cursor.fetchall() == [(3,)]
        with pytest.raises(adbc_driver_postgresql.dbapi.ProgrammingError, match="rows are not shown"):
            cursor.execute("SELECT age FROM people")
        connection.rollback()
        cursor.execute("SELECT 1")
        assert cursor.fetchall() == [(1,)]


def test_adbc_lists_and_describes(uri: str):
    with adbc_driver_postgresql.dbapi.connect(uri, autocommit=True) as connection:
        schema = connection.adbc_get_table_schema("towns")
        assert schema.field("capital").type == pa.bool_()
        objects = connection.adbc_get_objects(depth="all", db_schema_filter="public").read_all().to_pylist()
        tables = {
            t["table_name"]: t
            for c in objects
            for s in c["catalog_db_schemas"]
            for t in s["db_schema_tables"]
        }
        assert {"people", "visits", "towns", "spent"} == set(tables)
        assert {c["column_name"] for c in tables["visits"]["table_columns"]} == {"cost", "person"}
        assert "table" in connection.adbc_get_table_types()
        with connection.cursor() as cursor:
            assert cursor.adbc_execute_schema("SELECT town, count(*) FROM people GROUP BY town").names == [
                "town", "count",
            ]  # fmt: skip
