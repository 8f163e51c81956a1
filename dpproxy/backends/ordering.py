"""Groups in the order of their keys, which may be a million: the order in which they were found is that of rows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Places = NDArray[np.int64]
_WORD = 8
"""Bytes of a text that are compared as one number."""
_LEADING = np.array([(1 << 64) - (1 << 64 - 8 * size) for size in range(_WORD + 1)], dtype=np.uint64)
"""The bits of so many bytes, from the first on."""


def in_order(groups: pa.Table, keys: Sequence[str]) -> pa.Table:
    """The groups by their keys, NULL behind all others; no two have the same."""
    groups = groups.combine_chunks()  # else it takes five times as long
    first = groups[keys[0]]
    order = _ORDERS.get(first.type) if len(keys) == 1 and len(first) and not first.null_count else None
    if order is None:
        return groups.sort_by([(name, "ascending") for name in keys])
    return groups.take(pa.array(order(first.chunk(0))))


def _of_numbers(column: Any) -> Places:  # noqa: ANN401 - of pyarrow
    """Sorted with their places beside them, which takes a fifth of the time."""
    numbers = column.to_numpy()
    low, high, bits = int(numbers.min()), int(numbers.max()), len(numbers).bit_length()
    if high - low >> 63 - bits:
        return np.argsort(numbers)
    marked: Places = (numbers - low << bits) | np.arange(len(numbers))
    marked.sort()
    return marked & (1 << bits) - 1


def _of_texts(column: Any) -> Places:  # noqa: ANN401
    """By the first bytes that they do not share, as numbers; those that are alike there are compared as texts."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as long to load as numpy

    low, high = (end.encode() for end in pc.min_max(column).as_py().values())
    shared = next((n for n, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    octets = np.append(np.frombuffer(data or b"", dtype=np.uint8), np.zeros(shared + _WORD, dtype=np.uint8))
    start = ends[:-1] + shared
    words = np.ndarray(len(octets) - _WORD + 1, ">u8", octets, strides=(1,))[start].astype(np.uint64)
    words &= _LEADING[np.minimum(ends[1:] - start, _WORD)]
    order = np.argsort(words)
    words = words[order]
    alike = np.concatenate([[False], words[1:] == words[:-1], [False]])
    tied = np.flatnonzero(alike[1:] | alike[:-1])
    unsure = order[tied]
    order[tied] = unsure[pc.sort_indices(column.take(pa.array(unsure))).to_numpy()]
    return order


_ORDERS: dict[pa.DataType, Callable[[Any], Places]] = {pa.int64(): _of_numbers, pa.string(): _of_texts}
