"""Declared keys and checks, as the engine tells them."""

import duckdb

from dpproxy.backends.duckdb.constraints import constraints
from dpproxy.values.pgtypes import CheckConstraint, ForeignKey, UniqueKey


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
