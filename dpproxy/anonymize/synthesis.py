"""Synthetic rows from the leaves of a private tree."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.boxes import Line, Walk
from dpproxy.anonymize.leaves import Leaves, ordered
from dpproxy.anonymize.model import Table
from dpproxy.anonymize.smoothing import agreeing, middles
from dpproxy.anonymize.tree import TreeLevel
from udfs.randomness import Words, below

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Scalar = TypeVar("Scalar", bound=np.generic)


def rows(
    levels: Sequence[TreeLevel],
    leaves: Sequence[Leaves],
    lines: Sequence[Line],
    counting: float,
    words: Words,
) -> Table:
    """Make rows: each leaf's estimated mean, repeated as often as its estimated count says.

    Counts are rounded cumulatively from left to right, so that neighbouring leaves share the rest of a fraction.

    Args:
        levels: from the root's parts down.
        leaves: of each level.
        lines: one for each attribute.
        counting: the variance of the noise of the levels' counts.
        words: the source of randomness for the nominal values of boxes that have several.

    Returns:
        Shape (rows, attributes), leaf by leaf from left to right.
    """
    columns = ordered(lines)
    counts = agreeing(levels, leaves, counting)
    found = middles(levels, leaves, counts, columns)
    places = [mine.boxes for mine in leaves]
    order = np.argsort(_all(_left_to_right(levels), places))
    running = np.rint(np.cumsum(_all(counts, places)[order])).astype(np.int64)
    times = np.diff(running, prepend=0)
    chosen = order[times > 0]
    times = times[times > 0]
    firsts = _all([level.firsts for level in levels], places)[chosen]
    lasts = _all([level.lasts for level in levels], places)[chosen]
    at = np.rint(_all(found, places)[chosen]).astype(np.int64)
    result = np.empty((int(times.sum()), len(lines)), dtype=np.int64)
    for place, line in enumerate(lines):
        if isinstance(line, Walk):
            positions = _categories(line, firsts[:, place], lasts[:, place], times, words)
        else:
            positions = np.repeat(at[:, columns.index(place)], times)
        result[:, place] = line.values(positions)
    return result


def _all(of_boxes: Sequence[npt.NDArray[Scalar]], places: Sequence[Integers]) -> npt.NDArray[Scalar]:
    """Select the leaves' elements from the arrays of all boxes, level after level."""
    return np.concatenate([values[mine] for values, mine in zip(of_boxes, places, strict=True)])


def _left_to_right(levels: Sequence[TreeLevel]) -> list[Integers]:
    """Number the leaves from left to right; return for each level, shape (boxes,), each box's leftmost leaf."""
    inside = [np.ones(0, dtype=np.int64)] * len(levels)
    for depth in reversed(range(len(levels))):
        inside[depth] = np.ones(levels[depth].cut.size, dtype=np.int64)
        if depth + 1 < len(levels):
            held = np.bincount(
                levels[depth + 1].parent, weights=inside[depth + 1], minlength=inside[depth].size
            )
            inside[depth] = np.where(levels[depth].cut, held, 1).astype(np.int64)
    result: list[Integers] = []
    for depth, level in enumerate(levels):
        before = np.cumsum(inside[depth]) - inside[depth]
        if depth:
            first = np.flatnonzero(np.diff(level.parent, prepend=-1))
            number = np.diff(np.append(first, level.parent.size))
            before += np.repeat(result[-1][levels[depth - 1].cut] - before[first], number)
        result.append(before)
    return result


def _categories(line: Walk, first: Integers, last: Integers, times: Integers, words: Words) -> Integers:
    """Positions of the synthetic rows on ``line``: box i has ``times[i]`` rows, between ``first[i]`` and ``last[i]``.

    They are drawn uniformly, or are the least marginal concept of the interval (see ``Walk.spread``).
    """
    if line.spread:
        first, last = np.repeat(first, times), np.repeat(last, times)
        return first + below((last - first + 1).view(np.uint64), words)
    centres = [line.centre(a, b) if a < b else a for a, b in zip(first.tolist(), last.tolist(), strict=True)]
    return np.repeat(np.array(centres, dtype=np.int64), times)
