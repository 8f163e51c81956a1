"""Domains of few cells."""

import os

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import flat
from dpproxy.anonymize.boxes import lines
from dpproxy.anonymize.model import Attribute, Categories, LatticeDomain
from tests.anonymize.worlds import TREE
from udfs.mechanisms import Staircase
from udfs.privacy import NANO

TWO = lines((Attribute("a", TREE), Attribute("b", Categories(3))), scaled=True)


def test_cells_and_when_they_suit() -> None:
    assert flat.cells(TWO) == 21
    assert flat.suits(TWO, NANO, 100)
    assert not flat.suits(TWO, NANO, 20)
    assert not flat.suits(TWO, NANO // 100, 100)
    assert not flat.suits(lines((Attribute("a", LatticeDomain(0, 10**5)),), scaled=True), NANO, 10**9)


def test_without_noise_the_rows_come_back() -> None:
    rows = np.column_stack([np.arange(200) % 7, np.arange(200) % 3])
    found = flat.synthetic(TWO, 10**6 * NANO, rows, os.urandom)
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, rows.tolist()))


@given(st.lists(st.integers(-30, 300), min_size=6, max_size=6), st.sampled_from([NANO // 10, NANO, 9 * NANO]))
def test_weighed_counts_are_counts_near_the_noisy_ones(noisy: list[int], nano: int) -> None:
    found = flat.weighed(np.array(noisy).reshape(2, 3), nano).ravel()
    reach = 12 * Staircase.best((1,), nano).noise_sd()[0] + 1
    assert (found >= 0).all()
    assert (np.abs(found - np.maximum(noisy, 0)) <= reach + 1).all()


def test_medians_by_hand() -> None:
    """Expected 1: the law halves at each step; q = 1/4: it falls to a quarter away from the noisy count."""
    found = flat._medians(np.array([0.0, 3.0, -2.0]), np.array([1.0, 1.0, 1.0]), 0.25, 20)
    # From 3: weights 1/64, 1/32, 1/16, 1/8 below and at it, then an eighth of that each.
    assert found.tolist() == [0, 3, 0]
    assert flat._medians(np.array([5.0]), np.array([1e-9]), 0.25, 20).tolist() == [0]


def test_weighing_is_closer_than_the_noisy_counts() -> None:
    """Independent columns: almost all cells are what rows and columns let expect."""
    true = np.outer([400, 40, 4, 0, 0, 0, 0], [5, 1, 0])
    law = Staircase.best((1,), NANO // 2)
    off, raw = 0.0, 0.0
    for _ in range(20):
        noisy = true + law.draw(true.size)[:, 0].reshape(true.shape)
        off += np.abs(flat.weighed(noisy, NANO // 2) - true).sum()
        raw += np.abs(noisy - true).sum()
    assert off < raw
