"""An answer with what it cost and how far off it may be: as rows, as a frame, as a table in a notebook, as a chart."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from html import escape
from importlib.util import find_spec
from typing import Any, Final

from msgspec import Struct

from dpproxy.notebook.chart import Bars, Interval, of_altair, of_matplotlib
from dpproxy.notebook.price import shown

LOW: Final = "_ci_low"
HIGH: Final = "_ci_high"
MOST_SHOWN: Final = 100
"""Rows of the table in a notebook."""
MOST_BARS: Final = 60
LIBRARIES: Final = "matplotlib", "altair"
"""What draws; the first one unless it is not there."""


class Answer(Struct, frozen=True):
    """Released values. ``columns`` have the ends of each noisy column's interval at the end, as the proxy adds them.

    ``cost`` is in epsilon, 0 for what was free; ``remaining`` is what each budget still has for this session.
    """

    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cost: float
    remaining: Mapping[str, float | None]
    notices: tuple[str, ...] = ()

    @property
    def measures(self) -> list[str]:
        """The noisy columns."""
        names = set(self.columns)
        return [one for one in self.columns if {f"{one}{LOW}", f"{one}{HIGH}"} <= names]

    @property
    def keys(self) -> list[str]:
        """The columns that are no noisy one, and no end of an interval."""
        ends = {f"{one}{end}" for one in self.measures for end in (LOW, HIGH)}
        return [one for one in self.columns if one not in ends and one not in self.measures]

    @property
    def half_width(self) -> dict[str, float | None]:
        """How far off the value that is farthest off may be, by noisy column; None where nothing is proved."""
        return {one: max(self._halves(one), default=None) for one in self.measures}

    @property
    def frame(self) -> Any:  # noqa: ANN401 - of whichever package is installed
        """A frame of pandas, else of polars, with the ends of intervals as columns; decimals are floats in it.

        Errors: ImportError where neither is installed.
        """
        columns = {name: [_plain(row[at]) for row in self.rows] for at, name in enumerate(self.columns)}
        try:
            import pandas  # noqa: PLC0415 - where it is used
        except ImportError:
            import polars  # noqa: PLC0415

            return polars.DataFrame(columns)
        return pandas.DataFrame(columns)

    def plot(self, measure: str | None = None, axes: Any = None, library: str | None = None) -> Any:  # noqa: ANN401
        """Bars of a noisy column, by all keys together, with its intervals as error bars.

        A ``Chart`` of matplotlib's, on ``axes`` of its own or these; with ``library="altair"``, or where only that is
        installed, a chart of altair's.

        Errors: ValueError where there is nothing to draw, ImportError where the library is not installed.
        """
        drawn = measure or next(iter(self.measures), None)
        if drawn not in self.measures:
            raise ValueError(f"no noisy column to draw; there are: {', '.join(self.measures) or 'none'}")
        if library not in (None, *LIBRARIES):
            raise ValueError(f"library is one of {', '.join(LIBRARIES)}")
        bars = self._bars(drawn)
        has_other = find_spec("matplotlib") is None and find_spec("altair") is not None
        if library == "altair" or (library is None and axes is None and has_other):
            return of_altair(bars)
        return of_matplotlib(bars, axes)

    def _bars(self, measure: str) -> Bars:
        rows = [row for row in self.rows if row[self._at(measure)] is not None][:MOST_BARS]
        labels = [" / ".join(str(row[self._at(key)]) for key in self.keys) or measure for row in rows]
        values = [float(row[self._at(measure)]) for row in rows]
        return Bars(measure, labels, values, self._ends(measure, rows))

    def _at(self, name: str) -> int:
        return self.columns.index(name)

    def _ends(self, name: str, rows: Sequence[tuple[Any, ...]]) -> list[Interval | None]:
        low, high = self._at(f"{name}{LOW}"), self._at(f"{name}{HIGH}")
        return [
            None if None in (row[low], row[high]) else (float(row[low]), float(row[high])) for row in rows
        ]

    def _halves(self, name: str) -> Iterator[float]:
        at = self._at(name)
        for row, ends in zip(self.rows, self._ends(name, self.rows), strict=True):
            if row[at] is not None and ends is not None:
                yield max(ends[1] - float(row[at]), float(row[at]) - ends[0])

    def __str__(self) -> str:
        cost = f"cost {self.cost:.9g} epsilon" if self.cost else "free"
        left = ", ".join(
            f"{left:.9g} left of {name}" for name, left in self.remaining.items() if left is not None
        )
        halves = ", ".join(
            f"{name} ±{shown(half)}" for name, half in self.half_width.items() if half is not None
        )
        return "; ".join(part for part in (cost, left, f"at most {halves}" if halves else "") if part)

    def _repr_html_(self) -> str:
        """A table: each noisy value with its error beside it, in place of the interval's two columns."""
        names = [*self.keys, *self.measures]
        order = [name for name in self.columns if name in names]
        head = "".join(f"<th>{escape(name)}</th>" for name in order)
        ends = {name: self._ends(name, self.rows) for name in self.measures}
        lines = []
        for number, row in enumerate(self.rows[:MOST_SHOWN]):
            cells = [
                _cell(row[self._at(name)], ends[name][number] if name in ends else None) for name in order
            ]
            lines.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
        more = f"<p>{len(self.rows) - MOST_SHOWN} more rows</p>" if len(self.rows) > MOST_SHOWN else ""
        said = "".join(f"<p>{escape(line)}</p>" for line in (*self.notices, str(self)))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}{said}"


def _cell(value: object, ends: Interval | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
        return str(value)
    text = f"{value:,}" if isinstance(value, int) else f"{float(value):,.6g}"
    return text if ends is None else f"{text} ±{shown((ends[1] - ends[0]) / 2)}"


def _plain(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else value
