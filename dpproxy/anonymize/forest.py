"""Fit noisy marginals, and make rows that follow them; released numbers only, so nothing here costs anything.

On a forest of pairs the fit is exact: the rows of a child are drawn by those of its parent. Pairs that close a circle
are fitted by weights of such rows, the same that iterative proportional fitting would give to a table of all cells.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from udfs.randomness import Words, word_array

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]

_ROUNDS: Final = 50
_PASSES: Final = 20
"""Passes over all pairs in which rows are weighted."""
_PENALTY: Final = 4.0
"""What a further piece of a histogram must explain, in variances of the noise."""
_TILT: Final = 1 / 3
"""The largest mean offset, in half sides, of a density that is a straight line."""
_SPREAD: Final = 1 / 3
"""The variance of a uniform offset, in squared half sides."""


def pieces(noisy: Integers | Floats, variance: float, most: float) -> Integers:
    """The piece of each of ordered cells, numbers that ascend: halves are told apart if they differ by more than noise.

    Of all such cuts, those that leave the least unexplained, at a price for each piece; a piece of several cells has a
    count of ``most`` at most.
    """
    sums, squares = (
        np.concatenate([[0.0], np.cumsum(noisy.astype(np.float64) ** power)]) for power in (1, 2)
    )
    firsts = np.zeros(noisy.size, dtype=np.int64)

    def cut(first: int, end: int) -> float:
        """Mark the first cells of the pieces from ``first`` to ``end``, and return what they leave unexplained."""
        total = sums[end] - sums[first]
        whole = float(squares[end] - squares[first] - total**2 / (end - first)) + _PENALTY * variance
        if end - first > 1:
            middle = (first + end) // 2
            halves = cut(first, middle) + cut(middle, end)
            if halves < whole or total > most:
                return halves
        firsts[first:end] = 0
        firsts[first] = 1
        return whole

    cut(0, noisy.size)
    return np.cumsum(firsts) - 1


def combined(found: Sequence[tuple[Floats, Floats]]) -> Floats:
    """The weighted mean of several estimates of the same counts, each given with its variances."""
    weights = np.array([1 / variances for _, variances in found])
    result: Floats = (np.array([one for one, _ in found]) * weights).sum(axis=0) / weights.sum(axis=0)
    return result


def settled(noisy: Integers | Floats, total: float, *, empty: bool = False) -> Floats:
    """The counts nearest to ``noisy`` that are not negative and add up to ``total``; shape (cells,).

    The last of them is 0 where it is known to be ``empty``.
    """
    if empty:
        return np.append(settled(noisy[:-1], total), 0.0)
    values = noisy.astype(np.float64)
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    level = excess[max(int(np.count_nonzero(falling > excess)) - 1, 0)]
    result: Floats = np.maximum(values - level, 0.0)
    return result


def agreeing(noisy: Integers | Floats, left: Floats, right: Floats, variance: float) -> Floats:
    """The joint counts of two attributes with the marginals ``left`` and ``right``, shape (left, right).

    Noisy counts are drawn towards independence by as much as their deviations from it are noise.
    """
    total = max(float(left.sum()), 1e-9)
    found = shrunk(noisy, np.outer(left, right) / total, variance)
    for _ in range(_ROUNDS):
        found *= _quotient(left, found.sum(axis=1))[:, None]
        found *= _quotient(right, found.sum(axis=0))
    return found


def shrunk(noisy: Integers | Floats, expected: Floats, variance: float) -> Floats:
    """Noisy counts drawn towards those expected, by as much as their deviations are noise."""
    deviations = noisy - expected
    true = (
        max(float((deviations**2).sum()) - variance * noisy.size, 0.0) / max(expected.sum(), 1e-9) * expected
    )
    result: Floats = np.maximum(expected + deviations * true / (true + variance), expected * 1e-3)
    return result


def spread(
    noisy: Floats, left: Floats, right: Floats, levels: tuple[Integers, Integers], variance: float
) -> Floats:
    """As ``agreeing``, for counts of wider bins: inside of these, two attributes are taken for independent.

    ``levels`` has the wider bin of each bin of both attributes.
    """
    wider = [
        np.bincount(level, margin).astype(np.float64)
        for level, margin in zip(levels, (left, right), strict=True)
    ]
    found = agreeing(noisy, wider[0], wider[1], variance)
    rows, columns = (
        _quotient(margin, whole[level])
        for margin, whole, level in zip((left, right), wider, levels, strict=True)
    )
    result: Floats = found[levels[0]][:, levels[1]] * np.outer(rows, columns)
    return result


def _quotient(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def tilts(sums: Floats, counts: Floats, variance: float) -> Floats:
    """The mean offset in each cell, -1 to 1 half sides, from noisy sums: drawn towards 0 where noise prevails."""
    sure = np.maximum(counts, 1.0)
    return np.clip(sums / sure * _SPREAD / (_SPREAD + variance / sure**2), -1.0, 1.0)


def drawn(groups: Integers, tables: Floats, words: Words) -> Integers:
    """For each row draw a column of its group's table, as often as the table says up to one; shape (rows,).

    ``tables`` has shape (groups, columns), and is not normalised. Which row of a group gets which is random.
    """
    sums = np.cumsum(np.where(tables.sum(axis=1, keepdims=True) > 0, tables, 1.0), axis=1)
    steps = sums / sums[:, -1:] + np.arange(len(tables))[:, None]
    found = np.searchsorted(steps.ravel(), groups + shares(groups, len(tables), words), side="right")
    result: Integers = np.clip(found - groups * tables.shape[1], 0, tables.shape[1] - 1)
    return result


def shares(groups: Integers, number: int, words: Words) -> Floats:
    """Numbers from 0 to 1 that are evenly spread over the rows of each of ``number`` groups, in random order."""
    order = np.lexsort((word_array(groups.size, words), groups))
    sizes = np.bincount(groups, minlength=number)
    starts = (word_array(number, words) >> np.uint64(11)) / 2.0**53
    ranks = np.empty(groups.size)
    ranks[order] = np.arange(groups.size) - (np.cumsum(sizes) - sizes)[groups[order]]
    result: Floats = (ranks + starts[groups]) / sizes[groups]
    return result


def tilted(even: Floats, means: Floats) -> Floats:
    """Turn evenly spread shares into shares of a cell whose mean offset is ``means``, both of shape (rows,).

    A density that is a straight line has a mean up to a third; for more, some rows are at the end of the cell.
    """
    size = np.abs(means)
    at_end = np.maximum(size - _TILT, 0.0) / (1 - _TILT)
    rest = np.clip((even - at_end) / np.maximum(1 - at_end, 1e-12), 0.0, 1.0)
    slope = 3 * np.minimum(size, _TILT)
    # The density 1 + slope (1 - 2 x) of shares x, from 0 to 1, has the integral (1 + slope) x - slope x**2.
    inside = 2 * rest / (1 + slope + np.sqrt((1 + slope) ** 2 - 4 * slope * rest))
    found = np.where(even < at_end, 0.0, inside)
    return np.where(means > 0, 1 - found, found)


def spanning(joint: Mapping[Pair, Floats]) -> list[Pair]:
    """The pairs of a forest: those farthest from independence that close no circle."""
    apart = {
        pair: float(np.abs(t - np.outer(t.sum(axis=1), t.sum(axis=0)) / max(t.sum(), 1e-9)).sum())
        for pair, t in joint.items()
    }
    part_of = {place: place for pair in joint for place in pair}
    found: list[Pair] = []
    for a, b in sorted(joint, key=lambda pair: -apart[pair]):
        old, new = part_of[b], part_of[a]
        if old != new:
            found.append((a, b))
            part_of = {place: new if part == old else part for place, part in part_of.items()}
    return found


def along(
    tree: Sequence[Pair], margins: Sequence[Floats], joint: Mapping[Pair, Floats], size: int, words: Words
) -> dict[int, Integers]:
    """The bins of each attribute, shape (size,), each drawn by those of its parent."""
    bins: dict[int, Integers] = {}
    for parent, place in walk(len(margins), tree):
        if parent is None:
            groups, table = np.zeros(size, dtype=np.int64), margins[place][None]
        else:
            groups = bins[parent]
            table = joint[parent, place] if (parent, place) in joint else joint[place, parent].T
        bins[place] = drawn(groups, table, words)
    return bins


def weighted(aims: Sequence[tuple[Integers, Floats]], weights: Floats) -> Floats:
    """Weights of rows, by which their cells come near to all counts; each aim is cells of rows, and counts of cells."""
    for _ in range(_PASSES):
        for cells, counts in aims:
            now = np.bincount(cells, weights, minlength=counts.size).astype(np.float64)
            weights = weights * _quotient(counts, now)[cells]
    return weights


def walk(attributes: int, edges: Sequence[Pair]) -> list[tuple[int | None, int]]:
    """Each attribute after its parent: pairs of parent (None for a root) and attribute."""
    found: list[tuple[int | None, int]] = []
    visited: set[int] = set()
    for root in range(attributes):
        waiting: list[tuple[int | None, int]] = [] if root in visited else [(None, root)]
        while waiting:
            parent, place = waiting.pop()
            visited.add(place)
            found.append((parent, place))
            near = [b if a == place else a for a, b in edges if place in (a, b)]
            waiting += [(place, other) for other in near if other not in visited]
    return found
