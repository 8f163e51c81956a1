"""A noisy number of rows, and exactly that many."""

import os
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import population
from dpproxy.anonymize.model import Attribute, Categories, LatticeDomain
from tests.anonymize.worlds import TREE
from udfs.privacy import NANO

MIXED = (Attribute("a", LatticeDomain(2, 8)), Attribute("b", Categories(3)), Attribute("c", TREE))


def test_the_public_record_is_made_of_domains() -> None:
    assert population.public_record(MIXED).tolist() == [[5, 0, 1]]


@given(st.integers(0, 12), st.integers(1, 12))
def test_exactly_so_many_rows(rows: int, count: int) -> None:
    table = np.column_stack([np.arange(rows), np.zeros(rows, int), np.zeros(rows, int)])
    found = population.resized(table, count, MIXED, os.urandom)
    assert len(found) == count
    kept = [row for row in found.tolist() if row != [5, 0, 1]]
    assert len({tuple(row) for row in kept}) == len(kept)


def test_without_noise_the_number_is_the_number() -> None:
    assert population.noisy(17, 10**6 * NANO, 2, os.urandom) == 17
    assert population.noisy(0, 10**6 * NANO, 2, os.urandom) == 2


def test_neighbours_can_be_drawn_together_one_record_apart() -> None:
    """Every order of four rows, three or two kept: striking the fourth out gives every order of the others."""
    for count in (2, 3):
        ours: Counter[tuple[int, ...]] = Counter()
        for order in permutations(range(4)):
            without = tuple(row for row in order if row != 3)
            ours[tuple(sorted(without[:count]))] += 1
            assert len(set(order[:count]) ^ set(without[:count])) <= 2
        assert len(set(ours.values())) == 1


@pytest.mark.statistical
def test_all_rows_are_dropped_alike() -> None:
    """Which of four rows is left out of three, 4,000 times: chi-square of 3 degrees above 27.9 one time in 260,000."""
    table = np.arange(4)[:, None]
    line = (Attribute("a", LatticeDomain(0, 3)),)
    left_out = Counter(6 - int(population.resized(table, 3, line, os.urandom).sum()) for _ in range(4000))
    assert sum((left_out[row] - 1000) ** 2 / 1000 for row in range(4)) < 27.9
