"""Columns of whole numbers as int64, and rows that share their parameters."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from udfs import arrow
from udfs.arrow import Column
from udfs.privacy import InvalidMechanism

Int64 = NDArray[np.int64]

_MOST: Final = 2**63 - 1


def whole(pairs: arrow.Pairs) -> Int64:
    """Return 128-bit integers as int64, clamped to its range; shape (n,)."""
    low, high = pairs[..., 0].view(np.int64), pairs[..., 1].view(np.int64)
    fits = high == low >> 63
    if fits.all():
        return low
    return np.where(fits, low, np.where(high < 0, -_MOST - 1, _MOST))


def places(starts: NDArray[Any], lengths: NDArray[Any]) -> Int64:
    """Return the indices of the elements of lists, list after list."""
    ends = np.cumsum(lengths, dtype=np.int64)
    offsets: Int64 = np.repeat(starts - (ends - lengths), lengths)
    return offsets + np.arange(offsets.size)


def parameters(column: Column, message: str) -> arrow.Pairs:
    """Return a HUGEINT column of parameters as pairs. Errors: InvalidMechanism with ``message`` for NULL."""
    array = arrow.single(column)
    if array.null_count:
        raise InvalidMechanism(message)
    return arrow.pairs(array)


def alike(*columns: NDArray[np.uint64]) -> Iterator[tuple[NDArray[np.uint64], Int64]]:
    """Group rows by equal parameters; yield the words of each group's parameters, and its row numbers.

    Each column has shape (rows,) or (rows, words).
    """
    keys = np.column_stack(columns)
    if not len(keys):
        return
    if (keys == keys[:1]).all():
        yield keys[0], np.arange(len(keys))
        return
    different, which = np.unique(keys, axis=0, return_inverse=True)
    for index, key in enumerate(different):
        yield key, np.flatnonzero(which.ravel() == index)
