"""Synthetic rows for domains of few cells: a noisy count for each cell, smoothed towards independent attributes.

Proof: ``dp_kdtree.md``.
"""

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.boxes import Line
from dpproxy.anonymize.model import Table
from udfs.mechanisms import Staircase
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_CELLS: Final = 1 << 14
"""The most cells of a domain that is released cell by cell."""
_ROUNDS: Final = 2
"""How often expected counts are computed from the attributes' marginals, and the marginals from the counts."""
_SURE: Final = 2.0
_REACH: Final = 12.0
"""True counts farther than so many standard deviations from the noisy count are not considered."""
_AT_ONCE: Final = 1 << 20


def cells(lines: Sequence[Line]) -> int:
    """The number of cells of the domain: all combinations of positions."""
    return prod(line.last + 1 for line in lines)


def suits(lines: Sequence[Line], nano: int, rows: int) -> bool:
    """Whether there are few cells, and on average each holds more rows than a standard deviation of its noise."""
    number = cells(lines)
    return number <= MOST_CELLS and rows >= number * Staircase.best((1,), nano).noise_sd()[0]


def synthetic(lines: Sequence[Line], nano: int, rows: Table, words: Words) -> Table:
    """Release synthetic rows from a noisy count for each cell; costs ``nano`` nano-epsilon. Shape as ``rows``."""
    shape = tuple(line.last + 1 for line in lines)
    positions = tuple(line.positions(rows[:, j]) for j, line in enumerate(lines))
    exact = np.bincount(np.ravel_multi_index(positions, shape), minlength=prod(shape))
    noisy = exact + Staircase.best((1,), nano).draw(exact.size, words)[:, 0]
    counts = weighed(noisy.reshape(shape), nano)
    at = np.unravel_index(np.repeat(np.arange(counts.size), counts.ravel()), shape)
    return np.stack([line.values(at[j]) for j, line in enumerate(lines)], axis=1)


def weighed(noisy: Integers, nano: int) -> Integers:
    """Estimate each true count by its posterior median; shape as ``noisy``.

    The prior of a cell is a geometric law whose mean is the count expected if the attributes were independent. It is
    computed from released numbers alone (post-processing), so that it costs nothing.
    """
    from dpproxy.anonymize import cells as loops  # noqa: PLC0415 - the compiler is imported when a view is built

    law = Staircase.best((1,), nano)
    variance, q = float(law.variance()[0]), law.ratio / 2**64
    flat = noisy.ravel().astype(np.float64)
    total = np.array([max(flat.sum(), 0.0)])
    whole = np.array([0, flat.size])
    found = loops.share(total, whole, flat, np.full(flat.size, variance), _SURE)
    result = np.rint(found).astype(np.int64)
    for _ in range(_ROUNDS):
        expected = _independent(found.reshape(noisy.shape)).ravel()
        result = _medians(flat, expected, q, int(_REACH * variance**0.5) + 1)
        found = result.astype(np.float64)
    return result.reshape(noisy.shape)


def _independent(counts: Floats) -> Floats:
    total = max(float(counts.sum()), 1.0)
    result = np.full(counts.shape, total)
    for place in range(counts.ndim):
        others = tuple(other for other in range(counts.ndim) if other != place)
        shape = [1] * counts.ndim
        shape[place] = -1
        result = result * (counts.sum(axis=others) / total).reshape(shape)
    return result


def _medians(noisy: Floats, expected: Floats, q: float, reach: int) -> Integers:
    """The posterior median of each count c >= 0, where P(c | noisy) ~ (e / (1 + e))**c * q**abs(noisy - c).

    e is the expected count and q the ratio of the noise's staircase; shapes (cells,).
    """
    offsets = np.arange(-reach, reach + 1)
    result = np.empty(noisy.size, dtype=np.int64)
    step = max(_AT_ONCE // offsets.size, 1)
    for begin in range(0, noisy.size, step):
        part = slice(begin, begin + step)
        counts = np.maximum(noisy[part], 0.0)[:, None] + offsets
        slope = np.log(np.maximum(expected[part], 1e-9) / (1 + expected[part]))[:, None]
        weight = slope * counts + np.log(q) * np.abs(noisy[part][:, None] - counts)
        weight = np.where(counts >= 0, weight, -np.inf)
        running = np.cumsum(np.exp(weight - weight.max(axis=1, keepdims=True)), axis=1)
        chosen = (2 * running >= running[:, -1:]).argmax(axis=1)
        result[part] = counts[np.arange(chosen.size), chosen].astype(np.int64)
    return result
