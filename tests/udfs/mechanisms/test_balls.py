"""Balls and rings against a search by hand, for every truth on and off the values of small priors."""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from udfs import priors
from udfs.mechanisms.balls import Space
from udfs.priors import WHOLE, Prior

POINTS = [(0,), (3, 4), (0, 1, 2, 3, 4), (-7, -1, 0, 1, 8), (0, 4, 10), (-5, -4, 2, 3, 3.5, 9)]
MASSES = [(1, 1, 1, 1, 1, 1), (1, 2, 3, 1, 5, 2), (0, 1, 0, 2, 1, 0), (5, 0, 0, 0, 0, 1), (1, 50, 1, 1, 1, 1)]
TRUTHS = [Fraction(quarter, 4) for quarter in range(-60, 61)]


def small(kind: str) -> list[Prior]:
    """Every combination of points and masses above, as priors of one distance."""
    found = []
    for values, masses in itertools.product(POINTS, MASSES):
        part = masses[: len(values)]
        if not sum(part):
            continue
        match kind:
            case "absolute":
                found.append(priors.table(values, part))
            case "rank":
                found.append(priors.ordinal(values, part))
            case "discrete":
                found.append(priors.nominal(values, part))
            case _:
                rows = [[(x * y + 3 * x) % 4 for y in range(len(values))] for x in range(len(values))]
                found.append(priors.custom(values, part, rows))
    return found


def masses(prior: Prior) -> list[int]:
    """Masses that cut between values and exactly at them."""
    sums = {1, WHOLE, WHOLE // 3}
    for count in range(1, len(prior.values) + 1):
        sums |= {sum(part) for part in itertools.combinations(prior.weights, count)}
    return sorted(mass for mass in sums if 1 <= mass <= WHOLE)


def distances(prior: Prior, truth: Fraction) -> list[Fraction]:
    """The distance of each value from a truth, by its definition."""
    if prior.distance == "absolute":
        return [abs(Fraction(value) - truth) for value in prior.values]
    index = prior.values.index(float(truth))
    if prior.distance == "rank":
        return [Fraction(abs(other - index)) for other in range(len(prior.values))]
    if prior.distance == "discrete":
        return [Fraction(other != index) for other in range(len(prior.values))]
    return [Fraction(entry) for entry in prior.distance[index]]


def by_hand(prior: Prior, truth: Fraction, mass: int) -> tuple[set[int], set[int]]:
    """The values with weight in the ball and in its ring, ring by ring."""
    found = distances(prior, truth)
    ball: set[int] = set()
    for radius in sorted(set(found)):
        ring = {index for index, distance in enumerate(found) if distance == radius and prior.weights[index]}
        if sum(prior.weights[index] for index in ball | ring) > mass:
            return ball, ring
        ball |= ring
    return ball, set()


def cases(prior: Prior) -> Iterator[tuple[Fraction, int]]:
    truths = TRUTHS if prior.distance == "absolute" else [Fraction(value) for value in prior.values]
    return itertools.product(truths, masses(prior))


@pytest.mark.parametrize("kind", ["absolute", "rank", "discrete", "custom"])
def test_balls_are_found_for_every_truth(kind: str):
    for prior in small(kind):
        space = Space(prior)
        balls = {mass: space.balls(mass) for mass in masses(prior)}
        for truth, mass in cases(prior):
            place = space.place([truth])
            a, b, c, d, row = balls[mass].bounds[balls[mass].find(place)[0]].tolist()
            order = space.orders[row].tolist()
            ball = {index for index in order[a:b] if prior.weights[index]}
            ring = {index for index in order[c:a] + order[b:d] if prior.weights[index]}
            expected_ball, expected_ring = by_hand(prior, truth, mass)
            if mass == WHOLE:
                assert ball | ring == expected_ball
                continue
            assert ball == expected_ball
            if sum(prior.weights[index] for index in ball) < mass:
                assert ring == expected_ring


@pytest.mark.parametrize("kind", ["absolute", "rank", "discrete", "custom"])
def test_distances_are_summed_over_ball_and_ring(kind: str):
    for prior in small(kind):
        space = Space(prior)
        for mass in masses(prior):
            totals, radii = space.distances(space.balls(mass))
            for index, value in enumerate(prior.values):
                found = distances(prior, Fraction(value))
                ball, ring = by_hand(prior, Fraction(value), mass)
                inside = sum(prior.weights[each] for each in ball)
                radius = found[next(iter(ring))] if ring else Fraction(0)
                total = sum(prior.weights[each] * found[each] for each in ball) + (mass - inside) * radius
                assert totals[index] == pytest.approx(float(total), rel=1e-12)
                if ring:
                    assert radii[index] == pytest.approx(float(radius))


ABSENT = [None, "x", math.nan, Decimal("NaN"), Decimal("sNaN")]


@pytest.mark.parametrize("kind", ["absolute", "rank", "discrete", "custom"])
def test_what_has_no_place_is_absent(kind: str):
    for prior in small(kind):
        space = Space(prior)
        balls = space.balls(WHOLE // 2 + 1)
        truths = ABSENT if kind == "absolute" else [*ABSENT, 77, -1e300, 10**400, math.inf]
        places = space.place(truths)
        assert np.isnan(places).all()
        assert (balls.bounds[balls.find(places)] == (0, 0, 0, len(prior.values), 0)).all()


def test_numbers_beyond_the_values_are_placed():
    space = Space(priors.table([0, 1, 5], [1, 1, 1]))
    far = space.place([10**400, -(10**400), math.inf, -math.inf, 1e300, Decimal("1e400")])
    assert space.nearest(far).tolist() == [2, 0, 2, 0, 2, 2]
    assert space.nearest(space.place([0.4, 0.6, 2.9, 3.1])).tolist() == [0, 1, 1, 2]


def test_a_float_beside_a_decimal_is_on_it():
    """0.1 + 0.2 lies a float's error beside 0.3; both of its neighbours are equally far."""
    space = Space(priors.table([0.1, 0.2, 0.3, 0.4, 0.5], [1] * 5))
    balls = space.balls(WHOLE // 2)
    assert balls.bounds[balls.find(space.place([0.1 + 0.2]))[0]].tolist() == [2, 3, 1, 4, 0]


def test_labels_are_found_by_equality():
    space = Space(priors.ordinal(["low", "mid", "high"], [1, 1, 1]))
    assert space.place(["high", "low"]).tolist() == [4.0, 0.0]
    assert Space(priors.nominal([1, 2], [1, 1])).place([Decimal(2), True]).tolist() == [1.0, 0.0]


def test_a_lattice_is_swept_quickly():
    """A few thousand values change balls a few times each."""
    space = Space(priors.normal(44, 6))
    balls = space.balls(WHOLE // 3)
    assert len(balls.bounds) < 6 * len(space.prior.values)
    assert (np.diff(balls.breaks) > 0).all()
