"""The noisy counts and sums that the leaves of a private tree release. Proof: ``dp_kdtree.md``."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dpproxy.anonymize.boxes import Line, Ruler
from dpproxy.anonymize.tree import TreeLevel
from udfs.mechanisms import Staircase
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

REACH: Final = 1 << 10
"""Half of a leaf's side, in the unit of the exact sums."""


class Leaves(Struct, frozen=True):
    """The leaves of one level (its boxes that are not cut), with their noisy counts and sums.

    Attributes:
        boxes: shape (leaves,): their indices in the level.
        counts: shape (leaves,): noisy numbers of rows.
        variances: shape (leaves,): of the noise of each count.
        sums: shape (leaves, ordered attributes): noisy sums of the rows' offsets from the middle, in half sides.
        spreads: shape (leaves,): the variance of the noise of each sum, in squared half sides.
    """

    boxes: Integers
    counts: Floats
    variances: Floats
    sums: Floats
    spreads: Floats


def ordered(lines: Sequence[Line]) -> list[int]:
    """The indices of the ordered attributes: those whose offsets are summed."""
    return [place for place, line in enumerate(lines) if isinstance(line, Ruler)]


def released(
    level: TreeLevel, positions: Integers, lines: Sequence[Line], order: Integers, words: Words
) -> Leaves:
    """Release the leaves of ``level``.

    One draw for every leaf, of a count and of a sum for each ordered attribute whose side has more than one position.

    Args:
        level: the boxes.
        positions: shape (attributes, rows).
        lines: one for each attribute.
        order: shape (rows,): row numbers, box by box.
        words: the source of randomness.
    """
    from dpproxy.anonymize import cells  # noqa: PLC0415 - the compiler is imported when a view is built

    boxes = np.flatnonzero(~level.cut)
    columns = ordered(lines)
    firsts, lasts = level.firsts[boxes][:, columns], level.lasts[boxes][:, columns]
    begins, ends = level.begins[boxes], level.ends[boxes]
    sums = cells.sums(order, positions[columns], begins, ends, firsts, lasts, REACH)
    exact = np.concatenate([sums, (ends - begins)[:, None]], axis=1)
    noisy = np.zeros(exact.shape)
    variances, spreads = np.zeros((2, boxes.size))
    active = np.concatenate([lasts > firsts, np.ones((boxes.size, 1), dtype=np.bool_)], axis=1)
    wide, drawn = active.sum(axis=1), np.isfinite(level.counts[boxes])
    for number in np.unique(wide):
        for counted in (False, True):
            chosen = np.flatnonzero((wide == number) & (drawn == counted))
            if chosen.size:
                widths = (REACH,) * (int(number) - 1) + (1,)
                law = Staircase.best(widths, level.left if counted else level.before)
                cells_of = active[chosen]
                values = exact[chosen][cells_of].reshape(chosen.size, -1) + law.draw(chosen.size, words)
                found = np.zeros(cells_of.shape)
                found[cells_of] = values.ravel().astype(np.float64)
                noisy[chosen] = found
                spread = law.variance()
                variances[chosen], spreads[chosen] = float(spread[-1]), float(spread[0]) / REACH**2
    return Leaves(boxes, noisy[:, -1], variances, noisy[:, :-1] / REACH, spreads)
