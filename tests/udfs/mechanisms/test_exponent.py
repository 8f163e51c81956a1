"""Bounds of exponentials and powers, against decimals of many digits."""

from decimal import Context, Decimal
from fractions import Fraction

import pytest

from udfs.mechanisms.exponent import Ratio, exp_bounds

DIGITS = Context(prec=400, Emax=10**9, Emin=-(10**9))


def exp(x: Fraction) -> Fraction:
    exponent = DIGITS.divide(Decimal(-x.numerator), Decimal(x.denominator))
    return Fraction(DIGITS.exp(exponent))


XS = [Fraction(1, 10**60), Fraction(1, 1000), Fraction(1), Fraction(7, 3), Fraction(44), Fraction(400, 7)]


@pytest.mark.parametrize("precision", [8, 64, 300])
@pytest.mark.parametrize("x", XS)
def test_exponentials_lie_between_near_bounds(x: Fraction, precision: int):
    low, high = exp_bounds(x, precision)
    assert low <= exp(x) * 2**precision <= high
    assert high - low <= 2


@pytest.mark.parametrize("x", XS)
def test_a_ratio_is_just_above_the_exponential(x: Fraction):
    q = Ratio.above(x).fraction
    assert exp(x) <= q < 1
    if x < 45:
        assert 1 - exp(x) / q < x / 2**62 or q - exp(x) <= Fraction(1, 2**64)


def test_powers_lie_between_near_bounds():
    for ratio in (Ratio.above(Fraction(1)), Ratio(1, 64), Ratio(2**70 - 1, 70)):
        for exponent in (0, 1, 2, 3, 17, 1000):
            for precision in (8, 64, 200):
                low, high = ratio.power(exponent, precision)
                assert low <= ratio.fraction**exponent * 2**precision <= high
                assert high - low <= 2
    assert Ratio(3, 2).power(0, 10) == (1024, 1024)


@pytest.mark.parametrize(
    "limit", [Fraction(2), Fraction(1), Fraction(3, 4), Fraction(1, 3), Fraction(1, 10**9)]
)
def test_the_least_exponent_is_where_powers_fall_to_the_limit(limit: Fraction):
    ratio = Ratio(3, 2)
    least = ratio.least_exponent(limit)
    assert ratio.fraction**least <= limit
    assert least == 0 or ratio.fraction ** (least - 1) > limit


def test_scale_is_about_the_reciprocal_of_the_exponent():
    assert Ratio.above(Fraction(1, 1000)).scale == 1000
    assert Ratio(1, 64).scale == 1
