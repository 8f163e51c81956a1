"""A tree of boxes grown from noisy counts: where rows are dense it is deep.

A box is cut in the middle, along its longest side, ``FOLD`` times in a row; each part's noisy count says whether it is
cut on. A leaf has the whole rest of epsilon that its path has not spent. Proof: ``dp_kdtree.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.boxes import Line
from dpproxy.anonymize.model import Progress
from udfs.mechanisms import Staircase
from udfs.privacy import LEAST_NANO
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

LEVELS: Final = 12
"""Counts on a path, at most."""
FOLD: Final = 2
"""Cuts between two counts."""
COUNTED: Final = (2, 5)
"""The part of epsilon for the counts on a path of all levels, as a fraction."""
SEEN: Final = 1.5
"""A box is cut where its noisy count is above so many standard deviations of that count, and ..."""
USEFUL: Final = 2.0
"""... above so many of the count that a leaf of it would release: then its parts gain more than their noise costs."""


@dataclass(frozen=True, slots=True)
class Level:
    """Boxes at one depth, left to right.

    Attributes:
        firsts: shape (boxes, attributes): the first position of each side.
        lasts: the same for the last.
        begins: shape (boxes,): where a box's rows begin among the rows in order.
        ends: where they end.
        parent: shape (boxes,): the box above, in the level above.
        counts: shape (boxes,): noisy; NaN where none was drawn.
        cut: whether a box has parts in the next level.
        left: nano-epsilon that paths through here have left after the counts of this level, for boxes with a count.
        before: the same without the count of this level.
    """

    firsts: Integers
    lasts: Integers
    begins: Integers
    ends: Integers
    parent: Integers
    counts: Floats
    cut: Booleans
    left: int
    before: int


@dataclass(frozen=True, slots=True)
class Budget:
    """How epsilon is spent along a path: ``nano`` in all, ``each`` for every count of ``levels``."""

    nano: int
    each: int
    levels: int

    @staticmethod
    def of(nano: int, cuts: int) -> "Budget":
        """Equal parts for the counts: as many as ``cuts`` in a row need, and none below the least epsilon."""
        numerator, denominator = COUNTED
        counted = nano * numerator // denominator
        levels = min(LEVELS, -(-cuts // FOLD), counted // LEAST_NANO)
        return Budget(nano, counted // max(levels, 1), levels)


def grown(
    positions: Integers,
    lines: Sequence[Line],
    budget: Budget,
    k: int | None,
    words: Words,
    progress: Progress,
) -> tuple[list[Level], Integers]:
    """Grow the tree; return its levels from the root's parts down, and the rows in the order of the boxes.

    Args:
        positions: shape (attributes, rows).
        lines: one for each attribute.
        budget: what a path may spend, its leaf included.
        k: rows that a part should have; None to weigh what is gained against the noise.
        words: the source of randomness.
        progress: told the share that is done.
    """
    rows = positions.shape[1]
    order = np.arange(rows)
    root = (
        np.zeros((1, len(lines)), dtype=np.int64),
        np.array([[line.last for line in lines]], dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.full(1, rows, dtype=np.int64),
    )
    parts, parent = _parts(root, positions, lines, order, 1)
    levels: list[Level] = []
    spent = 0
    for depth in range(budget.levels + 1):
        before = budget.nano - spent
        counts = np.full(parent.size, np.nan)
        cut = np.zeros(parent.size, dtype=np.bool_)
        if depth < budget.levels:
            spent += budget.each
            divisible = np.flatnonzero((parts[1] > parts[0]).any(axis=1))
            counts, cut = _decided(parts, divisible, budget, budget.nano - spent, k, words)
        levels.append(Level(*parts, parent, counts, cut, budget.nano - spent, before))
        progress((depth + 1) / (budget.levels + 2))
        if not cut.any():
            break
        places = np.flatnonzero(cut)
        parts, owner = _parts(tuple(array[places] for array in parts), positions, lines, order, FOLD)  # type: ignore[arg-type]
        parent = places[owner]
    return levels, order


Boxes = tuple[Integers, Integers, Integers, Integers]
"""First and last positions, and where their rows begin and end."""


def _decided(
    boxes: Boxes, divisible: Integers, budget: Budget, left: int, k: int | None, words: Words
) -> tuple[Floats, Booleans]:
    """Draw a count for every box that has parts, and say which are cut."""
    law = Staircase.best((1,), budget.each)
    counts = np.full(boxes[2].size, np.nan)
    exact = (boxes[3] - boxes[2])[divisible]
    counts[divisible] = (exact + law.draw(divisible.size, words)[:, 0]).astype(np.float64)
    ordered = boxes[0].shape[1]
    least = float(k << FOLD) if k else USEFUL * Staircase.best((1,) * (ordered + 1), left).noise_sd()[0]
    least = max(least, SEEN * law.noise_sd()[0])
    return counts, np.nan_to_num(counts, nan=-np.inf) > least


def _parts(
    boxes: Boxes, positions: Integers, lines: Sequence[Line], order: Integers, times: int
) -> tuple[Boxes, Integers]:
    """Cut every box ``times`` times; return the parts and the box that each is of. Sorts ``order``."""
    from dpproxy.anonymize import cells  # noqa: PLC0415 - the compiler is imported when a view is built

    owner = np.arange(boxes[2].size)
    for _ in range(times):
        firsts, lasts, begins, ends = boxes
        sides = np.stack([line.sides(firsts[:, j], lasts[:, j]) for j, line in enumerate(lines)], axis=1)
        along = np.argmax(sides, axis=1)
        cuts = np.empty(begins.size, dtype=np.int64)
        for j, line in enumerate(lines):
            chosen = np.flatnonzero(along == j)
            cuts[chosen] = line.cuts(firsts[chosen, j], lasts[chosen, j])
        whole = sides.max(axis=1) <= 0
        middles = cells.cut(order, positions, begins, ends, along, cuts)
        number = np.where(whole, 1, 2)
        places = np.repeat(np.arange(begins.size), number)
        right = np.concatenate([[False], places[1:] == places[:-1]]) if places.size else whole
        left = ~right & ~whole[places]
        firsts, lasts, begins, ends = firsts[places], lasts[places], begins[places], ends[places]
        lasts[left, along[places[left]]] = cuts[places[left]]
        firsts[right, along[places[right]]] = cuts[places[right]] + 1
        ends[left], begins[right] = middles[places[left]], middles[places[right]]
        boxes, owner = (firsts, lasts, begins, ends), owner[places]
    return boxes, owner
