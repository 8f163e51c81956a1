"""The tree: every path spends epsilon once, and boxes cover the domain."""

import os

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize.boxes import lines
from dpproxy.anonymize.model import Attribute, LatticeDomain, Table, silent
from dpproxy.anonymize.tree import LEVELS, TreeBudget, grown
from tests.anonymize.worlds import worlds
from udfs.privacy import LEAST_NANO, NANO


@given(st.integers(10 * LEAST_NANO, 10**12), st.integers(0, 100))
def test_a_budget_is_never_more_than_there_is(nano: int, cuts: int) -> None:
    budget = TreeBudget.of(nano, cuts)
    assert budget.levels <= LEVELS
    assert 0 <= budget.levels * budget.each <= nano
    assert budget.levels == 0 or budget.each >= LEAST_NANO
    assert nano - budget.levels * budget.each >= nano * 3 // 5


@given(worlds(least=0, most=30), st.sampled_from([NANO // 50, NANO, 50 * NANO]), st.sampled_from([None, 2]))
def test_every_path_spends_all_and_every_row_is_in_its_box(
    world: tuple[Table, tuple[Attribute, ...]], nano: int, k: int | None
) -> None:
    rows, attributes = world
    ours = lines(attributes, scaled=True)
    positions = np.stack([line.positions(rows[:, j]) for j, line in enumerate(ours)])
    budget = TreeBudget.of(nano, 24)
    levels, order = grown(positions, ours, budget, k, os.urandom, silent)
    assert sorted(order.tolist()) == list(range(len(rows)))
    volume = 0.0
    seen: list[int] = []
    paid = np.zeros(1)
    for depth, level in enumerate(levels):
        counted = np.isfinite(level.counts)
        paid = paid[level.parent] + budget.each * counted
        for box in np.flatnonzero(~level.cut):
            leaf = level.left if counted[box] else level.before
            assert paid[box] + leaf == nano
            inside = positions[:, order[level.begins[box] : level.ends[box]]]
            assert (inside >= level.firsts[box][:, None]).all()
            assert (inside <= level.lasts[box][:, None]).all()
            seen += range(level.begins[box], level.ends[box])
            sides = level.lasts[box] - level.firsts[box] + 1
            volume += float(np.prod([side / (line.last + 1) for side, line in zip(sides, ours, strict=True)]))
        assert depth < budget.levels or not level.cut.any()
    assert sorted(seen) == list(range(len(rows)))
    assert abs(volume - 1) < 1e-9


def test_dense_boxes_are_cut_and_empty_ones_are_not() -> None:
    """At a large epsilon the noise is none."""
    ours = lines((Attribute("a", LatticeDomain(0, 10**6)),), scaled=True)
    positions = np.zeros((1, 1000), dtype=np.int64)
    levels, _ = grown(positions, ours, TreeBudget.of(10**4 * NANO, 24), None, os.urandom, silent)
    assert len(levels) > 3
    for level in levels[:-1]:
        assert level.cut.sum() == 1
        assert level.firsts[level.cut].tolist() == [[0]]
