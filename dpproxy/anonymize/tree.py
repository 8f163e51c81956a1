"""A tree of boxes grown from noisy counts: it is deep where rows are dense.

A box is cut in the middle along its longest side, and its parts again, ``FOLD`` times in all; each resulting part gets
a noisy count, which decides whether it is cut further. A leaf spends all epsilon that its path has not spent. Proof:
``dp_kdtree.md``.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dpproxy.anonymize.boxes import Line
from dpproxy.anonymize.model import Progress
from udfs.mechanisms import Staircase
from udfs.privacy import LEAST_NANO
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

LEVELS: Final = 12
"""The most noisy counts on a path."""
FOLD: Final = 2
"""Cuts between two counts."""
COUNTED: Final = (2, 5)
"""The part of epsilon that all counts on a path of full depth spend: numerator and denominator."""
SEEN: Final = 1.5
"""A box is cut only if its noisy count exceeds so many standard deviations of its noise."""
USEFUL: Final = 2.0
"""Without ``k``, its noisy count must also exceed so many standard deviations of the noise of the count that a leaf
below it would release: then smaller boxes gain more accuracy than their noise costs."""


class TreeLevel(Struct, frozen=True):
    """The boxes at one depth, grouped by the box above.

    Attributes:
        firsts: shape (boxes, attributes): the first position of each side.
        lasts: shape (boxes, attributes): the last position of each side.
        begins: shape (boxes,): where a box's rows begin in the order of the rows that ``grown`` returns.
        ends: shape (boxes,): where they end (exclusive).
        parent: shape (boxes,): the index of the box above in its level.
        counts: shape (boxes,): noisy numbers of rows; NaN where none was drawn.
        cut: shape (boxes,): whether a box has parts in the next level.
        left: nano-epsilon that a path has not spent after a count of this level.
        before: nano-epsilon that a path has not spent before it: what a leaf without a count may spend.
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


class TreeBudget(Struct, frozen=True):
    """How a path spends epsilon: ``nano`` nano-epsilon in all, of which ``each`` for a count on each of ``levels``."""

    nano: int
    each: int
    levels: int

    @staticmethod
    def of(nano: int, cuts: int) -> "TreeBudget":
        """Equal parts for the counts: as many as ``cuts`` successive cuts need, and none below ``LEAST_NANO``."""
        numerator, denominator = COUNTED
        counted = nano * numerator // denominator
        levels = min(LEVELS, -(-cuts // FOLD), counted // LEAST_NANO)
        return TreeBudget(nano, counted // max(levels, 1), levels)


def grown(
    positions: Integers,
    lines: Sequence[Line],
    budget: TreeBudget,
    k: int | None,
    words: Words,
    progress: Progress,
) -> tuple[list[TreeLevel], Integers]:
    """Grow the tree; return its levels from the root's parts down, and the row numbers in the order of the boxes.

    Args:
        positions: shape (attributes, rows).
        lines: one for each attribute.
        budget: what a path may spend, its leaf included.
        k: rows that a part should have; None to cut while that is expected to be more accurate (see ``USEFUL``).
        words: the source of randomness.
        progress: called with the share of the work that is done.
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
    levels: list[TreeLevel] = []
    spent = 0
    for depth in range(budget.levels + 1):
        before = budget.nano - spent
        counts = np.full(parent.size, np.nan)
        cut = np.zeros(parent.size, dtype=np.bool_)
        if depth < budget.levels:
            spent += budget.each
            divisible = np.flatnonzero((parts[1] > parts[0]).any(axis=1))
            counts, cut = _decided(parts, divisible, budget, budget.nano - spent, k, words)
        levels.append(TreeLevel(*parts, parent, counts, cut, budget.nano - spent, before))
        progress((depth + 1) / (budget.levels + 2))
        if not cut.any():
            break
        places = np.flatnonzero(cut)
        parts, owner = _parts(tuple(array[places] for array in parts), positions, lines, order, FOLD)  # type: ignore[arg-type]
        parent = places[owner]
    return levels, order


Boxes = tuple[Integers, Integers, Integers, Integers]
"""First and last positions, shape (boxes, attributes); where their rows begin and end, shape (boxes,)."""


def _decided(
    boxes: Boxes, divisible: Integers, budget: TreeBudget, left: int, k: int | None, words: Words
) -> tuple[Floats, Booleans]:
    """Draw a noisy count for every divisible box; return the counts (NaN for the others) and which boxes to cut.

    ``left`` is the nano-epsilon that a path has not spent after these counts.
    """
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
    """Cut every box and its parts, ``times`` times in all; return the parts, and of each the index of its box.

    Reorders the row numbers in ``order``, so that the rows of each part are consecutive.
    """
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
