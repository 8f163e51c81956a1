"""An answer as people read it: noisy columns with their intervals, numbers rounded to what their error leaves, CSV."""

import csv
import io
import math
from collections.abc import Sequence

from msgspec import Struct

from dpproxy.web.wire import Column, Row, Rows

NUMBERS = frozenset({"int2", "int4", "int8", "numeric", "float4", "float8"})
TIMES = frozenset({"date", "timestamp", "timestamptz", "time"})
LOW, HIGH = "_ci_low", "_ci_high"


class Value(Struct, frozen=True):
    """A number with the interval that it lies in."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """The larger distance to an end of the interval."""
        return max(self.high - self.value, self.value - self.low)

    @property
    def text(self) -> str:
        """The value to two digits of its error."""
        return rounded(self.value, self.half)

    @property
    def error(self) -> str:
        """The error to two digits."""
        return rounded(self.half, self.half)

    @property
    def interval(self) -> str:
        """The ends of the interval."""
        return f"{rounded(self.low, self.half)} to {rounded(self.high, self.half)}"


class Series(Struct, frozen=True):
    """A noisy column: a value for each row, None where it is NULL or has no interval."""

    name: str
    values: tuple[Value | None, ...]


class Table(Struct, frozen=True):
    """An answer without the columns of its intervals: cells are texts, or values with their intervals."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str | Value | None, ...], ...]
    labels: tuple[str, ...]
    """What each row is about: its keys, one beside the other."""
    series: tuple[Series, ...]
    is_ordered: bool
    """Whether the keys are numbers or times, along which a chart has its direction."""


def rounded(value: float, error: float) -> str:
    """A number to two digits of its error.

    >>> rounded(39.1818805765271, 0.1523), rounded(870431.0, 5135.0), rounded(12.0, 0.0)
    ('39.18', '870,400', '12')
    """
    if not (math.isfinite(value) and math.isfinite(error)):
        return f"{value:g}"
    if error <= 0:
        return f"{value:,.6f}".rstrip("0").rstrip(".")
    digits = 1 - math.floor(math.log10(error))
    return f"{round(value, digits) + 0.0:,.{max(0, min(digits, 12))}f}"


def is_number(column: Column) -> bool:
    """Whether a column is shown to the right, as numbers are."""
    return column.kind in NUMBERS


def table(answer: Rows) -> Table:
    """The answer with each noisy column beside its interval."""
    names = [column.name for column in answer.columns]
    ends = {
        i: (names.index(name + LOW), names.index(name + HIGH))
        for i, name in enumerate(names)
        if name + LOW in names and name + HIGH in names
    }
    hidden = {at for pair in ends.values() for at in pair}
    shown = [i for i in range(len(names)) if i not in hidden]
    keys = [i for i in shown if i not in ends]
    series = tuple(
        Series(names[i], tuple(_value(row, i, *ends[i]) for row in answer.rows)) for i in shown if i in ends
    )
    by_column = dict(zip((i for i in shown if i in ends), series, strict=True))
    rows = tuple(
        tuple((by_column[i].values[n] if i in ends else None) or row[i] for i in shown)
        for n, row in enumerate(answer.rows)
    )
    labels = tuple(" · ".join("none" if row[i] is None else str(row[i]) for i in keys) for row in answer.rows)
    ordered = bool(keys) and answer.columns[keys[0]].kind in NUMBERS | TIMES
    return Table(tuple(answer.columns[i] for i in shown), rows, labels, series, ordered)


def _value(row: Row, *places: int) -> Value | None:
    texts = [row[at] for at in places]
    if None in texts:
        return None
    value, low, high = (float(text or "nan") for text in texts)
    return Value(value, low, high) if all(map(math.isfinite, (value, low, high))) else None


def as_csv(answer: Rows) -> str:
    """All columns as the proxy wrote them; a text that a spreadsheet would take for a formula starts with a quote."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([_plain(column.name) for column in answer.columns])
    kinds = [column.kind in NUMBERS for column in answer.columns]
    for row in answer.rows:
        writer.writerow(_cells(row, kinds))
    return out.getvalue()


def _cells(row: Row, are_numbers: Sequence[bool]) -> list[str]:
    return [
        "" if text is None else text if is_numeric else _plain(text)
        for text, is_numeric in zip(row, are_numbers, strict=True)
    ]


def _plain(text: str) -> str:
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
