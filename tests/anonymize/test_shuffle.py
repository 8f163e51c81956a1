"""Every order is equally likely."""

import os
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpproxy.anonymize.shuffle import order, within

FALSE_ALARM = 1e-6


@given(st.lists(st.integers(0, 5), max_size=40))
def test_groups_keep_their_rows(groups: list[int]):
    numbers = np.array(groups, dtype=np.int64)
    taken = within(numbers, os.urandom)
    assert sorted(taken) == list(range(len(groups)))
    assert (numbers[taken] == numbers).all()


@pytest.mark.statistical
def test_every_order_is_equally_likely():
    """False alarm: one run in a million."""
    counts = Counter(tuple(order(4, os.urandom)) for _ in range(24_000))
    assert set(counts) == set(permutations(range(4)))
    assert chisquare(list(counts.values())).pvalue > FALSE_ALARM


@pytest.mark.statistical
def test_orders_inside_interleaved_groups_are_uniform_and_independent():
    """Groups of 3 and 2 in mixed places: 12 joint orders. False alarm: one run in a million."""
    groups = np.array([7, 2, 7, 2, 7], dtype=np.int64)
    counts = Counter(tuple(within(groups, os.urandom)) for _ in range(12_000))
    assert len(counts) == 12
    assert chisquare(list(counts.values())).pvalue > FALSE_ALARM


def test_equal_words_are_drawn_anew():
    draws = iter([b"\1" * 8 + b"\1" * 8, b"\2" * 8 + b"\1" * 8])
    assert list(order(2, lambda _: next(draws))) == [1, 0]


def test_equal_words_in_different_groups_are_no_tie():
    assert list(within(np.array([0, 1]), lambda _: b"\1" * 16)) == [0, 1]
