"""The choice of the radii."""

import itertools
import math

import pytest

from udfs.mechanisms import Staircase
from udfs.mechanisms.radii import best_radii, cost, moments
from udfs.privacy import NANO


def test_moments_of_a_geometric_variable():
    q = math.exp(-0.5)
    mean = q / (1 - q)
    first, second = moments([], q)
    assert first == pytest.approx(mean)
    assert second == pytest.approx(mean * (1 + 2 * mean))


@pytest.mark.parametrize(("widths", "radii"), [((1,), (0,)), ((4, 9), (3, 3)), ((1, 1, 7), (0, 1, 2))])
def test_cost_is_the_exact_one(widths: tuple[int, ...], radii: tuple[int, ...]):
    exact = Staircase(widths, NANO, radii).variance()
    wanted = sum(float(v) / d**2 for v, d in zip(exact, widths, strict=True))
    assert cost(widths, radii, Staircase(widths, NANO, radii).ratio / 2**64) == pytest.approx(wanted)


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
@pytest.mark.parametrize("widths", [(1,), (6,), (1, 8), (2, 3), (5, 5)])
def test_no_radii_are_better(widths: tuple[int, ...], epsilon: float):
    q = math.exp(-epsilon)
    found = cost(widths, best_radii(widths, q), q)
    least = min(cost(widths, r, q) for r in itertools.product(*(range(d + 1) for d in widths)))
    assert found <= least * 1.005


def test_widths_of_zero_are_left_out():
    assert best_radii((0, 5, 0), 0.5) == (0, *best_radii((5,), 0.5), 0)
    assert best_radii((0, 0), 0.5) == (0, 0)


def test_with_many_components_the_radii_hardly_matter():
    widths, q = (10**6,) * 40, math.exp(-2)
    costs = [cost(widths, (radius,) * 40, q) for radius in range(0, 10**6 + 1, 10**5)]
    assert cost(widths, best_radii(widths, q), q) <= min(costs) * 1.0001
