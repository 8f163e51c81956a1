"""What the engine's catalogue says of views."""

import duckdb
import pytest

from dpproxy.backends.duckdb.views import column_names, views
from dpproxy.values.pgtypes import View


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    for statement in (
        "CREATE TABLE t (a INTEGER, b BLOB)",
        "CREATE VIEW v (x) AS SELECT a, b, count(*) FROM t GROUP BY a, b",
        "CREATE TEMP VIEW here AS SELECT a FROM t",
        "CREATE SCHEMA other",
        "CREATE VIEW other.w AS SELECT 1 AS one",
    ):
        found.execute(statement)
    return found


def test_columns_of_any_type_are_named(connection: duckdb.DuckDBPyConnection):
    assert column_names(connection) == {"t": ("a", "b"), "v": ("x", "b", "count_star()")}


def test_views_of_the_served_schema_alone(connection: duckdb.DuckDBPyConnection):
    sql = "CREATE VIEW v (x) AS SELECT a, b, count_star() FROM t GROUP BY a, b;"
    assert views(connection, column_names(connection)) == {"v": View(sql, ("x", "b", "count_star()"))}
