"""128-bit integers in pairs of words, and lists of them."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from udfs import arrow

HUGE = pa.decimal128(38, 0)
LISTS = pa.list_(HUGE)
TOP = 10**38 - 1
VALUES = [0, 1, -1, 2**63 - 1, 2**63, -(2**63), 2**64, -(2**64) - 1, 10**37, -(10**37), TOP, -TOP]
BEYOND = [TOP + 1, -TOP - 1, 2**127 - 1, -(2**127) + 1, 2**127 - 2**64]
NOISE = [0, 1, -1, 2**62 - 1, -(2**62) + 1, 12345678901234567]


def column(rows: Iterable[Sequence[int | None] | None]) -> pa.Array:
    return pa.array(
        [row and [value if value is None else Decimal(value) for value in row] for row in rows], LISTS
    )


def rows(array: pa.Array) -> list[list[int]]:
    return [[int(value) for value in row] for row in array.to_pylist()]


def test_integers_round_trip():
    assert arrow.integers(arrow.from_integers(VALUES + BEYOND)) == VALUES + BEYOND


def test_pairs_of_arrow():
    array = pa.array([*map(Decimal, VALUES), None], HUGE)
    assert arrow.integers(arrow.pairs(array)) == [*VALUES, 0]
    assert arrow.integers(arrow.pairs(array[3:6])) == VALUES[3:6]
    assert arrow.pairs(pa.array([], HUGE)).shape == (0, 2)
    assert [int(v) for v in arrow.numbers(arrow.from_integers(VALUES)).to_pylist()] == VALUES


@pytest.mark.parametrize("kind", [np.int64, object])
def test_add_is_exact_and_saturates_afterwards(kind: type):
    for value in [*VALUES, *BEYOND]:
        sums = arrow.add(arrow.from_integers([value] * len(NOISE)), np.array(NOISE, dtype=kind))
        assert arrow.integers(sums) == [max(-TOP, min(TOP, value + noise)) for noise in NOISE]


def test_add_of_noise_wider_than_the_values():
    noise = np.array([10**39, -(10**39), 10**38 + 4], dtype=object)
    assert arrow.integers(arrow.add(arrow.from_integers([1, 1, -10]), noise)) == [TOP, -TOP, 10**38 - 6]


def test_lists_of_one_length():
    lists = arrow.read(pa.chunked_array([column([[1, 2], [None, 4]])]))
    assert (lists.length, lists.holes) == (2, True)
    assert arrow.integers(lists.whole(2)) == [1, 2, 0, 4]


def test_lists_with_nulls_and_slices():
    array = column([[9, 9], [1, 2], None, [3, 4]])[1:]
    lists = arrow.read(array)
    assert (lists.length, lists.holes) == (-1, False)
    assert arrow.integers(lists.whole(2)) == [1, 2, 0, 0, 3, 4]
    assert arrow.integers(lists.gather(np.array([2, 1]), 2)) == [3, 4, 0, 0]


def test_a_null_list_may_hide_elements():
    hidden = pa.ListArray.from_arrays(
        pa.array([0, 1, 3], pa.int32()), pa.array(map(Decimal, (5, 6, 7)), HUGE), mask=pa.array([False, True])
    )
    assert arrow.integers(arrow.read(hidden).whole(1)) == [5, 0]


def test_chunks_are_joined_and_empty_columns_pass():
    both = pa.chunked_array([column([[1]]), column([[2]])])
    assert arrow.integers(arrow.read(both).whole(1)) == [1, 2]
    empty = arrow.read(pa.chunked_array([], LISTS))
    assert empty.whole(3).shape == (0, 3, 2)


def test_write():
    flat = arrow.from_integers([1, 2, 3])
    assert rows(arrow.write(flat, np.array([1, 0, 2]))) == [[1], [], [2, 3]]


def test_lists_of_doubles_round_trip():
    lists = arrow.read(pa.array([[1.5, None], [], None, [-0.0]], pa.list_(pa.float64())))
    assert lists.holes
    assert lists.lengths.tolist() == [2, 0, 0, 1]
    flat = np.concatenate([lists.gather(np.array([i]), n)[0] for i, n in [(0, 2), (3, 1)]])
    written = arrow.write(flat, np.array([2, 0, 1]), arrow.doubles)
    assert written.to_pylist() == [[1.5, 0.0], [], [-0.0]]
