"""From the engine's values to the client's: scaled integers become numbers, counts are clamped at zero.

Large answers from public tables and views are streamed: rows that were read are not kept.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from math import nan
from typing import Any, Final, overload

import numpy as np
import pyarrow as pa

from dpproxy.algebra.evaluation import Floats
from dpproxy.algebra.plan import Answer, Output
from dpproxy.values.errors import NumberOutOfRange, PortalState, TooComplex
from dpproxy.values.pgtypes import (
    DATE,
    FLOAT8,
    FLOATS,
    INT2,
    INT4,
    INT8,
    INTEGERS,
    INTERVAL,
    NUMERIC,
    PLAIN,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    SqlType,
)
from dpproxy.wire.plain import plain_values
from dpproxy.wire.values import decode

_RANGES = {INT2.oid: 2**15, INT4.oid: 2**31, INT8.oid: 2**63}
_BITS = {INT2.oid: 16, INT4.oid: 32, INT8.oid: 64}
_AT_ONCE: Final = 2_000
"""Rows converted at a time."""
_DIGITS = 15
"""Significant digits of a numeric that was computed as a DOUBLE."""
_WIDE = Context(prec=400)
"""Holds every HUGEINT and every DOUBLE at every scale; the default of 28 digits rounds or refuses them."""

_FIRST_LAST: Final = {
    DATE.oid: (date.min, date.max),
    TIMESTAMP.oid: (datetime.min, datetime.max),  # noqa: DTZ901 - of no time zone
}
"""The least and the greatest value that Python can represent."""


def convert(
    outputs: Sequence[Output], rows: Sequence[tuple[object, ...]] | pa.Table
) -> "list[tuple[object, ...]] | Portions":
    """Rows in the types of the columns, without values behind these; those of a table as they are read.

    Raises ``NumberOutOfRange`` for a numeric that is not a number.
    """
    if isinstance(rows, pa.Table):
        return Portions(outputs, rows.select(range(len(outputs))))
    makers = [_maker(output) for output in outputs]
    return [tuple(make(value) for make, value in zip(makers, row, strict=False)) for row in rows]


class Portions(Sequence[tuple[object, ...]]):
    """Rows of an Arrow table in the types of the columns, converted when they are read, to save memory."""

    __slots__ = ("_outputs", "_table")

    def __init__(self, outputs: Sequence[Output], table: pa.Table) -> None:
        self._outputs = outputs
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def nbytes(self) -> int:
        """The bytes that the table takes in memory."""
        return int(self._table.nbytes)

    @overload
    def __getitem__(self, index: int) -> tuple[object, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> "Portions": ...

    def __getitem__(self, index: int | slice) -> "tuple[object, ...] | Portions":
        """One row, or a slice with step 1 or -1. Raises ``ValueError`` for another step."""
        if isinstance(index, int):
            [row] = self[index : index + 1] if index >= 0 else self[len(self) + index : len(self) + index + 1]
            return row
        start, stop, step = index.indices(len(self))
        if step == -1:
            turned = self._table.slice(stop + 1, max(0, start - stop))
            return Portions(self._outputs, turned.take(pa.array(np.arange(len(turned))[::-1])))
        if step != 1:
            raise ValueError("portions are read in order")
        return Portions(self._outputs, self._table.slice(start, max(0, stop - start)))

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        makers = [_maker(output) for output in self._outputs]
        for start in range(0, len(self), _AT_ONCE):
            part = self._table.slice(start, _AT_ONCE)
            columns = [
                [make(value) for value in _values_of(output, column)]
                for output, make, column in zip(self._outputs, makers, part.columns, strict=True)
            ]
            yield from zip(*columns, strict=True)

    def numbers(self, place: int) -> Floats:
        """A column as floating-point numbers, NaN for whatever is none."""
        column = self._table.select([place]).combine_chunks().column(0)
        is_double = pa.types.is_floating(column.type)
        return _floats(column.combine_chunks() if is_double else _array(self._outputs[place], column))

    def arrays(self) -> list[Any]:
        """The columns as ``wire.bulk`` takes them.

        Raises:
            NumberOutOfRange: a numeric that is not a number.
        """
        table = self._table.combine_chunks()
        return [_array(output, column) for output, column in zip(self._outputs, table.columns, strict=True)]


def numbers(rows: Sequence[Sequence[object]] | pa.Table, place: int) -> Floats:
    """A column as floating-point numbers, NaN for whatever is none."""
    if isinstance(rows, Portions):
        return rows.numbers(place)
    if isinstance(rows, pa.Table):
        return _floats(rows.column(place).combine_chunks())
    return np.array(
        [float(v) if isinstance(v := row[place], int | float | Decimal) else nan for row in rows], float
    )


def _floats(array: Any) -> Floats:  # noqa: ANN401
    if isinstance(array, list):
        return numbers([(value,) for value in array], 0)
    kind = array.type
    if not (pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_floating(kind)):
        return np.full(len(array), nan)
    found: Floats = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def _values_of(output: Output, column: pa.ChunkedArray) -> list[object]:
    if output.column.type.oid not in PLAIN:
        return list(_within_years(output, column).to_pylist())
    return [value for chunk in column.chunks for value in _plain(chunk)]


def _plain(array: Any) -> list[object]:  # noqa: ANN401 - of pyarrow
    try:
        return plain_values(array)
    except OverflowError:
        raise NumberOutOfRange("a moment outside the years 1 to 9999") from None


def _array(output: Output, column: pa.ChunkedArray) -> Any:  # noqa: ANN401 - an array, or a list of what has no array
    array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    kind, oid = array.type, output.column.type.oid
    if oid in INTEGERS and _is_whole(kind) and (whole := _fitting(array, _BITS[oid])) is not None:
        return _clamped(output, whole)
    if oid == NUMERIC.oid and output.scale is not None and _is_whole(kind):
        steps = array.cast(pa.decimal128(38, 0))
        return pa.Array.from_buffers(
            pa.decimal128(38, output.scale), len(steps), steps.buffers(), offset=steps.offset
        )
    if oid in PLAIN:
        return _plain(array)
    if oid in _FIRST_LAST:
        return _within_years(output, array)
    if oid not in INTEGERS and oid != NUMERIC.oid and oid not in FLOATS:
        return array
    if oid == FLOAT8.oid and pa.types.is_float64(kind):
        return array
    make = _maker(output)
    return [make(value) for value in array.to_pylist()]


def _fitting(array: Any, bits: int) -> Any:  # noqa: ANN401
    """Whole numbers of so many bits, None where some have more."""
    kind = pa.int64() if pa.types.is_decimal(array.type) else array.type
    try:
        return array.cast(kind) if kind.bit_width <= bits else None
    except pa.ArrowInvalid:
        return None


def _clamped(output: Output, array: Any) -> Any:  # noqa: ANN401
    """A released count, clamped to its floor and its ceiling."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as long to load as numpy

    kind = array.type
    if output.floor is not None:
        array = pc.max_element_wise(array, pa.scalar(output.floor, kind), skip_nulls=False)
    if output.ceiling is not None and output.ceiling < 2 ** (kind.bit_width - 1):
        array = pc.min_element_wise(array, pa.scalar(output.ceiling, kind), skip_nulls=False)
    return array


def _within_years(output: Output, array: Any) -> Any:  # noqa: ANN401
    """Dates and timestamps, with infinity as the end of the year 9999. Raises ``NumberOutOfRange``."""
    if output.column.type.oid not in _FIRST_LAST:
        return array
    import pyarrow.compute as pc  # noqa: PLC0415

    first, last = _FIRST_LAST[output.column.type.oid]
    kind, steps = array.type, pa.int32() if array.type == pa.date32() else pa.int64()
    low, high = (pa.scalar(one, kind).cast(steps).as_py() for one in (first, last))
    numbers = array.cast(steps)
    extent = pc.min_max(numbers).as_py()
    if extent["min"] is None or (low <= extent["min"] and extent["max"] <= high):
        return array
    endless = 2 ** (steps.bit_width - 1) - 1
    for one, other in ((endless, high), (-endless, low)):
        numbers = pc.if_else(pc.equal(numbers, one), pa.scalar(other, steps), numbers)
    extent = pc.min_max(numbers).as_py()
    if not low <= extent["min"] <= extent["max"] <= high:
        raise NumberOutOfRange("a date is outside of the years 1 to 9999")
    return numbers.cast(kind)


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_signed_integer(kind) or (pa.types.is_decimal128(kind) and kind.scale == 0))


def _maker(output: Output) -> Callable[[object], object]:
    oid = output.column.type.oid
    make: Callable[[object], object]
    if oid in INTEGERS:
        make = _integer(_RANGES[oid], output)
    elif oid == NUMERIC.oid:
        make = _scaled(output.scale) if output.scale is not None else _decimal(output.column.type.scale)
    elif oid in FLOATS:
        make = _float
    elif oid == TIMESTAMPTZ.oid:
        make = _aware
    elif oid in (INTERVAL.oid, TIME.oid):
        make = _read_as(output.column.type)
    elif oid in PLAIN:
        return lambda value: value
    else:
        make = _same
    return lambda value: None if value is None else make(value)


def _aware(value: object) -> object:
    """A timestamp without a zone, computed over released values, is in UTC."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def _read_as(kind: SqlType) -> Callable[[object], object]:
    """A span or a time of day that was computed over released values comes as a text."""
    return lambda value: decode(kind, value.encode(), 0) if isinstance(value, str) else value


def _integer(limit: int, output: Output) -> Callable[[object], int]:
    """Clamp integers to floor and ceiling, and to the range of their type, which noise may exceed."""
    low = -limit if output.floor is None else output.floor
    high = limit - 1 if output.ceiling is None else min(limit - 1, output.ceiling)

    def make(value: object) -> int:
        return max(low, min(high, int(str(value))))

    return make


def _scaled(scale: int) -> Callable[[object], Decimal]:
    return lambda value: Decimal(str(value)).scaleb(-scale, _WIDE)


def _decimal(scale: int | None) -> Callable[[object], Decimal]:
    def make(value: object) -> Decimal:
        number = Decimal(f"{value:.{_DIGITS}g}")
        if not number.is_finite():
            raise NumberOutOfRange("a numeric over released values is not a finite number")
        plain = number if scale is None else number.quantize(Decimal((0, (1,), -scale)), context=_WIDE)
        return Decimal(format(plain, "f"))

    return make


def _float(value: object) -> float:
    return float(str(value))


def _same(value: object) -> object:
    if isinstance(value, bool | str | date | datetime):
        return value
    return str(value)


# --- streams

LARGEST_WHOLE: Final = 64_000_000
"""The most bytes of rows that are kept for a cursor that scrolls."""


class RowStream:
    """A ``plan.Scrollable`` over batches, of which ``held`` have been read already."""

    def __init__(
        self, outputs: Sequence[Output], batches: Generator[pa.Table], held: Sequence[pa.Table]
    ) -> None:
        self._outputs = outputs
        self._batches = batches
        self._held = list(held)
        self.is_open = True
        self._why_cut = ""

    def take(self, most: int) -> Portions:
        """The next rows, at most ``most``; empty only after the last one. Raises ``PortalState`` after ``close``."""
        if self._why_cut:
            raise PortalState(f"the cursor is closed: {self._why_cut}", hint="Open it anew.")
        if not self._held and self.is_open:
            self._read()
        if not self._held:
            return Portions(self._outputs, _NOTHING)
        table = self._held[0]
        if table.num_rows > most:
            self._held[0] = table.slice(most)
        else:
            del self._held[0]
        return Portions(self._outputs, table.slice(0, most))

    def whole(self) -> Portions:
        """All remaining rows. Raises ``TooComplex`` where they are more than ``LARGEST_WHOLE``."""
        tables, size = self._held, sum(table.nbytes for table in self._held)
        self._held = []
        while self.is_open:
            self._read()
            size += sum(table.nbytes for table in self._held)
            tables += self._held
            self._held = []
            if size > LARGEST_WHOLE:
                self.close()
                raise TooComplex(
                    f"a cursor that scrolls would hold more than {LARGEST_WHOLE} bytes",
                    hint="Declare it with NO SCROLL, or add LIMIT.",
                )
        return Portions(self._outputs, pa.concat_tables(tables) if tables else _NOTHING)

    def close(self) -> None:
        """Stop the query."""
        if self.is_open:
            self._why_cut = "its rows were not read for too long"
        self.is_open = False
        self._held = []
        self._batches.close()

    def _read(self) -> None:
        try:
            batch = next(self._batches, None)
        except BaseException:
            self.is_open = False
            self._why_cut = "reading its rows failed"
            raise
        if batch is None:
            self.is_open = False
        else:
            self._held.append(batch)


_NOTHING: Final = pa.table({})


def streamed_answer(outputs: Sequence[Output], batches: Generator[pa.Table]) -> Answer:
    """An answer with all its rows where they are one batch; else with a stream, which the caller must close."""
    held = [batch for _ in range(2) if (batch := next(batches, None)) is not None]
    if len(held) > 1:
        return Answer("SELECT", stream=RowStream(outputs, batches, held))
    rows: Sequence[tuple[object, ...]] = Portions(outputs, held[0]) if held else ()
    return Answer(f"SELECT {len(rows)}", rows=rows)
