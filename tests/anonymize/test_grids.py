"""Cells of a domain, exact counts and offsets in them, and what one row changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import boxes, grids
from dpproxy.anonymize.grids import REACH, Grid
from dpproxy.anonymize.model import Attribute, Categories, Domain, LatticeDomain
from tests.anonymize.worlds import TREE


def grid(domain: Domain, most: int = 5) -> Grid:
    return Grid.of(boxes.lines((Attribute("a", domain),), scaled=True)[0], most)


@given(st.integers(0, 300), st.integers(1, 40))
def test_cells_partition_the_positions(last: int, most: int) -> None:
    one = grid(LatticeDomain(0, last), most)
    firsts, lasts = one.firsts, one.lasts
    assert firsts[0] == 0
    assert lasts[-1] == last
    assert (firsts[1:] == lasts[:-1] + 1).all()
    positions = np.arange(last + 1)
    cells = one.places(positions)
    assert ((firsts[cells] <= positions) & (positions <= lasts[cells])).all()


def test_the_widest_domain_is_cut() -> None:
    one = grid(LatticeDomain(-(2**60), 2**60), grids.MOST_CELLS)
    positions = one.line.positions(np.array([-(2**60), 0, 2**60]))
    assert one.places(positions).tolist() == [0, 127, 255] or one.places(positions).tolist() == [0, 128, 255]
    assert np.abs(one.offsets(positions)).max() <= REACH


def test_neighbouring_cells_are_merged() -> None:
    one = grid(LatticeDomain(0, 99)).merged(np.array([0, 0, 1, 2, 2]))
    assert one.firsts.tolist() == [0, 40, 60]
    assert one.lasts.tolist() == [39, 59, 99]
    assert one.counts(np.array([39, 40, 99, 60])).tolist() == [1, 1, 2]


@pytest.mark.parametrize("domain", [Categories(7), TREE])
def test_without_an_order_each_value_is_a_cell(domain: Domain) -> None:
    one = grid(domain, 2)
    assert one.cells == 7
    assert not one.wide


@given(st.lists(st.integers(0, 99), max_size=30), st.integers(0, 99))
def test_one_row_more_moves_one_count_by_one_and_one_sum_by_the_reach(rows: list[int], more: int) -> None:
    one = grid(LatticeDomain(0, 99), 7)
    left, right = np.array(rows, dtype=np.int64), np.array([*rows, more], dtype=np.int64)
    assert np.abs(one.counts(right) - one.counts(left)).sum() == 1
    moved = np.abs(one.offsets(right) - one.offsets(left))
    assert np.count_nonzero(moved) <= 1
    assert moved.max() <= REACH


def test_bins_of_an_order_are_runs_of_about_equal_counts() -> None:
    assert grids.bins(np.array([1.0, 1, 1, 1, 4, 4]), 3, ordered=True).tolist() == [0, 0, 0, 0, 1, 2]
    assert grids.bins(np.zeros(9), 3, ordered=True).tolist() == [0] * 9


def test_bins_without_an_order_are_the_most_frequent_and_the_rest() -> None:
    assert grids.bins(np.array([1.0, 9, 2, 8]), 3, ordered=False).tolist() == [2, 0, 2, 1]
    assert grids.bins(np.array([1.0, 9]), 3, ordered=False).tolist() == [0, 1]


DEPTHS = np.array([0, 1, 2, 2, 1, 2, 2, 2, 1])
"""Of a root with three parts, of which the first has two, the second three."""


@pytest.mark.parametrize(
    ("most", "found"),
    [
        (1, "000000000"),
        (2, "011100000"),
        (3, "011100002"),
        (4, "011133332"),
        (5, "014133332"),
        (8, "014536732"),
        (9, "012345678"),
    ],
)
def test_concepts_are_told_apart_where_their_counts_are(most: int, found: str) -> None:
    counts = np.array([0.0, 0, 9, 5, 0, 1.2, 1.1, 1, 9])
    made = grids.bins(counts, most, ordered=False, depths=DEPTHS)
    assert "".join(map(str, made)) == found


def test_null_is_a_cell_by_itself() -> None:
    line = boxes.lines((Attribute("a", LatticeDomain(0, 99)),), scaled=True)[0]
    one = Grid.of(line, 10, null=True)
    assert (one.cells, one.last, one.lasts[-2:].tolist()) == (11, 100, [99, 100])
    assert one.counts(np.array([0, 99, 100, 100])).tolist() == [1, *(0,) * 8, 1, 2]
    assert np.abs(one.offsets(np.array([100, 100, 0]))).tolist() == [REACH, *(0,) * 10]
    runs = grids.beside_null(lambda counts: np.zeros(counts.size, dtype=np.int64), np.ones(5), null=True)
    assert runs.tolist() == [0, 0, 0, 0, 1]
    assert grids.wider(np.ones(7), one).max() == 2
    assert grids.wider(np.ones(7), one).tolist().count(2) == 1


def test_declared_widths_make_the_cells() -> None:
    line = boxes.lines((Attribute("a", LatticeDomain(0, 99)),), scaled=True)[0]
    assert Grid.of(line, 4, width=30).firsts.tolist() == [0, 30, 60, 90]


def test_a_table_is_folded_by_the_groups_of_its_sides() -> None:
    rows, columns = np.array([0, 0, 1]), np.array([0, 1, 1, 1])
    assert grids.folded(np.ones((3, 4)), [rows, columns]).tolist() == [[2, 6], [1, 3]]


def test_values_are_found_by_their_share_of_a_cell() -> None:
    one = grid(LatticeDomain(10, 29), 2)
    assert one.values(np.array([0, 0, 1, 1]), np.array([0.0, 0.55, 0.0, 1.0])).tolist() == [10, 15, 20, 29]
