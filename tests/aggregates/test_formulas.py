"""Interval rules: every result of values inside the operands lies inside, and the ends are reached."""

import itertools
import math
from collections.abc import Callable

import pytest

from dpproxy.aggregates import formulas as f
from dpproxy.analysis import duck
from tests.aggregates.conftest import evaluate

ENDS = [(-3.0, -1.0), (-2.0, 5.0), (0.0, 4.0), (1.0, 7.0), (2.0, 2.0), (-1.0, 0.0)]
ABOVE = [(0.5, 3.0), (2.0, 2.0)]


def interval(ends: tuple[float, float]) -> f.Interval:
    return duck.double(ends[0]), duck.double(ends[1])


def between(ends: tuple[float, float]) -> list[float]:
    low, high = ends
    return [low + (high - low) * i / 8 for i in range(9)] + ([0.0] if low <= 0 <= high else [])


@pytest.mark.parametrize(
    ("rule", "plain", "right"),
    [
        (f.difference, lambda a, b: a - b, ENDS),
        (f.product, lambda a, b: a * b, ENDS),
        (f.quotient, lambda a, b: a / b, ABOVE),
        (f.multiple, lambda a, b: a * b, ABOVE),
    ],
)
def test_two_intervals(
    rule: Callable[[f.Interval, f.Interval], f.Interval],
    plain: Callable[[float, float], float],
    right: list[tuple[float, float]],
):
    pairs = list(itertools.product(ENDS, right))
    ends = evaluate([end for a, b in pairs for end in rule(interval(a), interval(b))], {"x": 0})
    for (a, b), low, high in zip(pairs, ends[::2], ends[1::2], strict=True):
        found = [plain(x, y) for x in between(a) for y in between(b)]
        assert (low, high) == pytest.approx((min(found), max(found)))


@pytest.mark.parametrize("a", ENDS)
def test_squares(a: tuple[float, float]):
    found = [x * x for x in between(a)]
    assert evaluate(f.squares(interval(a)), {"x": 0}) == pytest.approx((min(found), max(found)))


def test_roots_and_clipping():
    assert evaluate(f.roots(interval((4.0, 9.0))), {"x": 0}) == (2.0, 3.0)
    assert evaluate(f.clipped(interval((-4.0, 9.0)), -1.0, 2.0), {"x": 0}) == (-1.0, 2.0)


def test_values():
    x, y = duck.column("x"), duck.column("y")
    found = evaluate(
        [f.plus(x, y), f.minus(x, y), f.times(x, y, y), f.over(x, y), f.scaled(x, 3.0), f.least(x, y), f.greatest(x, y),
         f.inside(x, 1.0, 2.0), f.positive(f.minus(x, x)), f.square(y), f.root(y), f.size(x)],
        {"x": -6.0, "y": 4.0},
    )  # fmt: skip
    assert found == (-2.0, -10.0, -96.0, -1.5, -18.0, -6.0, 4.0, 1.0, f.TINIEST, 16.0, 2.0, 6.0)
    assert f.scaled(x, 1.0) is x
    assert math.isfinite(1 / f.TINIEST)
