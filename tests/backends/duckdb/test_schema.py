import duckdb
import pytest

from dpproxy.backends.duckdb.schema import column_names, column_type, constraints, views
from dpproxy.values.pgtypes import (
    INT4,
    INT8,
    JSON,
    NUMERIC,
    TEXT,
    TIMESTAMPTZ,
    UUID,
    CheckConstraint,
    ForeignKey,
    SqlType,
    UniqueKey,
    View,
    array_of,
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("BIGINT", INT8),
        ("DECIMAL(5,2)", NUMERIC.with_precision(5, 2)),
        ("UUID", UUID),
        ("JSON", JSON),
        ("TIMESTAMP WITH TIME ZONE", TIMESTAMPTZ),
        ("INTEGER[]", array_of(INT4)),
        ("DECIMAL(5,2)[]", array_of(NUMERIC.with_precision(5, 2))),
        ("INTEGER[][]", None),
        ("INTEGER[3]", None),
        ("ENUM('a[]', 'it''s')", TEXT),
        ("ENUM('a')[]", None),
        ("BIT", None),
        ("STRUCT(a INTEGER)", None),
        ("STRUCT(a INTEGER)[]", None),
    ],
)
def test_types(name: str, kind: SqlType | None):
    assert column_type(name) == kind


def test_what_the_ddl_declares():
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE SCHEMA other; CREATE TABLE other.o (c INTEGER PRIMARY KEY)")
        connection.execute(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, age INTEGER NOT NULL CHECK (age >= 0), a INTEGER, b INTEGER,"
            ' UNIQUE (a, b), "E mail" VARCHAR UNIQUE)'
        )
        connection.execute(
            "CREATE TABLE v (pid INTEGER REFERENCES p (id), x INTEGER, y INTEGER,"
            " FOREIGN KEY (x, y) REFERENCES p (a, b))"
        )
        found = constraints(connection)
    assert set(found) == {
        UniqueKey("p", ("id",), primary=True),
        UniqueKey("p", ("a", "b")),
        UniqueKey("p", ("E mail",)),
        CheckConstraint("p", "(age >= 0)"),
        ForeignKey("v", ("pid",), "p", ("id",)),
        ForeignKey("v", ("x", "y"), "p", ("a", "b")),
    }
    assert len(found) == 6


def test_a_table_without_constraints_has_none():
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (c INTEGER NOT NULL)")
        assert constraints(connection) == ()


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
