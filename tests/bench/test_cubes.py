"""The comparison of strategies of cubes: what it compares is what is released, and ours is near the best."""

import numpy as np
import pytest

from dpproxy.anonymize.strategies import Axis, Lattice
from tests.bench import cubes
from tests.bench.results import read


def test_both_ways_of_an_error_agree():
    """Single cells by their Gram matrix, and in components."""
    axis = Axis(13, ordered=True)
    share = np.zeros(Lattice((axis,)).shape)
    share[-1] = 1.0
    assert cubes.of(Lattice((axis,)), share) ** 2 == pytest.approx(np.trace(cubes.gram(axis)))
    assert cubes.p_identity(cubes.gram(axis), 1) <= np.trace(cubes.gram(axis))


def test_a_dashboard_s_own_marginals_are_no_worse_than_others():
    axes = cubes.CUBES["24 months x 4 wards x 5 reasons"]
    first, *_ = cubes.dashboard(axes)
    assert [one.sum() for one in first] == [24, 4, 5]
    own = cubes.Asked(axes, cubes.dashboard(axes))
    assert cubes.best_marginals(own) <= cubes.of(own, np.ones(own.shape))


def test_errors_are_at_most_a_third_above_the_best():
    """As they were measured last."""
    stored = read("cubes")
    ours = stored.rows[0].index("ours")
    assert len(stored.rows) == 6
    assert all(float(row[ours]) <= 1.3 for row in stored.rows[1:])
