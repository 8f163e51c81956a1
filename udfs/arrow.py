"""Lists of numbers between Arrow and numpy, without a Python step per row.

DuckDB passes HUGEINT[] as list<decimal128(38, 0)>, whose buffer has each value as two 64-bit words, low word first, in
two's complement. This is so for every HUGEINT, also beyond 38 digits. The bits of a DOUBLE are put in the low word,
with a high word of 0.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from udfs.randomness import Integers

Column = Any
"""A column of pyarrow's, which has no types."""
Pairs = NDArray[np.uint64]
"""128-bit integers in two's complement, shape (..., 2), low word first."""

Offsets = NDArray[np.int32]

LARGEST: Final = 10**38 - 1
_LOW: Final = 2**64 - 1
_TOP: Final = (LARGEST & _LOW, LARGEST >> 64)
_BOTTOM: Final = (-LARGEST & _LOW, -LARGEST >> 64)
_FAR: Final = _TOP[1] + 2**32
_HUGEINT: Final = pa.decimal128(38, 0)


class ListColumn(Struct, frozen=True):
    """A column of lists; row i is ``pairs[starts[i] : starts[i] + lengths[i]]``, or NULL if not ``valid``."""

    pairs: Pairs
    starts: Offsets
    lengths: Offsets
    valid: NDArray[np.bool_]
    length: int
    """The common length of all lists; -1 if they differ or some are NULL."""
    holes: bool
    """Whether some element is NULL."""

    def whole(self, length: int) -> Pairs:
        """Return every row's list as shape (rows, length, 2); see ``gather``."""
        if self.length == length:  # then Arrow lays the lists end to end
            start = int(self.starts[0])
            return self.pairs[start : start + len(self.starts) * length].reshape(-1, length, 2)
        return self.gather(np.arange(len(self.starts)), length)

    def gather(self, rows: NDArray[np.int64], length: int) -> Pairs:
        """Return the lists of ``rows`` as shape (rows, length, 2), zeros where a list is NULL.

        The caller has checked that every list there has this length.
        """
        result = np.zeros((len(rows), length, 2), dtype=np.uint64)
        valid = self.valid[rows]
        result[valid] = self.pairs[self.starts[rows[valid]][:, None] + np.arange(length)]
        return result


def single(column: Column) -> Column:
    """Return a column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def present(array: Column) -> NDArray[np.bool_]:
    """Return which elements are not NULL."""
    if not array.null_count:
        return np.ones(len(array), dtype=np.bool_)
    result: NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return result


def pairs(array: Column) -> Pairs:
    """Return a decimal128 or double array as pairs, zero where it is NULL."""
    if pa.types.is_float64(array.type):
        result = np.zeros((len(array), 2), dtype=np.uint64)
        result[:, 0] = array.fill_null(0.0).to_numpy(zero_copy_only=False).view(np.uint64)
        return result
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros((len(array), 2), dtype=np.uint64)
    words = np.frombuffer(buffer, dtype=np.uint64, count=2 * (array.offset + len(array)))
    result = words.reshape(-1, 2)[array.offset :]
    if array.null_count:
        result = np.where(present(array)[:, None], result, np.uint64(0))
    return result


def read(column: Column) -> ListColumn:
    """Return a HUGEINT[] or DOUBLE[] column; a NULL element reads as 0."""
    array = single(column)
    offsets = array.offsets.to_numpy()
    starts, lengths, child = offsets[:-1], offsets[1:] - offsets[:-1], array.values
    same = len(lengths) > 0 and not array.null_count and bool((lengths == lengths[0]).all())
    length = int(lengths[0]) if same else -1
    return ListColumn(pairs(child), starts, lengths, present(array), length, child.null_count > 0)


def numbers(flat: Pairs) -> Column:
    """Return a HUGEINT column from pairs."""
    return pa.Array.from_buffers(_HUGEINT, len(flat), [None, pa.py_buffer(np.ascontiguousarray(flat))])


def doubles(flat: Pairs) -> Column:
    """Return a DOUBLE column from pairs."""
    return pa.array(np.ascontiguousarray(flat[:, 0]).view(np.float64))


def write(flat: Pairs, lengths: Offsets, column: Callable[[Pairs], Column] = numbers) -> Column:
    """Return a column of lists of the given lengths from its elements in order."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), column(flat.reshape(-1, 2)))


def integers(values: Pairs) -> list[int]:
    """Return the last axis's pairs as Python integers, flattened."""
    low, high = values[..., 0].ravel().tolist(), values[..., 1].view(np.int64).ravel().tolist()
    return [(h << 64) | w for w, h in zip(low, high, strict=True)]


def from_integers(values: list[int]) -> Pairs:
    """Return integers of at most 128 bits as pairs, shape (n, 2)."""
    words = [(value & _LOW, (value >> 64) & _LOW) for value in values]
    return np.array(words, dtype=np.uint64).reshape(-1, 2)


def add(values: Pairs, noise: Integers) -> Pairs:
    """Return values + noise saturated at 38 digits; the path of the computation depends on the noise alone."""
    if noise.dtype == object:
        sums = zip(integers(values), noise.ravel().tolist(), strict=True)
        wide = [max(-LARGEST, min(value + extra, LARGEST)) for value, extra in sums]
        return from_integers(wide).reshape(values.shape)
    low = values[..., 0] + noise.view(np.uint64)
    carry = (low < values[..., 0]).view(np.int8)
    # Values so large that the sum could leave 128 bits are clamped first: their sum still saturates.
    high = np.minimum(np.maximum(values[..., 1].view(np.int64), -_FAR), _FAR) + (noise >> 63) + carry
    over = (high > _TOP[1]) | ((high == _TOP[1]) & (low > np.uint64(_TOP[0])))
    under = (high < _BOTTOM[1]) | ((high == _BOTTOM[1]) & (low < np.uint64(_BOTTOM[0])))
    result = np.empty_like(values)
    result[..., 0] = np.where(over, np.uint64(_TOP[0]), np.where(under, np.uint64(_BOTTOM[0]), low))
    result[..., 1] = np.where(over, _TOP[1], np.where(under, _BOTTOM[1], high)).view(np.uint64)
    return result
