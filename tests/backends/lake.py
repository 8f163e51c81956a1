"""A table of values at the edges of their types, as Parquet files, and what DuckDB makes of them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from dpproxy.backends.servers.source import Order
from dpproxy.backends.servers.types import rows_of, types_of
from dpproxy.backends.spark.server import Spark
from tests.backends.statements import transpiled

EDGES = r"""
CREATE TABLE edges AS SELECT * REPLACE (CAST(f AS FLOAT) AS f) FROM (VALUES
 (1, 1::INTEGER, 5::BIGINT, 0.25::DECIMAL(8,2), 1.5::DOUBLE, 1.5::FLOAT, 'a', true,
  DATE '2020-01-31', TIMESTAMP '2020-01-31 10:11:12.123456', 7::DECIMAL(12,0)),
 (2, -3, -7, -1.25, -0.0, -0.0, 'B', false, DATE '1999-12-31', TIMESTAMP '1999-12-31 23:59:59.999999', -12),
 (3, 0, 0, 0, 'nan', 'nan', 'é', null, DATE '2021-01-01', TIMESTAMP '1969-12-31 23:59:59.5', 0),
 (4, 2147483646, 9223372036854775807, 999999.99, 'inf', 'inf', '😀', true,
  DATE '0001-01-01', TIMESTAMP '0001-01-01 00:00:00', 999999999999),
 (5, -2147483647, -9223372036854775807, -999999.99, '-inf', '-inf', '', false,
  DATE '9999-12-31', TIMESTAMP '9999-12-31 23:59:59', 1),
 (6, null, null, null, null, null, null, null, null, null, null),
 (7, 7, 4611686018427387904, 12.34, 2.5, 2.5, 'a%b_c\d''e$', true,
  DATE '2024-02-29', TIMESTAMP '2024-02-29 12:00:00', 10),
 (8, 8, -4611686018427387904, 0.05, -2.5, -2.5, 'ß', true, DATE '2023-12-31', TIMESTAMP '2023-12-31 00:00:00', 5),
 (9, 9, 3, 1.15, 0.49999999999999994, 0.1, 'İ', true, DATE '2020-05-17', TIMESTAMP '2020-05-17 01:02:03', 5),
 (10, 9, 3, 1.15, 4503599627370497.5, 16777217, 'a' || chr(10) || 'b', true,
  DATE '2020-12-28', TIMESTAMP '2020-12-28 01:02:03', 5),
 (11, 9, 3, 1.15, 1e300, 1e30, 'É', true, DATE '2016-01-03', TIMESTAMP '2016-01-03 01:02:03', 5),
 (12, 9, 3, 1.15, 5e-324, 1e-45, '￿', true, DATE '2016-01-04', TIMESTAMP '2016-01-04 01:02:03', 5),
 (13, 9, 3, 1.15, 0.5, 0.5, ' x  ', true, DATE '1582-10-10', TIMESTAMP '1582-10-10 01:02:03', 5),
 (14, 9, 3, 1.15, '-nan', '-nan', 'zz', true, DATE '1700-03-01', TIMESTAMP '1700-03-01 01:02:03', 5)
) AS v(id, i, b, d, x, f, s, t, "day", moment, n)
"""
EXTREMES = """
CREATE TABLE extremes AS SELECT * REPLACE (CAST(f AS FLOAT) AS f) FROM (VALUES
 (1, 9223372036854775807, repeat('9', 38)::DECIMAL(38,0), 'nan'::DOUBLE, 'nan'::DOUBLE, repeat('é', 1000),
  9999999.99::DECIMAL(9,2), 255::UTINYINT, 4294967295::UINTEGER, 18446744073709551615::UBIGINT, 127::TINYINT),
 (2, -9223372036854775808, -repeat('9', 38)::DECIMAL(38,0), '-inf'::DOUBLE, 'inf'::DOUBLE, '', -9999999.99,
  0, 0, 0, -128),
 (3, 0, 0, 1e308, 3e38, chr(1114111), 0, 1, 1, 1, 0),
 (4, -1, 1, 5e-324, 1e-45, chr(0) || 'a', 0.01, 1, 1, 1, 1),
 (5, 5, 5, -0.0, -0.0, 'a', 0.05, 2, 2, 2, 2),
 (6, 5, 5, 9223372036854775807, 9e18, 'a', 0.05, 2, 2, 2, 2),
 (7, 5, 5, 9223372036854774784, 9e18, 'a', 0.05, 2, 2, 2, 2),
 (8, 5, 5, 4503599627370496, 9e18, 'a', 0.05, 2, 2, 2, 2),
 (9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
) AS v(id, b, h, x, f, s, d, u1, u4, u8, i1)
"""
MANY = (
    "CREATE TABLE many AS SELECT CAST(r % 7 AS INTEGER) AS k, r AS u, (r * 37 % 1001) / 8 AS x, "
    "['a', 'b', 'c'][1 + r % 3] AS s FROM range(1000) AS t(r)"
)


class Lake:
    """The files in a folder, and the same tables in DuckDB."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.duck = duckdb.connect()
        for ddl in (EDGES, MANY, EXTREMES):
            self.duck.execute(ddl)
        for table in ("edges", "many", "extremes"):
            self.duck.execute(f"COPY {table} TO '{folder}/{table}.parquet' (FORMAT parquet)")

    def url(self, port: int, tables: str = "edges,many,extremes") -> str:
        return f"sc://127.0.0.1:{port}/;folder={self.folder};tables={tables}"

    def rows(self, sql: str) -> list[tuple[str, ...]]:
        return sorted(tuple(map(_shown, row)) for row in self.duck.execute(sql).fetchall())


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(tmp_path_factory.mktemp("lake"))


@pytest.fixture(scope="session")
def spark(connect_port: int, lake: Lake) -> Iterator[Spark]:
    """A source over each server that speaks Spark Connect."""
    server = Spark(lake.url(connect_port), "main", 120.0)
    yield server
    server.close()


def rows(server: Spark, sql: str, values: Sequence[object] = ()) -> list[tuple[str, ...]]:
    """What the other engine answers to a statement of ours."""
    query = transpiled(sql, server.dialect, server.tables)
    server.check(query.sql, len(query.parameters))
    types = types_of(query.columns)
    order = Order(query.sql, values, types, "test", 120.0, charged=True)
    table = pa.concat_tables([types.empty_table(), *server.batches(order)])
    return sorted(tuple(map(_shown, row)) for row in rows_of(table, query.columns))


def differing(server: Spark, lake: Lake, expressions: Sequence[str], table: str = "edges") -> list[str]:
    """The expressions over a table that are not computed alike, for some row."""
    listed = ", ".join(f'{e} AS "v{n}"' for n, e in enumerate(expressions))
    sql = f'SELECT CAST("id" AS BIGINT) AS "id", {listed} FROM "{table}"'
    here, there = lake.rows(sql), rows(server, sql)
    assert [row[0] for row in here] == [row[0] for row in there]
    return [
        f"{e}: {a[n]} is {b[n]}, id {a[0]}"
        for n, e in enumerate(expressions, start=1)
        for a, b in zip(here, there, strict=True)
        if a[n] != b[n]
    ]


def _shown(value: object) -> str:
    """One text for each value; zero of either sign is one value, as is NaN."""
    if isinstance(value, float):
        return "nan" if value != value else repr(value + 0.0)  # noqa: PLR0124 - NaN is not itself
    return str(value)
