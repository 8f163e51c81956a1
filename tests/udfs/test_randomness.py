"""Uniform integers and index tables, on the real source and on scripted words."""

import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from udfs.randomness import LawTable, Words, below, below_wide


def thirds() -> LawTable:
    """The uniform law on 0, 1, 2: its boundaries are no multiples of a power of two."""
    return LawTable(2, lambda i, bits: ((i + 1 << bits) // 3, -(-(i + 1 << bits) // 3)))


def test_below_rejects_the_incomplete_last_block(scripted: Callable[..., Words]):
    last = 2**64 - 1  # 2**64 = 1 mod 3: the last word belongs to no complete block of three
    sizes = np.array([3], dtype=np.uint64)
    assert below(sizes, scripted(last, 7)).tolist() == [1]
    assert below(sizes, scripted(last - 1)).tolist() == [2]


def test_below_keeps_every_word_of_a_power_of_two(scripted: Callable[..., Words]):
    assert below(np.array([8], dtype=np.uint64), scripted(2**64 - 1)).tolist() == [7]


def test_below_redraws_only_what_was_rejected(scripted: Callable[..., Words]):
    sizes = np.array([[3, 5], [3, 1]], dtype=np.uint64)
    drawn = below(sizes, scripted(4, 9, 2**64 - 1, 12, 5))
    assert drawn.tolist() == [[1, 4], [2, 0]]


def test_below_stays_in_range_at_the_widest_size():
    drawn = below(np.full(200, 2**63 - 1, dtype=np.uint64), os.urandom)
    assert drawn.min() >= 0
    assert drawn.max() > 2**60


@pytest.mark.statistical
def test_below_is_uniform(fits: Callable[..., bool]):  # false alarm 1e-6
    drawn = below(np.full(50_000, 7, dtype=np.uint64), os.urandom)
    assert fits(np.bincount(drawn, minlength=7), [Fraction(1, 7)] * 7)


@pytest.mark.statistical
def test_below_wide_is_uniform(fits: Callable[..., bool]):  # false alarm 2e-6
    size = 5 << 70
    drawn = below_wide([size] * 20_000, os.urandom)
    assert all(0 <= value < size for value in drawn)
    assert fits(np.bincount([value >> 70 for value in drawn], minlength=5), [Fraction(1, 5)] * 5)
    assert fits(np.bincount([value % 5 for value in drawn], minlength=5), [Fraction(1, 5)] * 5)


def test_below_wide_of_one_needs_no_bytes(scripted: Callable[..., Words]):
    assert below_wide([1], scripted()) == [0]


def test_table_decides_by_the_first_word_where_it_can(scripted: Callable[..., Words]):
    third = 2**64 // 3
    assert thirds().draw(3, scripted(third - 1, third + 1, 2**64 - 1 - third + 2)).tolist() == [0, 1, 2]


def test_table_draws_further_words_at_a_boundary(scripted: Callable[..., Words]):
    third = 2**64 // 3  # 0x5555...: the boundary goes on with the same digits for ever
    assert thirds().draw(1, scripted(third, third - 1)).tolist() == [0]
    assert thirds().draw(1, scripted(third, third + 1)).tolist() == [1]
    assert thirds().draw(1, scripted(third, third, third, third, 0)).tolist() == [0]
    assert thirds().draw(1, scripted(2 * third, 2 * third, 2 * third + 1)).tolist() == [2]


def test_table_with_loose_bounds_is_still_exact(scripted: Callable[..., Words]):
    def loose(_: int, bits: int) -> tuple[int, int]:
        return (1 << bits - 1) - 9, (1 << bits - 1) + 9  # one half, badly known

    half = 2**63
    assert LawTable(1, loose).draw(1, scripted(half, 2**64 - 1)).tolist() == [1]
    assert LawTable(1, loose).draw(1, scripted(half - 1, 2**64 - 1, 5)).tolist() == [0]
    assert LawTable(1, loose).draw(1, scripted(half, 0, 2**60)).tolist() == [1]


def test_table_at_the_last_word(scripted: Callable[..., Words]):
    near_one = LawTable(
        1, lambda _, bits: ((1 << bits) - 1 - (1 << bits - 80), (1 << bits) - (1 << bits - 80))
    )
    assert near_one.draw(1, scripted(2**64 - 1, 2**64 - 1)).tolist() == [1]
    assert near_one.draw(1, scripted(2**64 - 1, 0)).tolist() == [0]


def test_table_of_one_cell(scripted: Callable[..., Words]):
    assert LawTable(0, lambda *_: (0, 0)).draw(2, scripted(5, 6)).tolist() == [0, 0]


@pytest.mark.statistical
def test_table_follows_its_law(fits: Callable[..., bool]):  # false alarm 1e-6
    assert fits(np.bincount(thirds().draw(50_000, os.urandom), minlength=3), [Fraction(1, 3)] * 3)
