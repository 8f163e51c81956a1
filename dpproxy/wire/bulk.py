"""Many rows at once as DataRow or CopyData messages: whole columns to bytes, then all rows put together.

A column comes as an Arrow array: integers, decimals of the column's scale, doubles, texts, booleans, dates or moments.
What is rare or has no fast form is written value by value, by ``wire.values``: the bytes are the same either way.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    VARCHAR,
    Column,
)
from dpproxy.wire.rows import expand_formats
from dpproxy.wire.values import NO_CHARACTER, encode_value

_BASE: Final = 10_000
_WIDEST: Final = 10**15
"""Below this, steps times 10^3 are int64 still."""


def numeric_cells(array: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Decimals of one scale as bytes, NULL where they are NULL; those of more than 15 digits one by one."""
    scale = array.type.scale
    low, high = _steps(array)
    plain = (high == low >> 63) & (np.abs(low) < _WIDEST)
    valid = np.asarray(array.is_valid())
    cells = _numeric_bytes(np.where(plain, low, 0), scale)
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


def _numeric_bytes(steps: NDArray[np.int64], scale: int) -> Any:  # noqa: ANN401
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


Array = Any
"""pyarrow has no types."""


@runtime_checkable
class Columnar(Protocol):
    """Rows that are held by column."""

    def arrays(self) -> list[Array]:
        """One array for each column, or a list of values that have none."""


_DAYS: Final = 10_957
"""From 1970-01-01 to 2000-01-01."""
_MICROSECONDS: Final = _DAYS * 86_400_000_000
_SURE: Final = 1e15
"""From here on PostgreSQL shows a float8 with an exponent."""


def data_rows(columns: Sequence[Column], formats: Sequence[int], arrays: Sequence[Array]) -> bytes:
    """A DataRow message for each row; ``formats`` by the rule of none, one or all. Not for rows without columns.

    Raises:
        NumberOutOfRange: a value that its column's type cannot hold.
    """
    codes = expand_formats(formats, len(columns))
    cells = [column_cells(c, code, a) for c, code, a in zip(columns, codes, arrays, strict=True)]
    pieces, sizes = _with_lengths(cells)
    head = np.empty((len(sizes), 7), dtype=np.uint8)
    head[:, 0] = ord("D")
    head[:, 1:5] = (sizes + 6).astype(">i4")[:, None].view(np.uint8)
    head[:, 5:7] = np.array([len(columns)], dtype=">u2").view(np.uint8)
    return _join_rows([fixed(head), *pieces])


def copied_binary(columns: Sequence[Column], arrays: Sequence[Array]) -> bytes:
    """A CopyData message for each row, in binary; without the header and the end of the data."""
    pieces, sizes = _with_lengths([column_cells(c, 1, a) for c, a in zip(columns, arrays, strict=True)])
    head = np.empty((len(sizes), 7), dtype=np.uint8)
    head[:, 0] = ord("d")
    head[:, 1:5] = (sizes + 6).astype(">i4")[:, None].view(np.uint8)
    head[:, 5:7] = np.array([len(columns)], dtype=">u2").view(np.uint8)
    return _join_rows([fixed(head), *pieces])


def copied_lines(cells: Sequence[Array], between: bytes, null: bytes) -> bytes:
    """A CopyData message for each row: its cells with something between them, and a line break at the end."""
    filled = [pc.fill_null(cell, pa.scalar(null, pa.binary())) for cell in cells]
    sizes = np.full(len(cells[0]), len(between) * (len(cells) - 1) + 1, dtype=np.int64)
    for cell in filled:
        sizes += pc.binary_length(cell).to_numpy(zero_copy_only=False)
    head = np.empty((len(sizes), 5), dtype=np.uint8)
    head[:, 0] = ord("d")
    head[:, 1:5] = (sizes + 4).astype(">i4")[:, None].view(np.uint8)
    ends = [pa.scalar(between, pa.binary())] * (len(cells) - 1) + [pa.scalar(b"\n", pa.binary())]
    return _join_rows([fixed(head), *(piece for pair in zip(filled, ends, strict=True) for piece in pair)])


def fixed(rows: NDArray[Any]) -> Array:
    """Values of equal width, shape (rows, bytes), as an array of bytes."""
    held = np.ascontiguousarray(rows)
    width = held.shape[1]
    offsets = np.arange(0, (len(held) + 1) * width, width, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), len(held), [None, pa.py_buffer(offsets), pa.py_buffer(held)])


def _with_lengths(cells: Sequence[Array]) -> tuple[list[Array], NDArray[np.int64]]:
    """Each cell's length before it, -1 for NULL; and the bytes of each row."""
    sizes = np.zeros(len(cells[0]), dtype=np.int64)
    pieces = []
    for cell in cells:
        lengths = pc.fill_null(pc.binary_length(cell), -1).to_numpy(zero_copy_only=False)
        sizes += 4 + np.maximum(lengths, 0)
        pieces += [fixed(lengths.astype(">i4")[:, None].view(np.uint8)), pc.fill_null(cell, b"")]
    return pieces, sizes


def _join_rows(pieces: Sequence[Array]) -> bytes:
    joined = pc.binary_join_element_wise(*pieces, b"")
    offsets = joined.buffers()[1]
    last = int(np.frombuffer(offsets, dtype=np.int32, count=len(joined) + 1)[-1])
    data = joined.buffers()[2]
    return b"" if data is None else bytes(data[:last])


# --- one column


def column_cells(column: Column, code: int, array: Array) -> Array:
    """The bytes of each value, NULL where it is NULL; values that have no array come as a list."""
    if isinstance(array, list):
        return pa.array([encode_value(column.type, value, code) for value in array], pa.binary())
    if pa.types.is_null(array.type):
        return array.cast(pa.binary())
    write = _WRITERS[code].get(column.type.oid)
    if write is not None and _is_plain(column, array):
        return write(array)
    written = [encode_value(column.type, value, code) for value in array.to_pylist()]
    return pa.array(written, pa.binary())


def _is_plain(column: Column, array: Array) -> bool:
    """Whether the array is of the kind that the fast form is made for."""
    kind = array.type
    if column.type.oid == NUMERIC.oid:
        return pa.types.is_decimal128(kind) and column.type.scale in (None, kind.scale)
    return any(check(kind) for check in _KINDS[column.type.oid])


def _text_of(array: Array) -> Array:
    return array.cast(pa.string()).cast(pa.binary())


def _string_of(array: Array) -> Array:
    cells = _text_of(array)
    return pc.replace_substring(cells, b"\0", NO_CHARACTER.encode()) if b"\0" in _bytes_of(cells) else cells


def _bytes_of(cells: Array) -> bytes:
    """The bytes of all cells, one after the other."""
    _, offsets, data = cells.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32, count=cells.offset + len(cells) + 1)
    return b"" if data is None else bytes(memoryview(data)[ends[cells.offset] : ends[-1]])


def _bool_text(array: Array) -> Array:
    return pc.if_else(array, pa.scalar(b"t", pa.binary()), pa.scalar(b"f", pa.binary()))


def _float_text(array: Array) -> Array:
    """Arrow writes the shortest digits, and an exponent sooner than PostgreSQL: those are written again."""
    values = array.cast(pa.float64())
    size = pc.abs(values)
    odd = pc.or_(pc.invert(pc.is_finite(values)), pc.or_(pc.greater_equal(size, 1e9), pc.less(size, 1e-3)))
    odd = pc.fill_null(pc.and_(odd, pc.not_equal(size, 0.0)), fill_value=False)
    texts = _text_of(values)
    return _rewritten(texts, values, odd, FLOAT8)


def _rewritten(texts: Array, values: Array, odd: Array, kind: Any) -> Array:  # noqa: ANN401 - an SqlType
    if not pc.any(odd).as_py():
        return texts
    again = [encode_value(kind, value, 0) for value in values.filter(odd).to_pylist()]
    return pc.replace_with_mask(texts, odd, pa.array(again, pa.binary()))


def _decimal_text(array: Array) -> Array:
    """Arrow writes small numbers of many digits with an exponent: those are written again."""
    texts = array.cast(pa.string())
    odd = pc.fill_null(pc.match_substring(texts, "E"), fill_value=False)
    kind = NUMERIC.with_precision(38, array.type.scale)
    return _rewritten(texts.cast(pa.binary()), array, odd, kind)


def _moment_text(array: Array) -> Array:
    texts = pc.utf8_rtrim(array.cast(pa.timestamp("us")).cast(pa.string()), "0")
    return pc.utf8_rtrim(texts, ".").cast(pa.binary())


def _big_endian(array: Array, kind: str, shift: int = 0) -> Array:
    """Big-endian bytes of numbers, which are all in range; NULL for NULL."""
    valid = array.is_valid()
    zero = pa.scalar(0, array.type)
    numbers = pc.fill_null(array, zero).to_numpy(zero_copy_only=False)
    if shift:
        numbers = numbers - shift
    made = fixed(numbers.astype(kind)[:, None].view(np.uint8))
    return made if not array.null_count else pc.if_else(valid, made, pa.scalar(None, pa.binary()))


def _integer_binary(size: int, array: Array) -> Array:
    return _big_endian(array.cast(pa.int64()), f">i{size}")


def _bool_binary(array: Array) -> Array:
    return pc.if_else(array, pa.scalar(b"\1", pa.binary()), pa.scalar(b"\0", pa.binary()))


def _date_binary(array: Array) -> Array:
    return _big_endian(array.cast(pa.int32()), ">i4", _DAYS)


def _moment_binary(array: Array) -> Array:
    return _big_endian(array.cast(pa.timestamp("us")).cast(pa.int64()), ">i8", _MICROSECONDS)


def _fits(bits: int) -> Callable[[Any], bool]:
    """Integer types of no more bits: nothing of them is out of range."""
    return lambda kind: pa.types.is_signed_integer(kind) and kind.bit_width <= bits


_IS_TEXT: Final = (pa.types.is_string, pa.types.is_large_string)
_KINDS: Final[Mapping[int, tuple[Callable[[Any], bool], ...]]] = MappingProxyType({
    INT2.oid: (_fits(16),),
    INT4.oid: (_fits(32),),
    INT8.oid: (_fits(64),),
    FLOAT8.oid: (pa.types.is_float64,),
    BOOL.oid: (pa.types.is_boolean,),
    TEXT.oid: _IS_TEXT,
    VARCHAR.oid: _IS_TEXT,
    DATE.oid: (pa.types.is_date32,),
    TIMESTAMP.oid: (lambda kind: pa.types.is_timestamp(kind) and kind.tz is None and kind.unit == "us",),
})  # fmt: skip
_TEXTS: Final[Mapping[int, Callable[[Array], Array]]] = MappingProxyType({
    **dict.fromkeys((INT2.oid, INT4.oid, INT8.oid, DATE.oid), _text_of),
    **dict.fromkeys((TEXT.oid, VARCHAR.oid), _string_of),
    FLOAT8.oid: _float_text,
    BOOL.oid: _bool_text,
    TIMESTAMP.oid: _moment_text,
    NUMERIC.oid: _decimal_text,
})  # fmt: skip
_BINARIES: Final[Mapping[int, Callable[[Array], Array]]] = MappingProxyType({
    INT2.oid: partial(_integer_binary, 2),
    INT4.oid: partial(_integer_binary, 4),
    INT8.oid: partial(_integer_binary, 8),
    FLOAT8.oid: lambda array: _big_endian(array, ">f8"),
    BOOL.oid: _bool_binary,
    TEXT.oid: _string_of,
    VARCHAR.oid: _string_of,
    DATE.oid: _date_binary,
    TIMESTAMP.oid: _moment_binary,
    NUMERIC.oid: numeric_cells,
})  # fmt: skip
_WRITERS: Final = (_TEXTS, _BINARIES)
