"""Compiled values: constants, scales, bounds."""

from fractions import Fraction

import pytest

from dpproxy.analysis import duck
from dpproxy.analysis.typed import as_double, as_scaled, boolean, inexact, null, number
from dpproxy.values.pgtypes import FLOAT8, INT4, INT8, NUMERIC, SqlType


@pytest.mark.parametrize(
    ("value", "scale", "kind"),
    [(Fraction(5), 0, INT4), (Fraction(2**31), 0, INT8), (Fraction(2**63), 0, NUMERIC), (Fraction("1.25"), 2, NUMERIC),
     (Fraction(1, 3), None, NUMERIC), (Fraction(10**38), None, NUMERIC)],
)  # fmt: skip
def test_a_constant_is_exact_where_it_can_be(value: Fraction, scale: int | None, kind: SqlType):
    typed = number(value)
    assert (typed.scale, typed.type) == (scale, kind)


def test_a_number_that_no_double_holds_is_an_overflow():
    with pytest.raises(OverflowError):
        number(Fraction(10**400))


def test_a_scale_only_widens():
    assert duck.text(as_scaled(number(Fraction("1.5")), 3)) == "1500"
    with pytest.raises(AssertionError):
        as_scaled(number(Fraction("1.25")), 1)


def test_an_exact_constant_as_double():
    assert duck.text(as_double(number(Fraction("1.5")))) == "1.5e0"


def test_bounds_of_a_double_are_doubles_or_none():
    typed = inexact(duck.double(0.0), FLOAT8, Fraction(1, 3), Fraction(10**301), nullable=False)
    assert typed.low == Fraction(1 / 3)
    assert typed.high is None
    assert typed.magnitude is None


def test_null_has_the_bounds_of_nothing():
    typed = null(INT4)
    assert typed.is_null
    assert typed.nullable
    assert typed.magnitude == 0


def test_a_truth_value_is_no_number():
    assert not boolean(duck.constant(value=True), nullable=False).is_number
