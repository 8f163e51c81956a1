"""The answer of VERIFY PROTECTED VIEW: the guarantee for all who may ask, exact figures only with EXACT SELECT."""

from collections.abc import Mapping, Sequence

from dpproxy.algebra.plan import Notice
from dpproxy.policy.dump import option_text
from dpproxy.policy.model import ProtectedView
from dpproxy.values.pgtypes import typed_columns
from dpproxy.views.make import ACHIEVED, OWN
from dpproxy.views.manifest import Built

FIGURES: Mapping[str, tuple[str, ...]] = {
    "information_loss": ("information_loss", "matched_information_loss"),
    "linkage_risk": ("linkage",),
    "linkage_risk_informed": ("linkage_informed",),
    "mean_change": ("mean_change",),
    "variance_change": ("variance_change",),
    "correlation_change": ("correlation_change",),
    "sse": ("sse",),
    "matched_sse": ("matched_sse",),
}
"""Columns, and for each the measures that it may show: the first that the build has."""
COLUMNS = typed_columns(
    f"view guarantee asked achieved {' '.join(f'{name}:float8' for name in FIGURES)} epoch:int8"
)


def verified(view: ProtectedView, build: Built, *, exact: bool) -> tuple[object, ...]:
    """The row of a view; without ``exact``, figures that depend on the original rows are NULL."""
    figures = build.figures if exact else {}
    achieved = ", ".join(
        f"{name.removeprefix(ACHIEVED)} = {value:g}"
        for name, value in figures.items()
        if name.startswith(ACHIEVED)
    )
    return (
        view.name,
        build.guarantee,
        asked(view),
        achieved or None,
        *(next((figures[n] for n in names if n in figures), None) for names in FIGURES.values()),
        build.epoch,
    )


def asked(view: ProtectedView) -> str:
    """The method and its options, in the syntax of the declaration."""
    own = (f"{name} = {option_text(value)}" for name, value in view.options if name not in OWN)
    options = ", ".join(own)
    return f"{view.option('method')}: {options}" if options else str(view.option("method"))


def notices(hidden: Sequence[str]) -> tuple[Notice, ...]:
    """Why some figures are NULL."""
    if not hidden:
        return ()
    listed = ", ".join(f'"{name}"' for name in hidden)
    return (
        Notice(
            f"figures of {listed} need the original rows and are not shown",
            hint="Whoever may have exact answers of its tables sees them; each look is put on record.",
        ),
    )
