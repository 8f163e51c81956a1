"""The published figures of the staircase, and that the lattice comes to the same."""

import math

import pytest

from examples.thesis import continuous as reference
from udfs.mechanisms import Staircase
from udfs.privacy import NANO

FINE = 10**6
"""A lattice so fine that it looks continuous."""


@pytest.mark.parametrize(
    ("epsilon", "laplace", "least"), [(0.1, 200, 199.917), (0.5, 8, 7.917), (1, 2, 1.9181)]
)
def test_least_variance_of_one_answer(epsilon: float, laplace: float, least: float):
    assert reference.laplace_variance([1], epsilon) == pytest.approx(laplace)
    assert reference.variance(reference.best_gamma(epsilon), epsilon) == pytest.approx(least, abs=5e-4)
    lattice = Staircase.best((FINE,), int(epsilon * NANO)).variance()[0]
    assert float(lattice) / FINE**2 == pytest.approx(least, abs=5e-4)


def test_where_the_least_variance_is():
    assert reference.best_gamma(1) == pytest.approx(0.416737, abs=1e-4)


def test_the_density_has_mass_one():
    d, width, epsilon = 0.3, 2.0, 0.7
    top = reference.peak(d, width, epsilon)
    assert 2 * top * (d + width * math.exp(-epsilon) / (1 - math.exp(-epsilon))) == pytest.approx(1)


@pytest.mark.parametrize(
    ("epsilon", "laplace", "shortest"), [(0.1, 59.91, 59.9105), (0.5, 11.98, 11.9784), (1, 5.99, 5.9865)]
)
def test_shortest_interval(epsilon: float, laplace: float, shortest: float):
    assert 2 * reference.laplace_region(0.95, [1], epsilon) == pytest.approx(laplace, abs=5e-3)
    assert reference.shortest_interval(0.95, epsilon)[1] == pytest.approx(shortest, abs=1e-4)


def test_where_the_shortest_interval_is():
    gamma, length = reference.shortest_interval(0.95, 1)
    assert gamma == pytest.approx(0.9933, abs=3e-4)
    lattice = Staircase((FINE,), NANO, (int(gamma * FINE),)).half_width(0.95)[0]
    assert 2 * lattice / FINE == pytest.approx(length, abs=1e-4)


@pytest.mark.parametrize(("epsilon", "gain"), [(1, 0.04), (2, 0.14)])
def test_a_count_does_better_than_the_continuum(epsilon: float, gain: float):
    count = float(Staircase.best((1,), epsilon * NANO).variance()[0])
    continuum = reference.variance(reference.best_gamma(epsilon), epsilon)
    assert 1 - count / continuum == pytest.approx(gain, abs=5e-3)


def test_two_answers_together():
    """Sensitivities (1, 10), epsilon 1, innermost box a tenth of them."""
    assert reference.variance(0.1, 1, 2) == pytest.approx(4.0338, abs=5e-5)
    assert reference.laplace_variance([1, 10], 1) == pytest.approx(242)
    lattice = Staircase((FINE, 10 * FINE), NANO, (FINE // 10, FINE)).variance()
    assert float(lattice[0]) / FINE**2 == pytest.approx(4.0338, abs=1e-4)
    assert float(lattice[1]) / FINE**2 == pytest.approx(403.38, abs=1e-2)


@pytest.mark.parametrize(
    ("confidence", "beta", "area", "alpha"),
    [(0.99, 6.6885, 1789.5, 73.022), (0.95, 4.7877, 916.9, 52.183), (0.90, 3.9084, 611.0, 42.787)],
)
def test_regions_of_two_answers(confidence: float, beta: float, area: float, alpha: float):
    found = reference.region(confidence, 0.1, 1, 2)
    assert found == pytest.approx(beta, abs=1e-4)
    assert 2 * found * 2 * 10 * found == pytest.approx(area, abs=0.1)
    assert reference.laplace_region(confidence, [1, 10], 1) == pytest.approx(alpha, abs=1e-3)


BEST = [
    (1, 0.4167, 1.918),
    (2, 0.6975, 3.971),
    (3, 0.9199, 6.658),
    (4, 0.1177, 9.998),
    (5, 0.3433, 14.000),
    (6, 0.5727, 18.667),
    (8, 0.0231, 30.000),
    (10, 0.4723, 44.000),
]


@pytest.mark.parametrize(("components", "gamma", "least"), BEST)
def test_best_gamma_of_several_answers(components: int, gamma: float, least: float):
    assert reference.best_gamma(1, components) == pytest.approx(gamma, abs=2e-4)
    assert reference.variance(gamma, 1, components) == pytest.approx(least, abs=6e-4)
    lattice = Staircase.best((FINE,) * components, NANO)
    assert float(lattice.variance()[0]) / FINE**2 == pytest.approx(least, abs=6e-4)


@pytest.mark.parametrize(("components", "gain"), [(2, 2.0), (4, 3.2), (10, 4.5)])
def test_gain_over_laplace(components: int, gain: float):
    joint = reference.variance(reference.best_gamma(1, components), 1, components)
    assert reference.laplace_variance([1] * components, 1) / joint == pytest.approx(gain, abs=0.05)
