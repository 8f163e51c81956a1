"""Quantiles of the noise against sums of the probabilities."""

from fractions import Fraction

import pytest

from udfs.mechanisms import Staircase
from udfs.mechanisms.reach import _first
from udfs.privacy import LEAST_NANO, NANO

MECHANISMS = [Staircase((1,), NANO, (0,)), Staircase((5,), NANO // 2, (2,)), Staircase((1, 3), NANO, (1, 2))]


def inside(mechanism: Staircase, index: int, h: int) -> Fraction:
    """P(abs(Z_index) <= h) from the mixture, summed until nothing is left."""
    r = Fraction(mechanism.ratio, 2**64)
    mass = total = Fraction(0)
    for t in range(140):
        sides = [2 * (a + t * d) + 1 for a, d in zip(mechanism.radii, mechanism.widths, strict=True)]
        weight = r**t
        for side in sides:
            weight *= side
        mass += weight
        total += weight * min(Fraction(1), Fraction(2 * h + 1, sides[index]))
    return total / mass


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("confidence", [Fraction(1, 50), Fraction(1, 2), 0.9, 0.95, 0.999])
def test_half_width_is_the_least(mechanism: Staircase, confidence: Fraction | float):
    wanted = Fraction(str(confidence))
    for index, h in enumerate(mechanism.half_width(confidence)):
        assert inside(mechanism, index, h) >= wanted
        assert h == 0 or inside(mechanism, index, h - 1) < wanted


@pytest.mark.parametrize("h", [0, 1, 4, 40])
def test_a_quantile_that_is_met_exactly(h: int):
    mechanism = Staircase((1,), NANO, (0,))
    r = Fraction(mechanism.ratio, 2**64)
    covered = 1 - 2 * r ** (h + 1) / (1 + r)  # two-sided geometric
    assert mechanism.half_width(covered) == (h,)
    assert mechanism.half_width(covered + Fraction(1, 10**80)) == (h + 1,)


def test_extreme_confidence_and_epsilon():
    mechanism = Staircase.best((1, 2**90), LEAST_NANO)
    small, large = mechanism.half_width(1 - Fraction(1, 10**40))
    assert 90_000 < small < 130_000  # 40 ln 10 / epsilon, and somewhat more for the second component
    assert large / 2**90 == pytest.approx(small, rel=1e-3)


@pytest.mark.parametrize("least", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("start", [0, 1, 5, 100, 1000])
def test_search_outwards(least: int, start: int):
    assert _first(lambda level: level >= least, start) == least
