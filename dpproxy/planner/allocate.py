"""How the statement's loss is spent: the mechanism of least predicted error, from declared facts alone.

One unit holds at most R rows, and one row moves the measures of one group inside a box of half-widths ``widths``.

Rows apart: R rows move R boxes, wherever they fall, so a mechanism that is e-DP for one box is R*e-DP for the
unit (the levels of the boxes add up, one a row). Rows together: where a unit touches at most L groups (1 without
GROUP BY, MAX GROUPS enforced by suppression otherwise), its rows in a group stay inside one box R times as wide,
paid L times. Both hold; the smaller error wins.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dpproxy.aggregates.model import Measure
from dpproxy.errors import InvalidParameter
from udfs.mechanisms.staircase import Staircase
from udfs.privacy import LEAST_NANO, NANO, Loss


@dataclass(frozen=True, slots=True)
class Allocation:
    """A mechanism, how many times its loss one unit pays, and the groups a unit must be cut to for that."""

    mechanism: Staircase
    factor: int
    groups: int | None = None


def allocate(measures: Sequence[Measure], most: int, groups: int | None, loss: Loss) -> Allocation:
    """The allocation of least total relative variance, for units of at most ``most`` rows.

    ``groups`` is the most groups a unit may be cut to; None where there is one group only.

    Errors: ``InvalidParameter`` (22023) where the loss is too small to share among a unit's rows.
    """
    widths = tuple(m.width for m in measures)
    candidates = []
    touched = groups or 1
    if loss.nano // touched >= LEAST_NANO:
        together = tuple(min(most * m.width, m.unit_width or most * m.width) for m in measures)
        cut = groups if groups is not None and groups < most else None
        candidates.append(Allocation(Staircase.best(together, loss.nano // touched), touched, cut))
    if most > 1 and loss.nano // most >= LEAST_NANO:
        candidates.append(Allocation(Staircase.best(widths, loss.nano // most), most))
    if not candidates:
        raise too_small(loss, most, min(most, touched))
    return min(candidates, key=lambda c: _relative_variance(c.mechanism, widths))


def too_small(loss: Loss, most: int, shares: int) -> InvalidParameter:
    """The refusal of a loss that cannot be shared."""
    return InvalidParameter(
        f"epsilon {float(loss.epsilon):g} is too small to share among the {most} rows of one privacy unit",
        hint=f"SET dp.epsilon = {shares * LEAST_NANO / NANO:g}; or ask without GROUP BY.",
    )


def _relative_variance(mechanism: Staircase, widths: tuple[int, ...]) -> float:
    return sum((sd / width) ** 2 for sd, width in zip(mechanism.noise_sd(), widths, strict=True))
