"""What VERIFY PROTECTED VIEW says of views, as bars: one picture for each figure, one bar for each view."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Record = Mapping[str, str | None]

RISK, LOSS = "how well people are protected", "how much the data has changed"
FIGURES: Final[Mapping[str, tuple[str, str, float]]] = {
    "linkage_risk": (RISK, "rows that can be linked to their person by what is not sensitive", 1),
    "linkage_risk_informed": (RISK, "rows that can be linked by somebody who knows all columns", 1),
    "information_loss": (LOSS, "information lost", 100),
    "mean_change": (LOSS, "change of averages", 100),
    "variance_change": (LOSS, "change of variances", 100),
    "correlation_change": (LOSS, "change of correlations", 100),
}
"""What each column says: of which of two groups, in words, and what makes percent of it."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A view's figure; its width is in percent of the picture."""

    view: str
    text: str
    width: float


@dataclass(frozen=True, slots=True)
class Picture:
    """One figure of all views; the whole width is 100 %, or the largest figure where that is more."""

    group: str
    words: str
    bars: tuple[Bar, ...]


def pictures(verified: Sequence[Record]) -> list[Picture]:
    """A picture for each figure that some view shows: others need EXACT SELECT on the view's tables."""
    found = []
    for name, (group, words, scale) in FIGURES.items():
        shown = [
            (one["view"] or "", scale * float(value)) for one in verified if (value := one[name]) is not None
        ]
        whole = max([100.0, *(value for _, value in shown)])
        bars = [Bar(view, f"{value:.3g} %", round(100 * value / whole, 2)) for view, value in shown]
        if bars:
            found.append(Picture(group, words, tuple(bars)))
    return found
