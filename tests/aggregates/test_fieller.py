"""What noise does not rule out of a ratio ends where it is said to, on both sides, whatever was moved beside it."""

import random

import numpy as np
import pytest

from dpproxy.aggregates.fieller import Norm, Within, combined, farthest
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from tests.aggregates.conftest import evaluate
from udfs.mechanisms.linear import Linear

NAMES = ("n", "x", "y")
Weights = dict[str, float]


def form(weights: Weights) -> dict[str, nodes.Expr]:
    return {name: duck.double(weight) for name, weight in weights.items()}


def drawn(source: random.Random, size: float) -> Weights:
    return {name: source.uniform(-size, size) for name in NAMES}


@pytest.mark.parametrize("seed", range(40))
def test_every_ratio_that_noise_allows_is_nearer_and_one_just_there_is_allowed(seed: int):
    source = random.Random(seed)
    linear = Linear((0.5, 2.0, 1.0), (0.0, 0.5, 0.25))
    a, d, w = drawn(source, 5), drawn(source, 1), drawn(source, 1)
    size, g, more, slack = (
        source.choice([0.0, 0.7]),
        source.uniform(3, 8),
        source.uniform(0, 1),
        source.uniform(0, 0.2),
    )
    norm = Norm(linear, NAMES)
    within, unknown = Within(*map(duck.double, (g, more, slack))), duck.double(1e9)
    moved = [(form(w), duck.double(size))]
    ends = [farthest(norm, form(a), form(d), moved, within, sign, unknown) for sign in (1, -1, 0)]
    above, below, both = evaluate(ends, {"m0": 1})

    def beyond(t: float, moved: float) -> float:
        """How far the ratio is off beyond what noise allows."""
        weights = [a[name] + t * d[name] + moved * w[name] for name in NAMES]
        return abs(t) * (g - slack) - more - linear.reach(weights)

    for end, sign in ((above, 1), (below, -1)):
        if end == 1e9:
            assert g - slack <= linear.reach([*d.values()])
            continue
        for t in np.linspace(end * 1.000001, 20 * end, 50):
            assert all(beyond(sign * t, moved) > 0 for moved in (-size, 0.0, size))
        halves = sum(h * (abs(a[n]) + end * abs(d[n])) for n, h in zip(NAMES, linear.halves, strict=True))
        assert size or beyond(sign * end * 0.99, 0.0) <= halves
        assert end <= both * 1.000001


def test_weights_add_up_and_have_their_norm():
    norm = Norm(Linear((2.0, 1.0, 0.0), (0.5, 0.0, 0.0)), NAMES)
    made = combined(
        (form({"n": 1.0, "x": 2.0}), duck.double(3.0)), (form({"x": -1.0, "y": 5.0}), duck.double(1.0))
    )
    assert set(made) == set(NAMES)
    found = evaluate([norm.of(made), norm.product(made, form({"x": 1.0})), norm.half(made)], {"m0": 1})
    assert found == pytest.approx([(36 + 25) ** 0.5 + 1.5, 5.0, 1.5])
