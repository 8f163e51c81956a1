"""Rows of an answer as the data of COPY TO STDOUT: text, CSV and binary (PostgreSQL documentation, COPY)."""

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from dpproxy.values.pgtypes import Column
from dpproxy.wire.backend import frame
from dpproxy.wire.bulk import Columnar, column_cells, copied_binary, copied_lines
from dpproxy.wire.rows import binary_row
from dpproxy.wire.values import encode_value

_DATA: Final = b"d"
"""The type of a CopyData message."""
_SIGNATURE: Final = b"PGCOPY\n\xff\r\n\0" + struct.pack("!II", 0, 0)
_END: Final = struct.pack("!h", -1)
_AT_ONCE: Final = 1000
"""Rows that are framed at a time; each row is a message of its own, as clients expect."""
_MANY: Final = 20_000
"""The same where rows are held by column."""

Row = Sequence[object]


class CopyLayout(Struct, frozen=True):
    """How rows are written; the defaults are those of text.

    ``force_quote`` names the columns that CSV always quotes, None for all.
    """

    format: Literal["text", "csv", "binary"] = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'
    escape: str = '"'
    force_quote: frozenset[str] | None = frozenset()

    @property
    def code(self) -> int:
        """The format code in CopyOutResponse."""
        return int(self.format == "binary")


def copy_messages(
    layout: CopyLayout, columns: Sequence[Column], rows: Sequence[Row] | Iterable[Sequence[Row]]
) -> Iterator[bytes]:
    """CopyData messages for the rows, framed, many in one piece; a header and an end where the layout has them.

    Rows that are held by column are written so. What is no sequence gives rows some at a time, and at least one.

    Raises:
        NumberOutOfRange: a value that its column's type cannot hold.
    """
    if layout.format == "binary":
        yield from _binary(columns, _parts(rows))
        return
    makers = [_maker(layout, column, alone=len(columns) == 1) for column in columns]
    if layout.header:
        plain = replace(layout, force_quote=frozenset())
        headed = [
            (_maker(plain, column, alone=len(columns) == 1), column.name.encode()) for column in columns
        ]
        yield frame(_DATA, _line(layout, [make.cell(name) for make, name in headed]))
    for part in _parts(rows):
        yield _lines(layout, columns, makers, part)


def _parts(rows: Sequence[Row] | Iterable[Sequence[Row]]) -> Iterable[Sequence[Row]]:
    if not isinstance(rows, Sequence):
        return rows
    size = _MANY if isinstance(rows, Columnar) else _AT_ONCE
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _binary(columns: Sequence[Column], parts: Iterable[Sequence[Row]]) -> Iterator[bytes]:
    """The header comes with the first message, whichever that is."""
    number = -1
    for number, part in enumerate(parts):
        if isinstance(part, Columnar):
            written = copied_binary(columns, part.arrays())
        else:
            written = b"".join(frame(_DATA, binary_row(columns, row)) for row in part)
        yield written if number else _begun(written)
    yield frame(_DATA, (b"" if number >= 0 else _SIGNATURE) + _END)


def _begun(written: bytes) -> bytes:
    """The same messages, the signature inside the first of them."""
    size = int.from_bytes(written[1:5], "big")
    return frame(_DATA, _SIGNATURE + written[5 : 1 + size]) + written[1 + size :]


# --- lines


class _Maker(Struct, frozen=True):
    """How the cells of one column are written: those that ``odd`` is found in are ``changed``."""

    odd: re.Pattern[bytes]
    changed: Callable[[bytes], bytes]
    suspects: tuple[bytes, ...] = ()
    """A cell that is not empty and holds none of these is not odd; without any, who knows."""

    def cell(self, cell: bytes) -> bytes:
        """One of them."""
        return self.changed(cell) if self.odd.search(cell) else cell

    def cells(self, cells: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
        """All of them."""
        if self.suspects and not self._is_suspect(cells):
            return cells
        odd = pc.fill_null(pc.match_substring_regex(cells, self.odd.pattern.decode()), fill_value=False)
        if not pc.any(odd).as_py():
            return cells
        again = [self.changed(cell) for cell in cells.filter(odd).to_pylist()]
        return pc.replace_with_mask(cells, odd, pa.array(again, pa.binary()))

    def _is_suspect(self, cells: Any) -> bool:  # noqa: ANN401
        """Whether one of them may be odd: to look for a byte in all of them at once takes next to no time."""
        _, offsets, data = cells.buffers()
        first, last = np.frombuffer(offsets, np.int32)[[cells.offset, cells.offset + len(cells)]]
        text = b"" if data is None else bytes(data[int(first) : int(last)])
        has_empty = pc.any(pc.equal(pc.binary_length(cells), 0)).as_py()
        return has_empty or any(suspect in text for suspect in self.suspects)


def _maker(layout: CopyLayout, column: Column, *, alone: bool) -> _Maker:
    delimiter = re.escape(layout.delimiter)
    if layout.format == "text":
        odd = re.compile(rf"[\x08\x0c\n\r\t\x0b\\{delimiter}]".encode())
        return _Maker(odd, partial(odd.sub, _escaped), (*_ESCAPED, b"\\", layout.delimiter.encode()))
    if layout.force_quote is None or column.name in layout.force_quote:
        return _Maker(re.compile(b""), partial(_quoted, layout))
    whole = [
        re.escape(layout.null),
        *([r"\\\."] if alone else []),
    ]  # \. alone ends the data for older readers
    text = rf"[{delimiter}{re.escape(layout.quote)}\r\n]|^(?:{'|'.join(whole)})$"
    simple = layout.null == "" and not alone
    suspects = (layout.delimiter.encode(), layout.quote.encode(), b"\r", b"\n") if simple else ()
    return _Maker(re.compile(text.encode()), partial(_quoted, layout), suspects)


_ESCAPED: Final = {b"\b": b"\\b", b"\f": b"\\f", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t", b"\v": b"\\v"}


def _escaped(found: re.Match[bytes]) -> bytes:
    return _ESCAPED.get(found[0], b"\\" + found[0])


def _quoted(layout: CopyLayout, cell: bytes) -> bytes:
    quote, escape = layout.quote.encode(), layout.escape.encode()
    if escape != quote:
        cell = cell.replace(escape, escape + escape)
    return quote + cell.replace(quote, escape + quote) + quote


def _line(layout: CopyLayout, cells: Sequence[bytes | None]) -> bytes:
    null = layout.null.encode()
    return layout.delimiter.encode().join(null if cell is None else cell for cell in cells) + b"\n"


def _lines(
    layout: CopyLayout, columns: Sequence[Column], makers: Sequence[_Maker], rows: Sequence[Row]
) -> bytes:
    """The CopyData messages of some rows."""
    if isinstance(rows, Columnar):
        arrays = zip(makers, columns, rows.arrays(), strict=True)
        cells = [make.cells(column_cells(column, 0, array)) for make, column, array in arrays]
        return copied_lines(cells, layout.delimiter.encode(), layout.null.encode())
    written = []
    for row in rows:
        texts = (encode_value(column.type, value, 0) for column, value in zip(columns, row, strict=True))
        cells = [None if t is None else make.cell(t) for make, t in zip(makers, texts, strict=True)]
        written.append(frame(_DATA, _line(layout, cells)))
    return b"".join(written)
