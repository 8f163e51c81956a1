"""Limits of the numbers in clauses."""

from fractions import Fraction

import pytest

from dpproxy.policy.amounts import MOST_EXPECTED, count, delta, epsilon
from dpproxy.policy.statements import Amount
from dpproxy.values.errors import InvalidParameter


@pytest.mark.parametrize("value", [Fraction(1, 1000), 1, 10**9, Fraction(123456789, 10**9)])
def test_losses_in_range(value: int | Fraction):
    found = epsilon(Amount("MAX EPSILON", value))
    assert (found, type(found)) == (value, Fraction)


@pytest.mark.parametrize("value", [0, -1, Fraction(1, 1001), 10**9 + 1, 10**400, 1 + Fraction(1, 10**10)])
def test_losses_out_of_range(value: int | Fraction):
    with pytest.raises(InvalidParameter, match=r"^MAX EPSILON") as caught:
        epsilon(Amount("MAX EPSILON", value, 7))
    assert caught.value.position == 7


def test_deltas():
    assert delta(None) == 0
    assert delta(Amount("DELTA", Fraction(1, 10**6))) == Fraction(1, 10**6)
    for value in (1, 2, Fraction(-1, 10)):
        with pytest.raises(InvalidParameter, match="at least 0 and below 1"):
            delta(Amount("DELTA", value))


def test_counts():
    assert count(Amount("MAX ROWS", 1)) == 1
    assert count(Amount("EXPECTED ROWS", 10**12), MOST_EXPECTED) == 10**12
    for value in (0, -3, 10**9 + 1):
        with pytest.raises(InvalidParameter, match="MAX ROWS must be between 1 and 1000000000"):
            count(Amount("MAX ROWS", value))
    with pytest.raises(InvalidParameter, match="whole number"):
        count(Amount("MAX ROWS", Fraction(5, 2)))
