"""CAST: by allow-list, and inside the bounds whatever the row holds."""

# ruff: noqa: E501 - tables of cases

import pytest
from msgspec.structs import replace

from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import ExpressionLevel
from dpproxy.values.errors import (
    DateOutOfRange,
    InvalidParameter,
    InvalidText,
    NumberOutOfRange,
    Refusal,
    TooComplex,
    Unsupported,
)
from dpproxy.values.pgtypes import BOOL, DATE, FLOAT8, INT2, INT4, INT8, NUMERIC, TEXT, SqlType
from tests.analysis.rows import compiled, connect, node_of, row_scope, values_of


@pytest.mark.parametrize(
    ("text", "kind"),
    [("age::bigint", INT8), ("tiny::smallint", INT2), ("price::int", INT4), ("real4::int", INT4), ("age::float8", FLOAT8),
     ("'5'::numeric(4,1)", NUMERIC.with_precision(4, 1)), ("NULL::int", INT4), ("'t'::bool", BOOL), ("'2000-01-01'::date", DATE)],
)  # fmt: skip
def test_the_type_is_the_one_named(text: str, kind: SqlType):
    assert compiled(text).type == kind


@pytest.mark.parametrize(
    "text",
    [
        "big::int",
        "real8::bigint",
        "huge::bigint",
        "price::numeric(3,2)",
        "age::numeric(40,2)",
        "(1/real8)::int",
        "'9999999999'::int",
    ],
)
def test_a_cast_that_could_raise_is_refused(text: str):
    with pytest.raises(NumberOutOfRange):
        compiled(text)


@pytest.mark.parametrize(
    "text",
    [
        "price::text",
        "born::text",
        "name::int",
        "age::bool",
        "flag::int",
        "age::timestamptz",
        "age::interval",
        "age::int[]",
        "'a'::char(3)",
        "'a'::varchar(1, 2)",
        "'nan'::float8",
    ],
)
def test_other_casts_are_refused(text: str):
    with pytest.raises(Unsupported):
        compiled(text)


@pytest.mark.parametrize(
    "text", ["'x'::int", "'1/2'::numeric", "'nan'::int", "'2000-1301'::date", "'1_0'::int"]
)
def test_a_literal_that_does_not_read_is_refused(text: str):
    with pytest.raises(InvalidText):
        compiled(text)


@pytest.mark.parametrize(
    "text", ["'2000-13-01'::date", "'2001-02-29'::timestamp", "'2000-01-01 25:00'::timestamp"]
)
def test_a_day_that_there_is_not_is_out_of_range(text: str):
    with pytest.raises(DateOutOfRange):
        compiled(text)


def test_nan_stays_inside_the_bounds_of_an_integer():
    """Outside them, what is computed from it would overflow on that one row."""
    typed = compiled("CAST(sqrt(small) AS int)")
    connection = connect()
    steps = values_of(connection, typed.sql)
    wide = values_of(connection, compiled("CAST(CAST(sqrt(small) AS int) AS bigint) * 1000000000000").sql)
    connection.close()
    assert all(v is None or typed.low <= v <= typed.high for v in steps)
    assert typed.high in steps
    assert max(v for v in wide if v is not None) == typed.high * 10**12


@pytest.mark.parametrize("deep", [10, 60])
@pytest.mark.parametrize("level", [ExpressionLevel.ROW, ExpressionLevel.RELEASED])
def test_nested_casts_do_not_grow_without_limit(deep: int, level: ExpressionLevel):
    text = "CAST(sqrt(" * deep + "age" + ") AS int)" * deep
    if level is ExpressionLevel.RELEASED:
        text = "length(CAST(sqrt(" * deep + "age" + ") AS text))" * deep
    try:
        size = len(list(compile_expression(node_of(text), replace(row_scope(), level=level)).sql.walk()))
    except TooComplex:
        size = 0
    assert size < 5_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("(40 + 2)::text", "42"),
        ("true::text", "true"),
        ("(date '2024-01-31')::text", "2024-01-31"),
        ("1.50::text", "1.50"),
        ("(-0.05)::text", "-0.05"),
        ("(timestamp '2024-01-31 01:02:03.50')::text", "2024-01-31 01:02:03.5"),
        ("(12.25)::text", "12.25"),
        ("'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::uuid::text", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("(1e15::float8)::text", "1e+15"),
        ("(sqrt(2) / 1000000)::text", "1.4142135623730952e-06"),
        ("(interval '1 month -1 day 2 hours')::text", "1 mon -1 days +02:00:00"),
    ],
)
def test_over_released_values_what_is_written_alike_becomes_text(text: str, shown: str):
    """``SELECT count(*)::text`` is how pgAdmin counts rows."""
    typed = compile_expression(node_of(text), replace(row_scope(), level=ExpressionLevel.RELEASED))
    assert typed.type == TEXT
    assert connect().execute(f"SELECT {duck.text(typed.sql)}").fetchall() == [(shown,)]


@pytest.mark.parametrize("text", ["'{1}'::int[]::text", "'\\x00'::bytea::text"])
def test_other_values_do_not(text: str):
    with pytest.raises(Refusal):
        compile_expression(node_of(text), replace(row_scope(), level=ExpressionLevel.RELEASED))


HALVES = (0.5, 1.5, 2.5, -0.5, -2.5, 2.4999999999999996, 4503599627370495.5)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("level", ExpressionLevel)
def test_halves_of_doubles_go_to_the_even_neighbour(half: float, level: ExpressionLevel):
    scope = replace(row_scope(), level=level)
    for text in (
        f"({half!r}::float8)::bigint",
        f"round({half!r}::float8)",
        f"round({half!r}::float8)::bigint",
    ):
        typed = compile_expression(node_of(text), scope)
        assert connect().execute(f"SELECT {duck.text(typed.sql)}").fetchall() == [(round(half),)], text


@pytest.mark.parametrize(("text", "found"), [("2.5::int", 3), ("(-2.5)::int", -3), ("round(0.5)", 1)])
def test_halves_of_numerics_go_away_from_zero(text: str, found: int):
    for level in ExpressionLevel:
        typed = compile_expression(node_of(text), replace(row_scope(), level=level))
        assert connect().execute(f"SELECT {duck.text(typed.sql)}").fetchall() == [(found,)]


@pytest.mark.parametrize("text", ["real4::int", "round(real8)"])
def test_rows_are_rounded_as_what_was_released(text: str):
    released = compile_expression(node_of(text), replace(row_scope(), level=ExpressionLevel.RELEASED))
    assert duck.text(released.sql) == duck.text(compiled(text).sql)
    assert "ROUND_EVEN" in duck.text(released.sql).upper()


@pytest.mark.parametrize("size", [0, 10_485_761])
def test_a_length_is_one_that_postgresql_takes(size: int):
    with pytest.raises(InvalidParameter):
        compiled(f"'a'::varchar({size})")


def test_a_length_is_told_to_clients():
    assert compiled("CAST(name AS varchar(10))").type.modifier == 14
    assert compiled("CAST(name AS varchar)").type.modifier == -1
