"""Bars with error bars, by whichever package a notebook has."""

from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from typing import Any, Final

from msgspec import Struct

COLOUR: Final = "#7aa6c2"
Interval = tuple[float, float]


class Bars(Struct, frozen=True):
    """What is drawn: a value for each label, with the interval that it lies in; None where none is proved."""

    title: str
    labels: Sequence[str]
    values: Sequence[float]
    intervals: Sequence[Interval | None]

    @property
    def axis(self) -> str:
        """What is written at the axis of values."""
        return f"{self.title}, with its intervals" if any(self.intervals) else self.title


class Chart(Struct, frozen=True):
    """A chart of matplotlib's, which a notebook shows as it is; ``axes`` may be changed."""

    axes: Any

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.axes.figure.savefig(content, format="png", dpi=80)
        return content.getvalue()


def of_matplotlib(bars: Bars, axes: Any = None) -> Chart:  # noqa: ANN401 - matplotlib's
    """Drawn on axes of matplotlib's, or on new ones. Raises ImportError where it is not installed."""
    if axes is None:
        from matplotlib.figure import Figure  # noqa: PLC0415 - where it is used

        height = 0.5 + 0.35 * max(2, len(bars.values))
        axes = Figure(figsize=(7, height), layout="tight").subplots()
    known = [(v, v) if one is None else one for one, v in zip(bars.intervals, bars.values, strict=True)]
    errors = [
        [max(0.0, value - low) for (low, _), value in zip(known, bars.values, strict=True)],
        [max(0.0, high - value) for (_, high), value in zip(known, bars.values, strict=True)],
    ]
    axes.barh(bars.labels, bars.values, xerr=errors, capsize=3, color=COLOUR)
    axes.invert_yaxis()
    axes.set_xlabel(bars.axis)
    return Chart(axes)


def of_altair(bars: Bars) -> Any:  # noqa: ANN401 - altair's
    """A chart of altair's, which knows labels, values and ends of intervals. Raises ImportError."""
    altair: Any = import_module("altair")
    rows = []
    for label, value, interval in zip(bars.labels, bars.values, bars.intervals, strict=True):
        low, high = interval or (None, None)
        rows.append({"label": label, "value": value, "low": low, "high": high})
    by_label = altair.Y("label:N", sort=None, title=None)
    base = altair.Chart(altair.Data(values=rows)).encode(
        y=by_label, tooltip=["label:N", "value:Q", "low:Q", "high:Q"]
    )
    drawn = base.mark_bar(color=COLOUR).encode(x=altair.X("value:Q", title=bars.axis))
    return drawn + base.mark_rule(strokeWidth=2).encode(x=altair.X("low:Q", title=bars.axis), x2="high:Q")
