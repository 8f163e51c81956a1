"""Insensitive clusters: brute force over small tables."""

from collections.abc import Callable
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import insensitive
from dpproxy.anonymize.model import Attribute, Categories, LatticeDomain, Table
from dpproxy.anonymize.turns import in_turn
from tests.anonymize.worlds import TREE, worlds

LINE = (Attribute("a", LatticeDomain(0, 10)),)


def clusters(rows: Table, attributes: tuple[Attribute, ...], references: Table, k: int) -> list[list[tuple]]:
    """The clusters as multisets of records."""
    arranged = insensitive.arranged(rows, attributes, references, k)
    assert sorted(arranged.tolist()) == list(range(len(rows)))
    parts = np.split(rows[arranged], np.cumsum(insensitive.sizes(len(rows), k))[:-1])
    return [sorted(map(tuple, part.tolist())) for part in parts]


def differing(one: list[tuple], other: list[tuple]) -> int:
    left = list(other)
    for record in one:
        if record in left:
            left.remove(record)
    return len(left)


@given(
    worlds(least=4, most=12),
    st.integers(2, 4),
    st.sampled_from([insensitive.point, insensitive.corners]),
    st.data(),
)
def test_a_replaced_record_changes_each_cluster_in_one_record_at_most(
    world: tuple[Table, tuple[Attribute, ...]],
    k: int,
    chosen: Callable[[tuple[Attribute, ...]], Table],
    data: st.DataObject,
) -> None:
    rows, attributes = world
    references = chosen(attributes)
    other = rows.copy()
    for column, attribute in enumerate(attributes):
        match attribute.domain:
            case LatticeDomain(low=low, high=high):
                other[0, column] = data.draw(st.integers(low, high))
            case Categories(size=size):
                other[0, column] = data.draw(st.integers(0, size - 1))
            case _:
                other[0, column] = data.draw(st.integers(0, len(TREE.parents) - 1))
    before = clusters(rows, attributes, references, k)
    after = clusters(np.roll(other, 1, axis=0), attributes, references, k)
    assert [len(part) for part in before] == [len(part) for part in after]
    assert all(differing(one, two) <= 1 for one, two in zip(before, after, strict=True))
    assert len(before[-1]) == k + len(rows) % k


def test_every_neighbour_of_every_small_table() -> None:
    """All tables of 5 values of 0..3, k = 2: the last cluster has 3 records."""
    attributes = (Attribute("a", LatticeDomain(0, 3)),)
    references = insensitive.corners(attributes)
    for rows in product(range(4), repeat=5):
        before = clusters(np.array(rows)[:, None], attributes, references, 2)
        for value in range(4):
            after = clusters(np.array([value, *rows[1:]])[:, None], attributes, references, 2)
            assert all(differing(one, two) <= 1 for one, two in zip(before, after, strict=True))


def test_one_record_can_move_every_cluster() -> None:
    """Why the thesis' noise of width / k for a whole table is too little: n = 6, k = 2 moves three centroids."""
    k, width = 2, 10
    cube = tuple(Attribute(name, LatticeDomain(0, width)) for name in "abc")
    # At growing distances from (0, 0, 0), the first at the one end of a and then at the other.
    others = [[0, 0, 1], [10, 0, 0], [10, 0, 1], [0, 10, 10], [10, 5, 10]]
    middles = []
    for first in ([0, 0, 0], [10, 10, 10]):
        rows = np.array([first, *others])
        arranged = rows[insensitive.arranged(rows, cube, insensitive.point(cube), k)]
        middles.append(arranged[:, 0].reshape(-1, k).mean(axis=1))
    moved = np.abs(middles[0] - middles[1])
    assert moved.tolist() == [width / k] * 3
    # Laplace noise of scale (width / k) / epsilon on each then loses three epsilon, not one.
    assert moved.sum() / (width / k) == 6 / k


def test_corners_each_followed_by_the_farthest_unused() -> None:
    found = insensitive.corners((*LINE, Attribute("b", LatticeDomain(0, 1)), Attribute("c", Categories(3))))
    assert found.tolist()[:4] == [[0, 0, 0], [10, 1, 2], [0, 0, 2], [10, 1, 0]]
    assert len({tuple(corner) for corner in found.tolist()}) == 8


def test_corners_of_a_taxonomy_are_its_boundaries() -> None:
    found = insensitive.corners((Attribute("a", TREE),))
    assert len(found) == 2
    assert found[0] != found[1]


def test_there_are_so_many_corners_at_most() -> None:
    assert len(insensitive.corners(LINE * 12)) == insensitive.MOST_CORNERS


@given(st.integers(1, 5), st.integers(2, 30), st.integers(2, 5), st.randoms(use_true_random=False))
def test_the_loop_is_the_same_as_taking_from_lists(count: int, rows: int, k: int, random: Random) -> None:
    k = min(k, rows)
    orders = [random.sample(range(rows), rows) for _ in range(count)]
    left, taken = set(range(rows)), []
    for cluster in range(rows // k):
        mine = [row for row in orders[cluster % count] if row in left]
        mine = mine if cluster == rows // k - 1 else mine[:k]
        taken += mine
        left -= set(mine)
    assert in_turn(np.array(orders), k).tolist() == taken


@pytest.mark.parametrize("high", [2**20, 2**45, 2**60])
def test_wide_domains_do_not_overflow(high: int) -> None:
    attributes = (Attribute("a", LatticeDomain(-high, high)),)
    rows = np.array([[-high], [0], [high]])
    found = insensitive.squared_distances(rows, attributes, np.array([-high]))
    assert found[0] == 0
    assert 0 < found[1] < found[2] <= 1 << 40
