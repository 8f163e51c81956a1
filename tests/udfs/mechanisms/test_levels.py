"""The ratio, the binomial basis and the law of the level."""

import math
import os
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from udfs.mechanisms.levels import (
    DIGIT,
    ONE,
    Factor,
    Geometric,
    Levels,
    binomial,
    power_bounds,
    ratio,
    total,
    weights,
)
from udfs.privacy import LEAST_NANO, NANO
from udfs.randomness import LawTable, Words

FACTORS = [[(1, 2)], [(3, 4), (1, 2)], [(5, 6), (1, 0), (7, 2)], [(1, 2**90), (2**80 + 1, 2**81)]]
NANOS = [LEAST_NANO, NANO // 10, NANO, 3 * NANO, 60 * NANO]


@pytest.mark.parametrize("nano", [*NANOS, LEAST_NANO + 1, 44_361_419_555, 44_361_419_556, 10**15])
def test_ratio_is_the_least_that_covers_epsilon(nano: int):
    context = Context(prec=80, Emin=-(10**9))  # the decimal library is the other opinion
    exact = context.multiply(context.exp(context.divide(Decimal(-nano), Decimal(NANO))), Decimal(ONE))
    assert ratio(nano) == int(exact.to_integral_value(ROUND_CEILING, context))


def test_power_bounds_hold_and_become_exact():
    q = ratio(NANO // 7)
    for exponent in (0, 1, 2, 7, 40):
        exact = Fraction(q, ONE) ** exponent
        for precision in (64, 100, 256):
            low, high = power_bounds(q, exponent, precision)
            assert low <= exact * 2**precision <= high
            assert high - low <= 2
        low, high = power_bounds(q, exponent, 64 * max(exponent, 1))
        assert low == high


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("start", [0, 5])
def test_binomial_is_the_polynomial(factors: list[Factor], start: int):
    coefficients = binomial(factors, start)
    assert min(coefficients) >= 0
    for t in range(8):
        value = math.prod(a + b * (t + start) for a, b in factors)
        assert value == sum(c * math.comb(t, m) for m, c in enumerate(coefficients))


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("nano", NANOS)
def test_mixture_is_the_law(factors: list[Factor], nano: int):
    """The arms' weights times the negative binomial laws give p(t) q**t / mass, as Fractions."""
    q = ratio(nano)
    coefficients, r = binomial(factors), Fraction(q, ONE)
    arms = weights(coefficients, q)
    mass = total(coefficients, q)
    for t in range(6):
        mixed = sum(
            Fraction(arm, sum(arms)) * math.comb(t, m) * (1 - r) ** (m + 1) * r ** (t - m)
            for m, arm in enumerate(arms)
            if m <= t
        )
        assert mixed == math.prod(a + b * t for a, b in factors) * r**t / mass


def test_total_is_the_infinite_sum():
    r = Fraction(ratio(NANO), ONE)
    partial = sum((3 + 4 * t) * (1 + 2 * t) * r**t for t in range(120))
    exact = total(binomial([(3, 4), (1, 2)]), ratio(NANO))
    assert 0 < exact - partial < Fraction(1, 10**40)


@pytest.mark.parametrize("nano", [LEAST_NANO, NANO // 20, NANO])
def test_digits_put_together_are_geometric(nano: int):
    """Digits that fit their tables' boundaries multiply to (1 - q) q**g, as Fractions of bounds 1e-60 wide."""
    law, r = Geometric(ratio(nano)), Fraction(ratio(nano), ONE)

    def probability(table: LawTable, index: int) -> Fraction:
        ends = [Fraction(sum(table._boundary(i, 256)), 2**257) if i >= 0 else 0 for i in (index - 1, index)]
        return ends[1] - ends[0] if index < table._count else 1 - ends[0]

    scale, last = law._last
    for g in (0, 1, 254, 255 * scale, 37 * scale + 5 * (scale > 1)):
        result = probability(last, g // scale)
        for unit, table in law._digits:
            result *= probability(table, g // unit % DIGIT)
        assert abs(result - (1 - r) * r**g) < Fraction(1, 10**60)


def test_geometric_draws_anew_beyond_its_table(scripted: Callable[..., Words]):
    law = Geometric(ratio(NANO))
    assert (
        law.draw(1, scripted(2**64 - 1, 2**64 - 1, 2**64 - 1, 2**64 - 1, 2**64 - 1, 2**64 - 1, 2**63))[0]
        == 256
    )
    assert law.draw(2, scripted(0, 2**63)).tolist() == [0, 0]


def test_no_levels(scripted: Callable[..., Words]):
    assert Levels([(1, 2)], ratio(NANO)).draw(0, scripted()).tolist() == []


@pytest.mark.statistical
@pytest.mark.parametrize("nano", [LEAST_NANO, NANO // 20, NANO])
@pytest.mark.parametrize("factors", FACTORS[:3])
def test_levels_follow_their_law(factors: list[Factor], nano: int):  # false alarm 1e-6 each, 9 of them
    q = ratio(nano)
    count, r = 30_000, q / ONE
    coefficients = binomial(factors)
    mass = float(total(coefficients, q))
    top = int(30 / (1 - r))
    levels = np.arange(top)
    law = np.prod([a + b * levels for a, b in factors], axis=0) * r**levels / mass
    drawn = Levels(factors, q).draw(count, os.urandom)
    cells = np.searchsorted(np.cumsum(law), np.linspace(0, 1, 21)[1:-1])  # about twentieths
    cells = np.unique(cells)
    expected = np.diff(np.concatenate([[0], np.cumsum(law)[cells], [1]])) * count
    # cell i holds the levels in (cells[i - 1], cells[i]]
    observed = np.bincount(np.searchsorted(cells, drawn, side="left"), minlength=len(cells) + 1)
    keep = expected > 5
    statistic = float(((observed - expected)[keep] ** 2 / expected[keep]).sum())
    assert keep.sum() >= 3
    assert statistic < chi2.isf(1e-6, keep.sum())


@pytest.mark.parametrize("first", [0, ONE >> 1, ONE - (1 << 40)])
def test_as_many_parts_are_drawn_whatever_the_arm(first: int, scripted: Callable[..., Words]):
    """Were only the parts drawn that count, a draw of more of them would take longer, and be larger."""
    words = scripted(first, 0, 0, 0, 2**63)
    arm = Levels([(1, 2), (1, 2)], ratio(NANO)).draw(1, words)[0]  # all parts are 0
    assert arm == {0: 0, ONE >> 1: 1}.get(first, 2)
    assert words(8) == (2**63).to_bytes(8, "little")
