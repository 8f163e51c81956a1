"""What is served of a SQLite file, and how a value of another type than its column's is read."""

import sqlite3

import pytest

from dpproxy.backends.sqlite.functions import register
from dpproxy.backends.sqlite.schema import described, reading
from dpproxy.values.pgtypes import ForeignKey, UniqueKey

DDL = """
CREATE TABLE people (id INTEGER PRIMARY KEY, name VARCHAR(20) COLLATE NOCASE, born DATE, paid DECIMAL(8, 2), photo BLOB,
  big NUMERIC(38), twice INTEGER GENERATED ALWAYS AS (id * 2), odd, at DATETIME, ok BOOLEAN);
CREATE TABLE visits (person INTEGER REFERENCES people (id), weight REAL);
CREATE VIEW v AS SELECT id FROM people;
CREATE VIRTUAL TABLE words USING fts5(word);
CREATE TABLE only_blobs (a BLOB);
"""


@pytest.fixture
def connection() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    register(made)
    made.executescript(DDL)
    return made


def test_tables_and_columns_of_types_that_are_answered(connection: sqlite3.Connection):
    schema = described(connection).schema
    assert {c.name: c.type.name for c in schema.tables["people"]} == {
        "id": "int8", "name": "text", "born": "date", "paid": "numeric", "at": "timestamp", "ok": "bool",
    }  # fmt: skip
    assert schema.left_out["people"] == ("photo", "big", "twice", "odd")
    assert [c.name for c in schema.tables["visits"]] == ["person", "weight"]
    assert set(schema.tables) == {"people", "visits"}
    assert schema.views.keys() == {"v"}
    assert UniqueKey("people", ("id",), primary=True) in schema.constraints
    assert ForeignKey("visits", ("person",), "people", ("id",)) in schema.constraints
    assert not any(c.not_null for c in schema.tables["people"])


@pytest.mark.parametrize(
    ("column", "stored", "read"),
    [
        ("name", "'Ann'", "Ann"), ("name", "x'416e6e'", None), ("name", "CAST(x'ff' AS TEXT)", None),
        ("id", "7", 7), ("born", "'2024-01-31'", 19753), ("born", "19753", None), ("born", "'31.1.2024'", None),
        ("paid", "12.345", 1235), ("paid", "'12'", 1200), ("paid", "'much'", None), ("paid", "1e9", None),
        ("ok", "1", 1), ("ok", "2", None), ("ok", "'true'", None), ("at", "'2024-01-31 00:00:01'", 1706659201000000),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_null(
    connection: sqlite3.Connection, column: str, stored: str, read: object
):
    connection.execute(f"INSERT INTO people ({column}) VALUES ({stored})")
    value = described(connection).columns["people"][column].under(column)
    assert connection.execute(f"SELECT {value.sql} FROM people").fetchone() == (read,)


def test_types_by_their_declaration():
    assert reading("decimal(15,2)") is not None
    for declared in (
        "DECIMAL(16,2)",
        "DECIMAL",
        "NUMERIC",
        "DECIMAL(2,3)",
        "BLOB",
        "",
        "TIMESTAMPTZ",
        "JSON",
    ):
        assert reading(declared) is None, declared
