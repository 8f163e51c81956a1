"""Weighted sums of one draw: the bound against exact tails of small mechanisms, and that it is a norm."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest

from udfs.mechanisms import Gaussian
from udfs.mechanisms.averaged import Draw
from udfs.mechanisms.laplace import Laplace
from udfs.mechanisms.linear import Linear
from udfs.mechanisms.staircase import Staircase

CONFIDENCE = Fraction(19, 20)
SMALL: tuple[Staircase | Laplace, ...] = (
    Staircase.best((1, 2), 4 * 10**9),
    Staircase((2, 1), 3 * 10**9, (1, 0)),
    Laplace((1, 2), 5 * 10**9, 2),
)
WEIGHTS = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, -2.0), (0.3, 5.0), (-1.0, 0.01))
REACH = 14
"""Beyond it is nearly none of a small one's noise; what is, is counted as missed."""


def missed(mechanism: Staircase | Laplace, is_within: Callable[[int, int], bool]) -> Fraction:
    """The exact probability of noise that is not within; at most, since noise far away counts as not."""
    inside = range(-REACH, REACH + 1)
    return 1 - sum((mechanism.pmf(z) for z in product(inside, repeat=2) if is_within(*z)), start=Fraction(0))


@pytest.mark.parametrize("mechanism", SMALL)
@pytest.mark.parametrize("confidence", [Fraction(1, 2), CONFIDENCE, Fraction(99, 100)])
def test_no_weights_pass_their_bound_more_often_than_it_says(
    mechanism: Staircase | Laplace, confidence: Fraction
):
    linear = Linear(mechanism, (0, 1))
    for a, b in WEIGHTS:
        reach = linear.reach((a, b), confidence)
        assert missed(mechanism, lambda x, y: abs(a * x + b * y) <= reach) <= 1 - confidence  # noqa: B023


@pytest.mark.parametrize("mechanism", SMALL)
def test_moments_are_those_of_the_law_with_uniform_numbers_on_top(mechanism: Staircase | Laplace):
    """The mean of (a X + b Y)^4, of all noise within reach, against what the bound is made of."""
    linear, confidence = Linear(mechanism, (0, 1)), CONFIDENCE
    for a, b in WEIGHTS:
        found = sum(
            float(mechanism.pmf((x, y))) * _fourth(a * x + b * y, a, b)
            for x, y in product(range(-REACH, REACH + 1), repeat=2)
        )
        halves = (abs(a) + abs(b)) / 2
        moment = ((linear.reach((a, b), confidence) - halves) * 5 / 4) ** 4 * float(1 - confidence)
        assert moment == pytest.approx(found, rel=1e-4)


def _fourth(at: float, a: float, b: float) -> float:
    """The mean of (at + a U + b V)^4, for U and V uniform on [-1/2, 1/2]."""
    second = (a * a + b * b) / 12
    fourth = (a**4 + b**4) / 80 + 6 * a * a * b * b / 144
    return at**4 + 6 * at * at * second + fourth


@pytest.mark.parametrize("mechanism", [*SMALL, Staircase.best((100, 1), 10**8), Laplace.best((1, 30), 10**9)])
def test_it_is_a_norm_that_grows_with_each_weight(mechanism: Staircase | Laplace):
    linear = Linear(mechanism, (0, 1))

    def reach(a: float, b: float) -> float:
        return linear.reach((a, b), CONFIDENCE)

    for (a, b), (c, d) in product(WEIGHTS, repeat=2):
        assert reach(a + c, b + d) <= (reach(a, b) + reach(c, d)) * (1 + 1e-9)
        assert reach(3 * a, -3 * b) == pytest.approx(3 * reach(a, b))
        assert reach(a, b) <= reach(abs(a) + abs(c), abs(b) + abs(d)) * (1 + 1e-9)


def test_it_is_nearer_than_half_widths_that_hold_together():
    for mechanism in (Staircase.best((1, 1), 10**8), Staircase.best((1000, 1, 7), 10**8)):
        halves = mechanism.half_width(1 - Fraction(1, 20) / len(mechanism.widths))
        alike = [1 / w for w in mechanism.widths]
        apart = sum(h * w for h, w in zip(halves, alike, strict=True))
        components = tuple(range(len(alike)))
        assert Linear(mechanism, components).reach(alike, CONFIDENCE) < 0.8 * apart


def test_without_noise_it_is_zero():
    assert Linear(Staircase((0, 1), 10**9, (0, 0)), (0,)).reach((5.0,), CONFIDENCE) == 0
    assert Linear(Laplace((0, 1), 10**9), (0,)).reach((5.0,), CONFIDENCE) == 0


def test_of_what_there_is_no_joint_law_there_is_none():
    staircase = Staircase.best((1, 1), 10**8)
    assert Linear.of([Draw(staircase, 0), Draw(staircase, 1)], CONFIDENCE) == Linear(staircase, (0, 1))
    others = ([], [Draw(staircase, 0), Draw(Laplace((1,), 10**8), 0)], [Draw(staircase, 0, 2)])
    for draws in others:
        assert Linear.of(draws, CONFIDENCE) is None
    assert Linear.of([Draw(Gaussian.best((1,), 10**9), 0)], CONFIDENCE) is None


@pytest.mark.parametrize("missed_at_most", [0.2, 1e-2, 1e-4, 1e-9])
def test_farther_out_a_larger_moment_is_taken(missed_at_most: float):
    power = Linear.power(1 - Fraction(missed_at_most))
    assert power in (4, 6, 8)
    assert power == min(8, max(4, 2 * round(-math.log(missed_at_most) / 2)))
