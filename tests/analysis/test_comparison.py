"""Comparisons: one form for both sides, no silent mixing of types."""

import pytest

from dpproxy.analysis import duck
from dpproxy.values.errors import TypeMismatch, UndefinedFunction
from dpproxy.values.pgtypes import FLOAT8, INT8, NUMERIC, TEXT, TIMESTAMP, SqlType
from tests.analysis.rows import compiled


@pytest.mark.parametrize(
    "text", ["age = name", "age > born", "flag = 1", "name < 5", "born = flag", "flag IN (1)"]
)
def test_types_that_do_not_compare_have_no_operator(text: str):
    with pytest.raises(UndefinedFunction) as refused:
        compiled(text)
    assert refused.value.position is not None


@pytest.mark.parametrize(
    "text", ["odd = '5'", "born > '2000-01-01'", "seen > born", "flag = 't'", "price = 1", "real8 < huge"]
)
def test_literals_and_numbers_take_the_type_beside_them(text: str):
    assert compiled(text).nullable


@pytest.mark.parametrize("text", ["odd IS NULL", "odd IS DISTINCT FROM 3", "age < 5", "flag IS NOT TRUE"])
def test_what_cannot_be_null_is_not_nullable(text: str):
    assert not compiled(text).nullable


@pytest.mark.parametrize(
    ("text", "kind"),
    [("coalesce(age, big)", INT8), ("coalesce(age, price)", NUMERIC), ("coalesce(price, real4)", FLOAT8),
     ("coalesce(born, seen)", TIMESTAMP), ("coalesce('a', NULL)", TEXT)],
)  # fmt: skip
def test_several_values_have_one_type(text: str, kind: SqlType):
    assert compiled(text).type == kind


def test_types_that_do_not_match_are_refused():
    with pytest.raises(TypeMismatch):
        compiled("coalesce(age, name)")


@pytest.mark.parametrize(
    "text", ["CASE WHEN flag THEN age ELSE NULL END", "coalesce(age, NULL)", "least(age, NULL)"]
)
def test_null_beside_a_number_keeps_its_bounds(text: str):
    typed = compiled(text)
    assert (typed.low, typed.high) == (0, 110)


def test_a_decimal_is_compared_exactly():
    """As a DOUBLE, 9999.99 would be another number."""
    assert "DOUBLE" not in duck.text(compiled("price = 9999.99").sql)
