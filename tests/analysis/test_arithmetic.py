"""Arithmetic: bounds, widths, and what would raise on one row."""

from fractions import Fraction

import pytest

from dpproxy.analysis.arithmetic import common_type, rounded
from dpproxy.analysis.typed import number
from dpproxy.values.errors import NumberOutOfRange, UndefinedFunction
from dpproxy.values.pgtypes import FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC, SqlType
from tests.analysis.rows import compiled, connect, values_of


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
