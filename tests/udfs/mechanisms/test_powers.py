"""Draws from powers of a rational number: the law on its fine and its coarse grid, its tail, its rare branches."""

import math
import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from udfs.mechanisms import powers as module
from udfs.mechanisms.exponent import Ratio
from udfs.mechanisms.powers import Powers, draw_each
from udfs.randomness import Words

COUNT = 60_000


def binned(x: float, power: int, reach: int, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges of about equally likely bins, and their probabilities, summed over every integer within reach."""
    sizes = np.arange(-reach, reach + 1)
    weights = np.exp(-x * np.abs(sizes).astype(float) ** power)
    mass = np.cumsum(weights) / weights.sum()
    edges = np.unique(np.searchsorted(mass, np.arange(1, bins) / bins))
    return sizes[edges], np.diff(np.concatenate([[0], mass[edges], [1]]))


@pytest.mark.statistical
@pytest.mark.parametrize("tail", [1, 24])
@pytest.mark.parametrize(
    ("x", "power"),
    [
        (Fraction(2), 1),
        (Fraction(1, 10), 1),
        (Fraction(1, 3000), 1),
        (Fraction(1, 2), 2),
        (Fraction(1, 200), 2),
        (Fraction(1, 10**6), 2),
    ],
)
def test_draws_follow_the_law(
    monkeypatch: pytest.MonkeyPatch, fits: Callable[..., bool], x: Fraction, power: int, tail: int
):  # false alarm 1e-6 each, 12 of them; a tail from 2**-1 on is met by a third of the draws
    monkeypatch.setattr(module, "_TAIL", tail)
    law = Powers(Ratio.above(x), square=power == 2)
    assert (law._width > 0) == (x < Fraction(1, 1000))
    reach = int((40 / x) ** (1 / power)) + 1
    edges, probabilities = binned(float(x), power, reach, 60)
    count = COUNT if tail > 1 else COUNT // 6
    index = np.searchsorted(edges, law.draw(count, os.urandom), side="left")
    assert fits(np.bincount(index, minlength=len(probabilities)).tolist(), probabilities)


@pytest.mark.statistical
@pytest.mark.parametrize("power", [1, 2])
def test_within_a_cell_the_law_is_not_flat(fits: Callable[..., bool], power: int):
    """Places in cells of 8, false alarm 1e-6 each; a flat cell is caught: its first place is 4 % too rare."""
    law = Powers(Ratio.above(Fraction(1, power * 600**power)), square=power == 2)
    size = 1 << law._width
    assert size == 8
    drawn = np.abs(law.draw(400_000, os.urandom))
    places = np.bincount((drawn[drawn > 0] - 1) % size, minlength=size)
    sizes = np.arange(1, 60_001)
    weights = np.exp(-(sizes.astype(float) ** power) / (power * 600**power))
    expected = np.bincount((sizes - 1) % size, weights) / weights.sum()
    assert fits(places.tolist(), expected)


@pytest.mark.statistical
@pytest.mark.parametrize("bits", [46, 60, 90])
def test_wide_draws_are_exact_python_integers(fits: Callable[..., bool], bits: int):
    """False alarm 1e-6 each: the scaled law, and the low digits, which are uniform."""
    law = Powers(Ratio.above(Fraction(1, 2**bits)), square=False)
    drawn = law.draw(6000, os.urandom)
    assert drawn.dtype == (object if bits > 51 else np.int64)
    assert all(abs(int(z)) < 2**bits * 60 for z in drawn)  # false alarm below 1e-21
    halves = [math.log(1 / (1 - i / 10)) * 2.0**bits for i in range(1, 10)]
    index = np.searchsorted(halves, np.abs(drawn).astype(float))
    assert fits(np.bincount(index, minlength=10).tolist(), [0.1] * 10)
    low = np.array([int(z) % 16 for z in drawn])
    assert fits(np.bincount(low, minlength=16).tolist(), [1 / 16] * 16)


def test_a_draw_is_settled_by_further_words(scripted: Callable[..., Words]):
    """A first word that equals the probability's first 64 bits leaves the decision to the next one."""
    law = Powers(Ratio(3, 2), square=False)  # q = 3/4
    assert law._happens(1, 0, scripted())
    assert not law._happens(1, 2**64 - 1, scripted())
    third = Powers(Ratio.above(Fraction(1)), square=False)
    word = third._ratio.power(2, 64)[0]
    assert third._happens(2, word, scripted(0)) != third._happens(2, word, scripted(2**64 - 1))


def test_a_point_of_a_cell_is_given_up(scripted: Callable[..., Words]):
    law = Powers(Ratio.above(Fraction(1, 3000)), square=False)
    width = 1 << law._width
    assert law._settle(1, width - 1, 0, scripted()) == width
    assert law._settle(1, width - 1, 2**64 - 1, scripted()) == 0
    assert law._settle(1, 0, 2**64 - 1, scripted()) == 1  # the first point always stays


def test_beyond_the_table_cells_are_counted(scripted: Callable[..., Words]):
    law = Powers(Ratio.above(Fraction(1, 3000)), square=False)
    width, beyond = 1 << law._width, law._cells + 1
    first = 1 + law._cells * width
    assert law._settle(beyond, 0, 0, scripted(2**64 - 1)) == first
    assert law._settle(beyond, 3, 0, scripted(0, 0, 2**64 - 1)) == first + 2 * width + 3


def test_the_sign_and_zero(scripted: Callable[..., Words]):
    law = Powers(Ratio.above(Fraction(1)), square=False)
    top = 1 << 63
    assert law.draw(1, scripted(0, top, 0)).tolist() == [0]  # there is one zero
    assert law.draw(1, scripted(top, 0, 0)).tolist() == [1]
    assert law.draw(1, scripted(top, top, 0)).tolist() == [-1]


def test_columns_share_a_law_and_none_is_zero():
    ratio, other = Ratio.above(Fraction(1, 100)), Ratio.above(Fraction(1, 2**140))
    drawn = draw_each([ratio, None, ratio], 500, os.urandom, square=False)
    assert drawn.dtype == np.int64
    assert drawn.shape == (500, 3)
    assert not drawn[:, 1].any()
    assert (drawn[:, 0] != drawn[:, 2]).any()
    wide = draw_each([ratio, other], 50, os.urandom, square=True)
    assert wide.dtype == object
    assert {type(z) for z in wide.ravel()} == {int}
    assert draw_each([None], 3, os.urandom, square=True).tolist() == [[0], [0], [0]]
    assert draw_each([ratio], 0, os.urandom, square=True).shape == (0, 1)
