"""The fit of noisy marginals, and rows that follow it."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import forest


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=9), st.integers(0, 100))
def test_counts_add_up_and_are_not_negative(noisy: list[int], total: int) -> None:
    found = forest.settled(np.array(noisy), float(total))
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, abs=1e-6)


def test_counts_that_agree_stay() -> None:
    assert forest.settled(np.array([3, 0, 7]), 10.0).tolist() == [3, 0, 7]


def test_neighbouring_cells_are_alike_unless_they_differ_by_more_than_noise() -> None:
    assert forest.pieces(np.array([9, 11, 10, 10, 500, 10, 9, 11]), 4.0, 600).tolist() == [
        0,
        0,
        0,
        0,
        1,
        2,
        3,
        3,
    ]
    assert forest.pieces(np.array([1, 5, 3]), 0.0, 9).tolist() == [0, 1, 2]
    assert forest.pieces(np.array([5, 5, 5, 5]), 4.0, 10).tolist() == [0, 0, 1, 1]


def test_estimates_are_weighted_by_how_exact_they_are() -> None:
    exact, loose = (np.array([4.0]), np.array([1.0])), (np.array([8.0]), np.array([3.0]))
    assert forest.combined([exact, loose]).tolist() == [5.0]


def test_the_strongest_pairs_make_a_forest() -> None:
    equal, near, independent = np.eye(2), np.array([[3.0, 1], [1, 3]]) / 4, np.ones((2, 2)) / 2
    joint = {(0, 1): independent, (0, 2): near, (1, 2): equal, (3, 4): independent}
    assert forest.spanning(joint) == [(1, 2), (0, 2), (3, 4)]


def test_rows_are_weighted_until_a_circle_of_pairs_fits() -> None:
    bins = {place: np.arange(800) >> place & 1 for place in range(3)}
    joint = {pair: np.array([[300.0, 100], [100, 300]]) for pair in ((0, 1), (1, 2), (0, 2))}
    cells = {(a, b): 2 * bins[a] + bins[b] for a, b in joint}
    found = forest.weighted([(cells[pair], table.ravel()) for pair, table in joint.items()], np.ones(800))
    for pair, table in joint.items():
        assert np.bincount(cells[pair], found) == pytest.approx(table.ravel(), rel=1e-6)


def test_rows_are_drawn_along_a_forest() -> None:
    margins = [np.array([30.0, 70]), np.array([70.0, 30]), np.array([50.0, 50])]
    found = forest.along([(0, 1)], margins, {(0, 1): np.array([[0.0, 30], [70, 0]])}, 1000, os.urandom)
    assert np.bincount(2 * found[0] + found[1], minlength=4) == pytest.approx([0, 300, 700, 0], abs=2)
    assert np.bincount(found[2]).tolist() == [500, 500]


def test_a_pair_has_the_marginals_of_its_attributes() -> None:
    left, right = np.array([30.0, 70]), np.array([60.0, 40])
    found = forest.agreeing(np.array([[33, -4], [30, 41]]), left, right, 4.0)
    assert found.sum(axis=1) == pytest.approx(left, rel=1e-3)
    assert found.sum(axis=0) == pytest.approx(right, rel=1e-3)
    assert found[0, 0] > 25


def test_noise_alone_is_independence() -> None:
    left, right = np.array([50.0, 50]), np.array([50.0, 50])
    found = forest.agreeing(np.array([[30, 20], [20, 30]]), left, right, 1000.0)
    assert found == pytest.approx(np.full((2, 2), 25.0))


def test_offsets_are_drawn_to_the_middle_where_noise_prevails() -> None:
    found = forest.tilts(np.array([90.0, -9.0, 9000.0]), np.array([100.0, 10.0, 0.0]), 100.0)
    assert found[0] == pytest.approx(0.9, abs=0.05)
    assert -0.9 < found[1] < 0
    assert found[2] == 1


@pytest.mark.parametrize("mean", [-1.0, -0.7, -0.2, 0.0, 0.3, 0.9])
def test_the_mean_of_a_cell_is_kept(mean: float) -> None:
    even = (np.arange(10_000) + 0.5) / 10_000
    found = forest.tilted(even, np.full(even.size, mean))
    assert ((found >= 0) & (found <= 1)).all()
    assert 2 * found.mean() - 1 == pytest.approx(mean, abs=1e-3)


def test_rows_are_drawn_as_often_as_the_table_says() -> None:
    groups = np.repeat([0, 1], [100, 50])
    found = forest.drawn(groups, np.array([[1.0, 0, 3], [0, 1, 0]]), os.urandom)
    assert np.bincount(found[:100], minlength=3).tolist() == [25, 0, 75]
    assert (found[100:] == 1).all()


def test_a_group_without_counts_draws_any() -> None:
    found = forest.drawn(np.zeros(30, dtype=np.int64), np.zeros((1, 3)), os.urandom)
    assert np.bincount(found).tolist() == [10, 10, 10]


def test_no_rows_are_drawn_from_none() -> None:
    assert forest.drawn(np.empty(0, dtype=np.int64), np.ones((2, 2)), os.urandom).size == 0


def test_every_attribute_comes_after_its_parent() -> None:
    found = forest.walk(5, [(3, 1), (1, 4)])
    assert {place for _, place in found} == set(range(5))
    for place, (parent, _) in enumerate(found):
        assert parent is None or parent in {one for _, one in found[:place]}
    assert sum(parent is None for parent, _ in found) == 3
