"""Functions of numbers: bounds, types, values, and arguments that are refused."""

# ruff: noqa: E501 - tables of cases

import math
from fractions import Fraction

import pytest

from dpproxy.analysis import duck
from dpproxy.values.errors import NumberOutOfRange, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import FLOAT8, INT4, NUMERIC, SqlType
from tests.analysis.rows import compiled, connect, value_of, values_of


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("abs(age - 50)", 0, 60), ("abs(-5 - age)", 5, 115), ("sign(price)", -1, 1), ("floor(price)", -1, 9999),
     ("ceil(price)", 0, 10000), ("round(price)", -1, 10000), ("round(price, 1)", "-0.5", 10000), ("sqrt(age)", 0, 11),
     ("round(real4)", -1000, 1000), ("trunc(price)", 0, 9999), ("trunc(price, 1)", "-0.5", "9999.9"), ("trunc(price, -2)", 0, 9900),
     ("trunc(real4)", -1000, 1000), ("width_bucket(age, 0, 100, 10)", 1, 11), ("width_bucket(price, 10, 20, 5)", 0, 6),
     ("width_bucket(age, -5, 500, 5)", 1, 2)],
)  # fmt: skip
def test_bounds(text: str, low: object, high: object):
    typed = compiled(text)
    assert float(typed.low) == float(str(low))
    assert float(typed.high) == float(str(high))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("power(age, 2)", 0, 12100), ("(age - 50) ^ 2", 0, 3600), ("power(age - 50, 3)", -125000, 216000), ("power(unit8, -1)", 1, 10),
     ("power(unit8, 0.5)", 0.316, 1), ("log(unit8)", -1, 0), ("log(2, age + 1)", 0, 6.79), ("degrees(unit8)", 5.73, 57.3),
     ("radians(age)", 0, 1.92)],
)  # fmt: skip
def test_bounds_of_a_double_are_near(text: str, low: float, high: float):
    typed = compiled(text)
    assert float(typed.low) == pytest.approx(low, abs=0.01)
    assert float(typed.high) == pytest.approx(high, abs=0.01)


@pytest.mark.parametrize(
    "text",
    ["ln(age)", "exp(real8)", "ln(real4)", "exp(1000)", "log(age)", "power(age, -1)", "power(price, 0.5)", "power(real8, 2)"],
)  # fmt: skip
def test_a_function_without_bounds_says_so(text: str):
    assert not compiled(text).bounded


@pytest.mark.parametrize(
    ("text", "kind"),
    [("sign(real4)", FLOAT8), ("sign(age)", NUMERIC), ("abs(price)", NUMERIC), ("round(price, 1)", NUMERIC), ("trunc(price)", NUMERIC),
     ("power(age, 2)", FLOAT8), ("power(price, 2)", NUMERIC), ("width_bucket(real8, 0, 1, 2)", INT4)],
)  # fmt: skip
def test_the_type_is_postgresqls(text: str, kind: SqlType):
    assert compiled(text).type == kind


@pytest.mark.parametrize(
    "text", ["abs(name)", "sqrt(flag)", "floor(born)", "power(name, 2)", "width_bucket(name, 0, 1, 2)"]
)
def test_other_types_are_refused(text: str):
    with pytest.raises(UndefinedFunction):
        compiled(text)


@pytest.mark.parametrize(
    "text",
    ["round(price, odd)", "round(price, 1.5)", "round(price, TRUE)", "round(price, 99)", "round(price, NULL)", "trunc(real4, 2)",
     "trunc(price, odd)", "power(2, age)", "power(age, NULL)", "log(age, 2)", "log(1, age)", "width_bucket(age, odd, 5, 2)"],
)  # fmt: skip
def test_other_arguments_are_refused(text: str):
    with pytest.raises(Unsupported):
        compiled(text)


@pytest.mark.parametrize("arguments", ["5, 0, 2", "0, 0, 2", "0, 5, 0", "0, 5, 1.5", "0, 5, 100001"])
def test_buckets_lie_between_two_bounds(arguments: str):
    with pytest.raises(NumberOutOfRange):
        compiled(f"width_bucket(age, {arguments})")


def test_a_sign_of_a_double_is_a_double():
    typed = compiled("sign(real4)")
    assert typed.scale is None
    assert duck.text(typed.sql).startswith("CAST(")


@pytest.mark.parametrize("column", ["age", "price", "small", "real4", "real8", "huge"])
def test_a_bucket_is_postgresqls(column: str):
    typed, value = compiled(f"width_bucket({column}, -0.45, 9.9, 7)"), compiled(column)
    connection = connect()
    buckets, held = values_of(connection, typed.sql), values_of(connection, value.sql)
    connection.close()
    low, high = Fraction("-0.45"), Fraction("9.9")
    for bucket, given in zip(buckets, held, strict=True):
        number = value_of(given, value)
        expected = None if number is None else 0 if number < low else 8
        if number is not None and low <= number < high:
            expected = math.floor((Fraction(number) - low) * 7 / (high - low)) + 1
        assert bucket == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("width_bucket(1 - 26.91 / 29.90, 0, 0.5, 5)", 2), ("width_bucket(CAST(0.21 AS float8), 0, 3, 100)", 7),
     ("1 - 26.91 / 29.90 >= 0.1", True), ("1 - 26.91 / 29.90 < 0.1", False), ("-(26.91 / 29.90) IN (-0.9, 7)", True),
     ("round(57 / 200.0, 2) = 0.29", True), ("floor(abs(1.2 / 10 - 0.3) * 100) = 18", True), ("2.0 / 3 * 3 > 2", True),
     ("-1.0 / 3 * 3 > -1", True), ("CAST(100 * (57 / 200.0) - 28 AS int)", 1), ("26.91 / -29.90 BETWEEN -0.9 AND 0", True),
     ("CAST(26.91 / 29.90 AS float8) = CAST(0.9 AS float8)", True), ("26.91 / nullif(price, price) > 1", None)],
)  # fmt: skip
def test_a_quotient_is_compared_and_rounded_by_its_digits(text: str, expected: object):
    connection = connect()
    assert set(values_of(connection, compiled(text).sql)) == {expected}
    connection.close()


def test_digits_without_room_in_128_bits_are_those_of_a_double():
    assert "INT128" in duck.text(compiled("price / greatest(price, 1) > 0.5").sql)
    assert "INT128" not in duck.text(compiled("1e36 / 3.0 > 0.5").sql)
