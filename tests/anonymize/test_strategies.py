"""Strategies of cubes: blocks, predicted variances against least squares by hand, and how good they are."""

import numpy as np
import pytest

from dpproxy.anonymize import strategies
from dpproxy.anonymize.strategies import Axis, Floats, Lattice, shares


def seen(axis: Axis, level: int) -> Floats:
    """The matrix of one level: a row for each block."""
    return np.kron(np.eye(axis.size // axis.blocks[level]), np.ones((1, axis.blocks[level])))


def whole(lattice: Lattice, weights: Floats) -> Floats:
    """The covariance of fitted cells, from the normal matrix itself."""
    normal = np.zeros((strategies.size(lattice),) * 2)
    for level in lattice.levels:
        matrix = np.ones((1, 1))
        for axis, place in zip(lattice.axes, level, strict=True):
            matrix = np.kron(matrix, seen(axis, place))
        normal += weights[level] * matrix.T @ matrix
    return np.linalg.inv(normal)


@pytest.mark.parametrize("cells", [1, 2, 3, 11, 12, 13, 25, 53, 366, 3653])
def test_blocks_divide_each_other_and_hold_all_cells(cells: int) -> None:
    for axis in (Axis(cells), Axis(cells, ordered=True)):
        assert axis.blocks[-1] == 1
        assert axis.cells <= axis.size <= axis.cells * 1.25 + 1
        assert all(a % b == 0 for a, b in zip(axis.blocks, axis.blocks[1:], strict=False))


def test_predicted_variances_are_those_of_least_squares() -> None:
    lattice = Lattice((Axis(3), Axis(13, ordered=True), Axis(2)))
    weights = np.linspace(0.5, 2.0, len(lattice.levels)).reshape(lattice.shape)
    covariance = whole(lattice, weights)
    for vectors in (
        [np.array([1.0, 0, 1]), np.arange(lattice.axes[1].size) % 3 * 1.0, np.array([1.0, 1])],
        strategies.block_of(lattice, (0, 1, 1)),
    ):
        cells = strategies.outer(vectors).ravel()
        predicted = strategies.variance(lattice, lattice.spectrum(weights), vectors)
        assert predicted == pytest.approx(cells @ covariance @ cells)


def test_sums_of_several_products_have_the_variance_of_their_cells() -> None:
    """Of what both have in common, too: of rows of either, those of both are taken away."""
    lattice = Lattice((Axis(3), Axis(13, ordered=True), Axis(2)))
    weights = np.linspace(0.5, 2.0, len(lattice.levels)).reshape(lattice.shape)
    some, all_of = np.array([[1.0, 0, 1]]), [np.ones((1, axis.cells)) for axis in lattice.axes]
    before = (np.arange(13) < 5)[None] * 1.0
    boxes = [(1, [some, *all_of[1:]]), (1, [all_of[0], before, all_of[2]]), (-1, [some, before, all_of[2]])]
    padded = [
        sign
        * strategies.outer(
            [np.pad(s[0], (0, a.size - a.cells)) for a, s in zip(lattice.axes, sides, strict=True)]
        )
        for sign, sides in boxes
    ]
    cells = sum(padded, start=np.zeros(padded[0].shape)).ravel()
    found = strategies.joint_variances(lattice, lattice.spectrum(weights), boxes)
    assert found == pytest.approx([cells @ whole(lattice, weights) @ cells])


@pytest.mark.parametrize("concentrated", [False, True])
def test_shares_add_up_and_are_better_than_single_cells_or_all_alike(*, concentrated: bool) -> None:
    lattice = Lattice((Axis(6), Axis(25, ordered=True), Axis(3)))
    share = shares(lattice, concentrated=concentrated)
    power = 1 if concentrated else 2
    assert share.sum() == pytest.approx(1)
    assert share[-1, -1, -1] > 0
    finest = np.zeros(lattice.shape)
    finest[-1, -1, -1] = 1
    even = np.ones(lattice.shape) / finest.size
    assert lattice.error(share**power) < min(lattice.error(finest), lattice.error(even**power))


def test_gains_are_the_slope_of_the_error() -> None:
    lattice = Lattice((Axis(4), Axis(13, ordered=True)))
    weights = np.linspace(1.0, 2.0, 6).reshape(lattice.shape)
    gains = lattice.gains(weights)
    for level in lattice.levels:
        moved = weights.copy()
        moved[level] += 1e-6
        slope = (lattice.error(weights) - lattice.error(moved)) / 1e-6
        assert gains[level] == pytest.approx(slope, rel=1e-3)


def test_trimmed_shares_keep_single_cells() -> None:
    share = np.array([[0.7, 0.2999], [0.0001, 0.0]])
    kept = strategies.trimmed(share, 0.01)
    assert kept[1, 0] == 0
    assert kept[1, 1] > 0
    assert kept.sum() == pytest.approx(1)
