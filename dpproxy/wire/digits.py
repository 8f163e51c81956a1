"""Decimals of one scale as binary ``numeric`` values, a whole column at once."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpproxy.values.pgtypes import NUMERIC
from dpproxy.wire.values import encode_value

_BASE: Final = 10_000
_WIDEST: Final = 10**15
"""Below this, steps times 10^3 are int64 still."""


def numeric_cells(array: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Decimals of one scale as bytes, NULL where they are NULL; those of more than 15 digits one by one."""
    scale = array.type.scale
    low, high = _steps(array)
    plain = (high == low >> 63) & (np.abs(low) < _WIDEST)
    valid = np.asarray(array.is_valid())
    cells = _written(np.where(plain, low, 0), scale)
    cells = (
        cells if not array.null_count else pc.if_else(pa.array(valid), cells, pa.scalar(None, pa.binary()))
    )
    odd = ~plain & valid
    if not odd.any():
        return cells
    kind = NUMERIC.with_precision(38, scale)
    again = [encode_value(kind, value, 1) for value in array.filter(pa.array(odd)).to_pylist()]
    return pc.replace_with_mask(cells, pa.array(odd), pa.array(again, pa.binary()))


def _steps(array: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # noqa: ANN401
    """The two halves of each 128-bit number."""
    buffer, start = array.buffers()[1], array.offset
    words = np.frombuffer(buffer, dtype=np.int64, count=2 * (start + len(array))).reshape(-1, 2)[start:]
    return words[:, 0], words[:, 1]


def _written(steps: NDArray[np.int64], scale: int) -> Any:  # noqa: ANN401
    """Header and digits, without leading and trailing zero digits."""
    fraction = -(-scale // 4)
    rest = np.abs(steps) * 10 ** (4 * fraction - scale)
    groups = -(-len(str(rest.max(initial=0))) // 4)  # digits to base 10,000 of the largest: five at most
    digits = np.empty((len(steps), groups), dtype=np.int64)
    for group in range(groups - 1, -1, -1):
        higher = rest // _BASE
        digits[:, group] = rest - higher * _BASE
        rest = higher
    shown = digits != 0
    any_shown = shown.any(axis=1)
    first = np.where(any_shown, shown.argmax(axis=1), 0)
    last = np.where(any_shown, groups - shown[:, ::-1].argmax(axis=1), 0)
    count = last - first
    header = np.empty((len(steps), 4), dtype=">i2")
    header[:, 0] = count
    header[:, 1] = np.where(any_shown, groups - 1 - fraction - first, 0)
    header[:, 2] = np.where(steps < 0, 0x4000, 0)
    header[:, 3] = scale
    sizes = 8 + 2 * count
    offsets = np.zeros(len(steps) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    data = np.empty(int(offsets[-1]) // 2, dtype=">i2")
    starts = offsets[:-1] // 2
    for place in range(4):
        data[starts + place] = header[:, place]
    for place in range(groups):
        has = np.flatnonzero(count > place)
        data[starts[has] + 4 + place] = digits[has, first[has] + place]
    return pa.Array.from_buffers(pa.binary(), len(steps), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
