"""Arithmetic: bounds, widths, and what would raise on one row."""

from fractions import Fraction

import pytest
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.arithmetic import common_type, rounded
from dpproxy.analysis.domains import read_column
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.typed import number
from dpproxy.policy.model import Between
from dpproxy.values.errors import NumberOutOfRange, UndefinedFunction
from dpproxy.values.pgtypes import FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC, Column, SqlType
from tests.analysis.rows import compiled, connect, node_of, values_of
from tests.empty import empty


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [(INT2, INT2, INT2), (INT4, INT8, INT8), (INT8, NUMERIC.with_precision(9, 2), NUMERIC), (FLOAT4, INT2, FLOAT8),
     (NUMERIC, FLOAT8, FLOAT8), (FLOAT4, FLOAT4, FLOAT4)],
)  # fmt: skip
def test_the_common_type_is_postgresqls(left: SqlType, right: SqlType, expected: SqlType):
    assert common_type(left, right) == common_type(right, left) == expected


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("age + 1", 1, 111), ("1 - age", -109, 1), ("age * -2", -220, 0), ("-age", -110, 0), ("age % 7", 0, 6),
     ("(age - 50) % 7", -6, 6), ("age / 3", -110, 110), ("age * 0.5", 0, 55)],
)  # fmt: skip
def test_bounds_follow_by_interval_arithmetic(text: str, low: int, high: int):
    typed = compiled(text)
    assert (typed.low, typed.high) == (low, high)


def test_the_least_bigint_over_minus_one_does_not_raise():
    connection = connect()
    quotients, rests = (values_of(connection, compiled(f"big {sign} odd").sql) for sign in "/%")
    least = values_of(connection, compiled("big / (-1)").sql)
    connection.close()
    assert 2**63 in least
    assert len(quotients) == len(rests)


@pytest.mark.parametrize("text", ["age * 99999999", "small * small * small", "big + 1", "big * big"])
def test_what_could_leave_its_type_is_refused(text: str):
    with pytest.raises(NumberOutOfRange) as refused:
        compiled(text)
    assert "CAST" in str(refused.value.hint)


def test_unbounded_doubles_have_no_bounds():
    assert not compiled("real8 * real8").bounded
    assert not compiled("1 / real8").bounded


@pytest.mark.parametrize(
    "text", ["age / age", "price / age", "age % odd", "real8 / (age - age)", "unit8 / 0::float8"]
)
def test_a_divisor_that_may_be_zero_gives_null(text: str):
    assert compiled(text).nullable


@pytest.mark.parametrize("text", ["name + 1", "flag * 2", "-born", "born * born", "real8 % 2"])
def test_other_types_have_no_operator(text: str):
    with pytest.raises(UndefinedFunction):
        compiled(text)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [("2.5", 0, 3), ("-2.5", 0, -3), ("2.449", 1, Fraction("2.4")), ("155.5", -1, 160), ("7", 3, 7)],
)
def test_rounding_takes_halves_away_from_zero(value: str, digits: int, expected: Fraction):
    typed = rounded(number(Fraction(value)), digits, NUMERIC)
    assert (typed.low, typed.high) == (expected, expected)


def test_a_divisor_that_rounding_could_make_zero_is_held_to_its_bounds():
    """100000000000000000001 is 1e20 as a DOUBLE: bounds of the difference from it leave zero out all the same."""
    column, domain = (
        Column("edge", NUMERIC.with_precision(38, 0), not_null=True),
        Between(10**20 + 1, 10**20 + 5),
    )
    scope = Scope(
        ExpressionLevel.ROW,
        lambda n: read_column(column, domain) if type(n) is exp.Column else None,
        Parameters(),
    )
    typed = compile_expression(node_of("1 / (edge - 1e20::float8)"), scope)
    assert not typed.nullable
    with empty() as connection:
        rows = f"SELECT {duck.text(typed.sql)} FROM (SELECT CAST('100000000000000000001' AS DECIMAL(38, 0)) AS edge)"
        assert connection.execute(rows).fetchall() == [(1.0,)]


@pytest.mark.parametrize(
    ("text", "kind"), [("round(big, -1)", NUMERIC), ("round(small, -2)", NUMERIC), ("round(age, -1)", INT4)]
)
def test_what_rounding_could_move_out_of_its_type_is_numeric(text: str, kind: SqlType):
    assert compiled(text).type == kind


def test_a_cast_is_refused_where_rounding_could_leave_the_type():
    """The largest value, 9223372036854775807.5, is inside the range of bigint, and what it is rounded to is not."""
    with pytest.raises(NumberOutOfRange, match="could go out of range"):
        compiled("CAST(big + 0.5 AS bigint)")
