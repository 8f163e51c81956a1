"""Rows of an answer as the data of COPY TO STDOUT: text, CSV and binary (PostgreSQL documentation, COPY)."""

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from dpproxy.pgtypes import Column
from dpproxy.wire.backend import frame
from dpproxy.wire.messages import CopyData
from dpproxy.wire.rows import binary_row
from dpproxy.wire.values import encode_value

_SIGNATURE: Final = b"PGCOPY\n\xff\r\n\0" + struct.pack("!II", 0, 0)
_END: Final = struct.pack("!h", -1)
_AT_ONCE: Final = 1000
"""Rows in one piece of bytes; each row is a message of its own, as clients expect."""

Row = Sequence[object]


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows are written; the defaults are those of text.

    ``forced`` says which columns CSV quotes whatever they hold, None for all of them.
    """

    format: Literal["text", "csv", "binary"] = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'
    escape: str = '"'
    forced: frozenset[str] | None = frozenset()

    @property
    def code(self) -> int:
        """The format code that CopyOutResponse tells."""
        return int(self.format == "binary")


def copied(layout: Layout, columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[bytes]:
    """CopyData messages for the rows, framed, many in one piece; a header and an end where the layout has them.

    Raises:
        NumberOutOfRange: a value that its column's type cannot hold.
    """
    if layout.format == "binary":
        yield from _binary(columns, rows)
        return
    line = _csv_line if layout.format == "csv" else _text_line
    if layout.header:
        yield frame(CopyData.tag, line(layout, columns, [column.name.encode() for column in columns]))
    for start in range(0, len(rows), _AT_ONCE):
        written = (_texts(columns, row) for row in rows[start : start + _AT_ONCE])
        yield b"".join(frame(CopyData.tag, line(layout, columns, cells)) for cells in written)


def _binary(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[bytes]:
    first = _SIGNATURE  # it comes with the first message, whichever that is
    for start in range(0, len(rows), _AT_ONCE):
        bodies = [binary_row(columns, row) for row in rows[start : start + _AT_ONCE]]
        bodies[0] = first + bodies[0]
        first = b""
        yield b"".join(frame(CopyData.tag, body) for body in bodies)
    yield frame(CopyData.tag, first + _END)


def _texts(columns: Sequence[Column], row: Row) -> list[bytes | None]:
    return [encode_value(column.type, value, 0) for column, value in zip(columns, row, strict=True)]


# --- text

_ESCAPED: Final = {b"\b": b"\\b", b"\f": b"\\f", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t", b"\v": b"\\v"}


def _text_line(layout: Layout, _: Sequence[Column], cells: Sequence[bytes | None]) -> bytes:
    delimiter = layout.delimiter.encode()
    written = [layout.null.encode() if c is None else _escaped(c, delimiter) for c in cells]
    return delimiter.join(written) + b"\n"


def _escaped(cell: bytes, delimiter: bytes) -> bytes:
    def replaced(found: re.Match[bytes]) -> bytes:
        return _ESCAPED.get(found[0], b"\\" + found[0])

    return re.sub(rb"[\x08\x0c\n\r\t\x0b\\" + re.escape(delimiter) + rb"]", replaced, cell)


# --- CSV


def _csv_line(layout: Layout, columns: Sequence[Column], cells: Sequence[bytes | None]) -> bytes:
    is_needed = _needs_quotes(layout, alone=len(cells) == 1)
    written = [
        layout.null.encode()
        if cell is None
        else _quoted(layout, cell)
        if layout.forced is None or column.name in layout.forced or is_needed(cell)
        else cell
        for column, cell in zip(columns, cells, strict=True)
    ]
    return layout.delimiter.encode().join(written) + b"\n"


def _needs_quotes(layout: Layout, *, alone: bool) -> Callable[[bytes], bool]:
    null, special = layout.null.encode(), (layout.delimiter + layout.quote + "\r\n").encode()
    # A line of \. alone would end the data for older readers.
    return lambda cell: cell == null or (alone and cell == b"\\.") or any(byte in special for byte in cell)


def _quoted(layout: Layout, cell: bytes) -> bytes:
    quote, escape = layout.quote.encode(), layout.escape.encode()
    if escape != quote:
        cell = cell.replace(escape, escape + escape)
    return quote + cell.replace(quote, escape + quote) + quote
