"""What leaves release."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dpproxy.anonymize import leaves
from dpproxy.anonymize.boxes import lines
from dpproxy.anonymize.model import Attribute, LatticeDomain, Table, silent
from dpproxy.anonymize.tree import TreeBudget, TreeLevel, grown
from tests.anonymize.worlds import worlds
from udfs.privacy import NANO


@given(worlds(least=1, most=30), st.data())
def test_one_row_more_moves_one_leaf_inside_its_box_of_widths(
    world: tuple[Table, tuple[Attribute, ...]], data: st.DataObject
) -> None:
    """Without noise (a huge epsilon), over the same boxes: sums move by 1 half side at most, one count by 1."""
    rows, attributes = world
    ours = lines(attributes, scaled=True)
    positions = np.stack([line.positions(rows[:, j]) for j, line in enumerate(ours)])
    levels, order = grown(positions, ours, TreeBudget.of(10**6 * NANO, 24), None, os.urandom, silent)
    gone = data.draw(st.integers(0, len(rows) - 1))
    place = int(np.flatnonzero(order == gone)[0])
    moved = []
    for level in levels:
        full = leaves.released(level, positions, ours, order, os.urandom)
        less = leaves.released(_without(level, place), positions, ours, np.delete(order, place), os.urandom)
        assert np.abs(full.sums - less.sums).max(initial=0) <= 1
        moved.append(np.abs(full.counts - less.counts))
    assert np.concatenate(moved).sum() == 1


def _without(level: TreeLevel, place: int) -> TreeLevel:
    begins, ends = level.begins, level.ends
    return replace(level, begins=begins - (begins > place), ends=ends - (ends > place))


@pytest.mark.statistical
def test_the_noise_has_the_spread_that_is_told() -> None:
    """4,000 draws for an empty leaf: the variance is within 15 % but for less than one time in 10,000."""
    ours = lines((Attribute("a", LatticeDomain(0, 100)),), scaled=True)
    empty = np.zeros((1, 0), dtype=np.int64)
    counts, sums = [], []
    while len(counts) < 4000:
        levels, order = grown(empty, ours, TreeBudget(NANO, 0, 0), None, os.urandom, silent)
        found = leaves.released(levels[0], empty, ours, order, os.urandom)
        counts += found.counts.tolist()
        sums += found.sums[:, 0].tolist()
    assert abs(np.var(counts) / found.variances[0] - 1) < 0.15
    assert abs(np.var(sums) / found.spreads[0] - 1) < 0.15
