"""Charts of an answer: bars or points with their intervals, in percent of a width that the browser chooses."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from dpproxy.web.answers import Series, Table, Value, rounded

MOST_MARKS: Final = 60
"""Marks of a chart; an answer of more rows is shown as a table alone."""
MOST_CHARTS: Final = 4
ROW: Final = 44
"""Pixels from one bar to the next."""
HEIGHT: Final = 240
"""Pixels of the area in which points lie."""
MOST_TICKS: Final = 6
_LONGEST: Final = 48


class Mark(Struct, frozen=True):
    """One value: where its bar or point is, and where its interval begins and ends."""

    label: str
    text: str
    at: float
    """The place of a bar from above in pixels, or of a point from the left in percent."""
    value: float
    low: float
    high: float
    is_unclear: bool
    """Whether the error is larger than the value."""


class Tick(Struct, frozen=True):
    """A line across the chart with its number."""

    at: float
    text: str


class Chart(Struct, frozen=True):
    """A chart of one noisy column; of bars ``zero`` is where they begin, in percent."""

    name: str
    is_upright: bool
    height: int
    zero: float
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    words: str
    """What the chart shows, for those who do not see it."""


def charts(table: Table) -> list[Chart]:
    """A chart for each noisy column, where there are rows to compare, and not too many."""
    if not 2 <= len(table.rows) <= MOST_MARKS:
        return []
    return [
        _chart(one, table)
        for one in table.series[:MOST_CHARTS]
        if sum(value is not None for value in one.values) > 1
    ]


def _chart(series: Series, table: Table) -> Chart:
    pairs = [(label, v) for label, v in zip(table.labels, series.values, strict=True) if v is not None]
    is_upright = table.is_ordered and len(pairs) > 2
    bottom, top = _span([value for _, value in pairs], is_upright=is_upright)
    marks = [_mark(n, *pair, (bottom, top), len(pairs) if is_upright else 0) for n, pair in enumerate(pairs)]
    ticks = [
        Tick(
            _part(bottom + (top - bottom) * n / 4, bottom, top),
            rounded(bottom + (top - bottom) * n / 4, top - bottom),
        )
        for n in range(5)
    ]
    zero = _part(min(max(0.0, bottom), top), bottom, top)
    height = HEIGHT if is_upright else ROW * len(pairs)
    return Chart(
        series.name, is_upright, height, zero, tuple(marks), tuple(ticks), _words(series.name, pairs)
    )


def _span(values: Sequence[Value], *, is_upright: bool) -> tuple[float, float]:
    """The least and the greatest number of the axis: bars start at zero, points may lie far from it."""
    low, high = min(v.low for v in values), max(v.high for v in values)
    if not is_upright or low < (high - low):
        low, high = min(0.0, low), max(0.0, high)
    room = 0.04 * (high - low) or 1.0
    bottom = low - room * (low < 0 or (is_upright and low > 0))
    return bottom, max(high + room * (high > 0), bottom + room)


def _mark(number: int, label: str, value: Value, span: tuple[float, float], columns: int) -> Mark:
    at = 100.0 * (number + 0.5) / columns if columns else ROW * number
    short = label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"
    middle, low, high = (_part(one, *span) for one in (value.value, value.low, value.high))
    return Mark(short, f"{value.text} ± {value.error}", at, middle, low, high, value.half > abs(value.value))


def _part(value: float, bottom: float, top: float) -> float:
    return round(100.0 * (value - bottom) / (top - bottom), 3)


def _words(name: str, pairs: Sequence[tuple[str, Value]]) -> str:
    listed = "; ".join(f"{label}: {value.text}, within {value.interval}" for label, value in pairs)
    return f"{name} with the interval that each value lies in. {listed}."


def shown_ticks(chart: Chart) -> list[Mark]:
    """The marks of a chart of points whose labels stand below it."""
    step = -(-len(chart.marks) // MOST_TICKS)
    return list(chart.marks[::step])
