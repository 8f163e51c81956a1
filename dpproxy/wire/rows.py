"""Rows of an answer as DataRow messages, and their description."""

import struct
from collections.abc import Iterable, Sequence
from typing import Final

from dpproxy.values.errors import InvalidParameter, ProtocolViolation
from dpproxy.values.pgtypes import Column
from dpproxy.wire.messages import FieldDescription, RowDescription
from dpproxy.wire.values import Encoder, encode_value, encoder, out_of_range

_NULL: Final = b"\xff\xff\xff\xff"
_LENGTH: Final = struct.Struct("!I")
_HEADER: Final = struct.Struct("!cIH")


def expand_formats(formats: Sequence[int], count: int) -> tuple[int, ...]:
    """One format for each of ``count`` values: none given is all text, one given is for all.

    >>> expand_formats((), 2), expand_formats((1,), 2), expand_formats((0, 1), 2)
    ((0, 0), (1, 1), (0, 1))
    """
    if (unknown := next((code for code in formats if code not in {0, 1}), None)) is not None:
        raise InvalidParameter(f"unsupported format code: {unknown}", hint="0 is text, 1 is binary")
    match len(formats):
        case 0:
            return (0,) * count
        case 1:
            return (formats[0],) * count
        case given if given == count:
            return tuple(formats)
        case given:
            raise ProtocolViolation(f"{given} format codes for {count} values")


def row_description(columns: Sequence[Column], formats: Sequence[int]) -> RowDescription:
    """The shape of rows of ``columns``; ``formats`` by the rule of none, one or all."""
    codes = expand_formats(formats, len(columns))
    return RowDescription(
        tuple(
            FieldDescription(column.name, column.type.oid, column.type.size, column.type.modifier, code)
            for column, code in zip(columns, codes, strict=True)
        )
    )


def _cells(write: Encoder, values: Iterable[object]) -> list[bytes]:
    """Each value with its length before it."""
    length = _LENGTH.pack
    cells: list[bytes] = []
    for value in values:
        if value is None:
            cells.append(_NULL)
        else:
            data = write(value)
            cells.append(length(len(data)) + data)
    return cells


def encode_rows(columns: Sequence[Column], formats: Sequence[int], rows: Sequence[Sequence[object]]) -> bytes:
    """A DataRow message for each row; ``formats`` by the rule of none, one or all.

    Raises:
        NumberOutOfRange: a value that its column's type cannot hold.
    """
    codes = expand_formats(formats, len(columns))
    if not columns:
        return _HEADER.pack(b"D", 6, 0) * len(rows)
    written: list[list[bytes]] = []
    for column, code, values in zip(columns, codes, zip(*rows, strict=True), strict=bool(rows)):
        try:
            written.append(_cells(encoder(column.type, code), values))
        except OverflowError:
            raise out_of_range(column.type) from None
    framed: list[bytes] = []
    for cells in zip(*written, strict=True):
        body = b"".join(cells)
        framed.append(_HEADER.pack(b"D", len(body) + 6, len(columns)))
        framed.append(body)
    return b"".join(framed)


def binary_row(columns: Sequence[Column], row: Sequence[object]) -> bytes:
    """The body of one row in binary: how many fields, then each with its length before it.

    Raises:
        NumberOutOfRange: a value that its column's type cannot hold.
    """
    cells = (encode_value(column.type, value, 1) for column, value in zip(columns, row, strict=True))
    written = [_NULL if cell is None else _LENGTH.pack(len(cell)) + cell for cell in cells]
    return struct.pack("!H", len(columns)) + b"".join(written)
