from collections.abc import Callable

import pytest
from sqlglot import parse_one

from dpproxy.pgcatalog.compiler import casts
from dpproxy.values.errors import InvalidParameter, Unsupported


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("pg_catalog.text", "VARCHAR"),
        ('"char"', "VARCHAR"),
        ('pg_catalog."char"', "VARCHAR"),
        ("oid", "UINTEGER"),
        ("int4", "INTEGER"),
        ("bigint", "BIGINT"),
        ("pg_catalog.int2[]", "SMALLINT[]"),
        ("name[]", "VARCHAR[]"),
        ("numeric(5, 2)", "DECIMAL(5,2)"),
        ("information_schema.cardinal_number", "INTEGER"),
        ("timestamptz", "TIMESTAMP WITH TIME ZONE"),
        ("uuid", "UUID"),
        ("_oid", "UINTEGER[]"),
    ],
)
def test_types(written: str, stored: str):
    assert (
        casts.stored(casts.named(parse_one(f"SELECT a::{written}", read="postgres").expressions[0].to))
        == stored
    )


@pytest.mark.parametrize(
    "written", ["nosuch", "public.text", "struct(a int)", "hugeint", "main.pg_catalog.text"]
)
def test_other_types_are_refused(written: str):
    with pytest.raises(Unsupported):
        casts.named(parse_one(f"SELECT CAST(a AS {written})", read="duckdb").expressions[0].to)


def test_characters_have_a_longest_length():
    kind = parse_one("SELECT a::char(10485761)", read="postgres").expressions[0].to
    with pytest.raises(InvalidParameter, match="cannot exceed 10485760"):
        casts.named(kind)


def test_array_literals(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT '{1,2}'::int[], 2 = ANY('{1,2}'::int[]), 3 = ANY('{1,2}')") == [([1, 2], True, False)]
