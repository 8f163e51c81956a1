"""Moments of real tables, and the two ways noise reaches them: intervals and first-order deviations."""

import random
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.joint import COUNT, XX, XY, YY, X, Y
from dpproxy.aggregates.moments import Moments
from dpproxy.aggregates.side import Side
from dpproxy.aggregates.sum import Sum
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from tests.aggregates.conftest import Calls, evaluate, evaluated

NAMES = (COUNT, X, Y, XX, YY, XY)
COLUMNS = {name: duck.column(name) for name in NAMES}
HALVES = {COUNT: 3, X: 20, Y: 5, XX: 300, YY: 9, XY: 70}


@pytest.fixture
def sides(calls: Calls) -> dict[str, Side]:
    """Age has steps from -50 to 50, small from -3 to 4."""
    found = calls("sum(age), sum(small)")
    assert isinstance(found[0], Sum)
    assert isinstance(found[1], Sum)
    return {X: Side(found[0].argument), Y: Side(found[1].argument)}


def sums(sides: dict[str, Side], points: Sequence[tuple[int, int]]) -> dict[str, float]:
    middle = {name: side.middle for name, side in sides.items()}
    return {
        COUNT: len(points), X: sum(x for x, _ in points), Y: sum(y for _, y in points),
        XX: sum(x * x - middle[X] for x, _ in points), YY: sum(y * y - middle[Y] for _, y in points),
        XY: sum(x * y for x, y in points),
    }  # fmt: skip


def drawn(count: int, seed: int) -> list[tuple[int, int]]:
    source = random.Random(seed)
    return [(source.randint(-50, 50), source.randint(-3, 4)) for _ in range(count)]


def all_values(moments: Moments) -> list[nodes.Expr]:
    return [moments.mean(X), moments.mean(Y), moments.variance(X), moments.variance(Y), moments.covariance(),
            moments.correction]  # fmt: skip


def all_intervals(moments: Moments) -> list[f.Interval]:
    return [moments.means(X), moments.means(Y), moments.variances(X), moments.variances(Y), moments.covariances(),
            moments.corrections]  # fmt: skip


@pytest.mark.parametrize("count", [2, 5, 100])
def test_values_are_those_of_the_points(sides: dict[str, Side], count: int):
    points = drawn(count, count)
    found = evaluate(all_values(Moments(COLUMNS, sides, {})), sums(sides, points))
    xs, ys = np.array(points).T
    covariance = ((xs - xs.mean()) * (ys - ys.mean())).mean()
    assert found == pytest.approx((xs.mean(), ys.mean(), xs.var(), ys.var(), covariance, count / (count - 1)))


def test_over_nobody(sides: dict[str, Side]):
    found = evaluate(all_values(Moments(COLUMNS, sides, {})), sums(sides, []))
    assert found == (0.0, 0.0, 1250.0, 8.0, 0.0, 2.0)


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_intervals_hold_whatever_the_noise_hides(sides: dict[str, Side], count: int):
    exact = sums(sides, drawn(count, count + 7))
    plain, wide = Moments(COLUMNS, sides, {}), Moments(COLUMNS, sides, HALVES)
    truth = evaluate(all_values(plain), exact)
    ends = [end for pair in all_intervals(wide) for end in pair]
    signs = [*product((-1, 1), repeat=len(NAMES)), (0,) * len(NAMES)]
    released = [{n: exact[n] + s * HALVES[n] for n, s in zip(NAMES, one, strict=True)} for one in signs]
    for found in evaluated(ends, released):
        for value, low, high in zip(truth, found[::2], found[1::2], strict=True):
            assert low - 1e-9 <= value <= high + 1e-9


def test_without_noise_an_interval_is_a_point(sides: dict[str, Side]):
    exact = sums(sides, drawn(50, 1))
    none = Moments(COLUMNS, sides, dict.fromkeys(NAMES, 0))
    found = evaluate([end for pair in all_intervals(none) for end in pair], exact)
    assert found[::2] == pytest.approx(found[1::2])
    assert found[::2] == pytest.approx(evaluate(all_values(none), exact))


def test_deviation_is_the_derivative_by_every_sum(sides: dict[str, Side]):
    """Noise in one sum alone moves a moment by its derivative, which a small difference measures."""
    exact = sums(sides, drawn(60, 3))
    moments = Moments(COLUMNS, sides, {})
    one = duck.double(1.0)
    for weight, value in (
        (X, moments.mean(X)), (Y, moments.mean(Y)), (XX, moments.variance(X)), (YY, moments.variance(Y)),
        (XY, moments.covariance()),
    ):  # fmt: skip
        none = dict.fromkeys(NAMES, 0.0)
        stated = evaluate([moments.deviation({weight: one}, none | {name: 1.0}) for name in NAMES], exact)
        assert stated == pytest.approx([abs(d) for d in differences(value, exact)], rel=1e-4, abs=1e-9)


def differences(value: nodes.Expr, at: dict[str, float]) -> list[float]:
    """By how much the value changes with each sum."""
    step = 1e-3
    rows = [{n: float(v) + d * (n == name) for n, v in at.items()} for name in NAMES for d in (step, -step)]
    ends = [end for (end,) in evaluated([value], rows)]
    return [(up - down) / (2 * step) for up, down in zip(ends[::2], ends[1::2], strict=True)]
