"""Numbers that agree along a tree."""

import os

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import leaves, smoothing
from dpproxy.anonymize.boxes import lines
from dpproxy.anonymize.model import Attribute, Table, silent
from dpproxy.anonymize.tree import TreeBudget, TreeLevel, grown
from tests.anonymize.worlds import worlds
from udfs.privacy import NANO

World = tuple[Table, tuple[Attribute, ...]]


def tree(world: World, nano: int) -> tuple[list[TreeLevel], list[leaves.Leaves], list[int]]:
    rows, attributes = world
    ours = lines(attributes, scaled=True)
    positions = np.stack([line.positions(rows[:, j]) for j, line in enumerate(ours)])
    levels, order = grown(positions, ours, TreeBudget.of(nano, 24), None, os.urandom, silent)
    return (
        levels,
        [leaves.released(v, positions, ours, order, os.urandom) for v in levels],
        leaves.ordered(ours),
    )


@given(worlds(least=0, most=40), st.sampled_from([NANO // 10, NANO, 20 * NANO]))
def test_parts_add_up_to_their_box_and_middles_are_inside(world: World, nano: int) -> None:
    levels, found, columns = tree(world, nano)
    counts = smoothing.agreeing(levels, found, 1.0)
    for depth, level in enumerate(levels[:-1]):
        below = np.bincount(levels[depth + 1].parent, weights=counts[depth + 1], minlength=level.cut.size)
        assert np.allclose(below[level.cut], counts[depth][level.cut])
    assert all((each >= 0).all() for each in counts)
    for level, middle in zip(levels, smoothing.middles(levels, found, counts, columns), strict=True):
        assert (level.firsts[:, columns] <= middle).all()
        assert (middle <= level.lasts[:, columns]).all()


@given(worlds(least=1, most=40))
def test_without_noise_there_are_as_many_rows_as_there_were(world: World) -> None:
    levels, found, _ = tree(world, 10**6 * NANO)
    counts = smoothing.agreeing(levels, found, 1e-6)
    assert (
        abs(sum(each[mine.boxes].sum() for each, mine in zip(counts, found, strict=True)) - len(world[0]))
        < 1e-6
    )


def test_a_middle_that_is_all_noise_is_that_of_the_box_above() -> None:
    found = smoothing._weighed(
        np.array([[5.0]]), np.array([[5000.0]]), np.array([[1e12]]), np.array([[100.0]]), np.array([[500.0]])
    )
    assert abs(found[0, 0] - 100) < 1
    exact = smoothing._weighed(
        np.array([[5.0]]), np.array([[3000.0]]), np.array([[0.0]]), np.array([[100.0]]), np.array([[500.0]])
    )
    assert exact[0, 0] == 600
