from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest
from sqlglot import parse_one

from dpproxy.pgcatalog.compiler import parameters
from dpproxy.values.errors import InvalidText, UndefinedParameter


def kinds(sql: str, *declared: int) -> list[str]:
    return [kind.name for kind in parameters.types(parse_one(sql, read="postgres"), declared)]


def test_types():
    assert kinds("SELECT $1") == ["text"]
    assert kinds("SELECT $1", 23) == ["int4"]
    assert kinds("SELECT $1::int, $2::oid, $3::regclass", 0) == ["int4", "oid", "text"]
    assert kinds("SELECT 1 FROM pg_class WHERE oid = $1 AND relname = $2 AND relnatts > $3 LIMIT $4") == [
        "oid",
        "name",
        "int2",
        "int8",
    ]


def test_types_are_those_that_postgresql_infers():
    """As its own answer to Parse says, for the same statements."""
    for sql, expected in (
        ("SELECT 1 FROM pg_class WHERE relnatts BETWEEN $1 AND $2", ["int2", "int2"]),
        ("SELECT 1 FROM pg_class WHERE relname = ($1) OR $2", ["name", "bool"]),
        ("SELECT format_type($1, $2), pg_get_indexdef($3, $4, $5)", ["oid", "int4", "oid", "int4", "bool"]),
        ("SELECT obj_description($1, $2), set_config($3, $4, $5)", ["oid", "name", "text", "text", "bool"]),
        ("SELECT $1 + 1, conkey[$2], CASE WHEN $3 THEN 1 END FROM pg_constraint", ["int4", "int4", "bool"]),
        (
            "SELECT CASE WHEN true THEN $1 END, CASE relname WHEN $2 THEN 1 END FROM pg_class",
            ["text", "text"],
        ),
        ("SELECT quote_ident($1), relname LIKE $2 FROM pg_class", ["text", "text"]),
        (
            "SELECT $1::uuid, $2::text[], $3::timestamptz, $4::jsonb",
            ["uuid", "_text", "timestamptz", "jsonb"],
        ),
    ):
        assert kinds(sql) == expected


def test_values_of_each_type(ask: Callable[..., list[tuple[object, ...]]]):
    values = ("it's", 5, -7, True, Decimal("1.50"), 0.5, date(2024, 2, 3), None)
    sql = "SELECT $1::text, $2::int, $3::int, $4::bool, $5::numeric(5, 2), $6::float8, $7::date, $8::int"
    assert ask(sql, *values) == [values]


def test_a_text_stays_a_text(ask: Callable[..., list[tuple[object, ...]]]):
    hostile = "'; DROP TABLE pg_class; --\\' $1 {x} \n\u2019"
    assert ask("SELECT $1", hostile) == [(hostile,)]


def test_a_text_finds_an_oid(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT relname FROM pg_class WHERE oid = $1", "1259") == [("pg_class",)]


def test_a_missing_value(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises(UndefinedParameter) as caught:
        ask("SELECT $2", "a")
    assert caught.value.position is not None


def test_a_zero_byte(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises(InvalidText):
        ask("SELECT $1", "a\0b")
