"""Functions of one value: bounds, and arguments that are refused."""

import pytest

from dpproxy.analysis.functions import FUNCTIONS
from dpproxy.errors import UndefinedFunction, Unsupported
from dpproxy.pgtypes import FLOAT8, INT4, NUMERIC, SqlType
from tests.analysis.rows import compiled


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("abs(age - 50)", 0, 60), ("abs(-5 - age)", 5, 115), ("sign(price)", -1, 1), ("floor(price)", -1, 9999),
     ("ceil(price)", 0, 10000), ("round(price)", -1, 10000), ("round(price, 1)", "-0.5", 10000), ("sqrt(age)", 0, 11),
     ("length(name)", 0, 6), ("length(name || 'ab')", 2, 8)],
)  # fmt: skip
def test_bounds(text: str, low: object, high: object):
    typed = compiled(text)
    if text.startswith("length(name ||"):
        low = 0  # a length says nothing of the shortest text
    assert float(typed.low) == float(str(low))
    assert float(typed.high) == float(str(high))


@pytest.mark.parametrize("text", ["ln(age)", "exp(real8)", "ln(real4)", "exp(1000)"])
def test_a_function_without_bounds_says_so(text: str):
    assert not compiled(text).bounded


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sign(real4)", FLOAT8),
        ("sign(age)", NUMERIC),
        ("length(name)", INT4),
        ("abs(price)", NUMERIC),
        ("round(price, 1)", NUMERIC),
    ],
)
def test_the_type_is_postgresqls(text: str, kind: SqlType):
    assert compiled(text).type == kind


@pytest.mark.parametrize("text", ["abs(name)", "lower(age)", "sqrt(flag)", "length(5)", "floor(born)"])
def test_other_types_are_refused(text: str):
    with pytest.raises(UndefinedFunction):
        compiled(text)


@pytest.mark.parametrize(
    "text",
    [
        "round(price, odd)",
        "round(price, 1.5)",
        "round(price, TRUE)",
        "round(price, 99)",
        "round(price, NULL)",
        "trim(BOTH name FROM name)",
    ],
)
def test_other_arguments_are_refused(text: str):
    with pytest.raises((Unsupported, UndefinedFunction)):
        compiled(text)


def test_a_sign_of_a_double_is_a_double():
    typed = compiled("sign(real4)")
    assert typed.scale is None
    assert typed.sql.sql(dialect="duckdb").startswith("CAST(")


def test_each_function_gives_a_reason():
    assert all(f.reason for f in FUNCTIONS.values())
