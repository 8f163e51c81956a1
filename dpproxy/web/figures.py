"""What VERIFY says of views, and what a cube says of its errors, as bars: one picture for each figure."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

Record = Mapping[str, str | None]

RISK, LOSS = "how well people are protected", "how much the data has changed"
ERRORS: Final = "how far off answers from {} are"
MOST_MARGINALS: Final = 8
"""Besides single cells."""
CELL: Final = "one cell"
FIGURES: Final[Mapping[str, tuple[str, str, float]]] = {
    "linkage_risk": (RISK, "rows that can be linked to their person by what is not sensitive", 1),
    "linkage_risk_informed": (RISK, "rows that can be linked by somebody who knows all columns", 1),
    "information_loss": (LOSS, "information lost", 100),
    "mean_change": (LOSS, "change of averages", 100),
    "variance_change": (LOSS, "change of variances", 100),
    "correlation_change": (LOSS, "change of correlations", 100),
}
"""What each column says: of which of two groups, in words, and what makes percent of it."""


class Bar(Struct, frozen=True):
    """A view's figure; its width is in percent of the picture."""

    view: str
    text: str
    width: float


class Picture(Struct, frozen=True):
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
        bars = [Bar(view, f"{short(value)} %", round(100 * value / whole, 2)) for view, value in shown]
        if bars:
            found.append(Picture(group, words, tuple(bars)))
    return found


def errors(cube: str, marginals: Sequence[Record]) -> list[Picture]:
    """A picture for each measure of a cube: one standard deviation, by how many cells are added up; the least first.

    Single cells are always there.
    """
    found = []
    for measure in [name for name in (marginals[0] if marginals else ()) if name.endswith("_sd")]:
        by_error = sorted((float(one[measure] or 0), _added(one)) for one in marginals)
        listed = by_error[:MOST_MARGINALS]
        listed += [one for one in by_error[MOST_MARGINALS:] if one[1] == CELL]
        whole = listed[-1][0] or 1.0
        bars = [Bar(words, f"± {short(sd)}", round(100 * sd / whole, 2)) for sd, words in listed]
        words = f"{measure.removesuffix('_sd')}, one standard deviation"
        found.append(Picture(ERRORS.format(cube), words, tuple(bars)))
    return found


def _added(marginal: Record) -> str:
    cells = {
        name.removesuffix("_cells"): value for name, value in marginal.items() if name.endswith("_cells")
    }
    added = [f"{value} of {name}" for name, value in cells.items() if value != "1"]
    return f"{' by '.join(added)} added up" if added else CELL


def short(value: float) -> str:
    """Three digits.

    >>> short(1079.2), short(4.0), short(0.01234)
    ('1,080', '4', '0.0123')
    """
    return f"{float(f'{value:.3g}'):,.12g}"
