"""Consistent counts and means along a private tree: post-processing of released numbers, which costs nothing.

On the way up, a box's estimate is the mean of its own noisy count and the sum of its parts', weighted by the inverse
variances of their noise; on the way down, the count of a box is divided among its parts. Source: Hay, Rastogi, Miklau,
Suciu, "Boosting the accuracy of differentially private histograms through consistency", VLDB 2010; here variances
differ, counts are divided in proportion, and means are treated likewise.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.leaves import Leaves
from dpproxy.anonymize.tree import TreeLevel

Floats = npt.NDArray[np.float64]

SURE: Final = (4.0, 3.0, 2.0)
"""A box whose noisy count is below so many standard deviations is taken for empty, unless all its siblings are too. One
element for each depth, the last for all deeper ones: spurious rows do more harm in the large boxes further up."""


def agreeing(levels: Sequence[TreeLevel], leaves: Sequence[Leaves], counting: float) -> list[Floats]:
    """Return for each level the estimated counts of its boxes, shape (boxes,): consistent, and none is negative.

    Consistent: the parts of a box add up to its count. The total is the sum of the estimates of the root's parts, at
    least 0; ``cells.share`` divides counts among parts.

    Args:
        levels: from the root's parts down.
        leaves: of each level.
        counting: the variance of the noise of the levels' counts.
    """
    from dpproxy.anonymize import cells  # noqa: PLC0415 - the compiler is imported when a view is built

    found: list[Floats] = []
    variances: list[Floats] = []
    for depth in reversed(range(len(levels))):
        level, mine = levels[depth], leaves[depth]
        weights = np.where(np.isfinite(level.counts), 1 / counting, 0.0)
        totals = np.nan_to_num(level.counts) * weights
        weights[mine.boxes] += 1 / mine.variances
        totals[mine.boxes] += mine.counts / mine.variances
        if depth + 1 < len(levels):
            size, parent = level.parent.size, levels[depth + 1].parent
            below_var = np.bincount(parent, weights=variances[0], minlength=size)
            below_sum = np.bincount(parent, weights=found[0], minlength=size)
            parts = np.flatnonzero(level.cut)
            weights[parts] += 1 / below_var[parts]
            totals[parts] += below_sum[parts] / below_var[parts]
        found.insert(0, totals / weights)
        variances.insert(0, 1 / weights)
    result: list[Floats] = []
    whole = np.array([max(found[0].sum(), 0.0)])
    for depth, level in enumerate(levels):
        if depth:
            whole = result[-1][levels[depth - 1].cut]
        begins = np.append(np.flatnonzero(np.diff(level.parent, prepend=-1)), level.parent.size)
        result.append(
            cells.share(whole, begins, found[depth], variances[depth], SURE[min(depth, len(SURE) - 1)])
        )
    return result


def middles(
    levels: Sequence[TreeLevel], leaves: Sequence[Leaves], counts: Sequence[Floats], columns: Sequence[int]
) -> list[Floats]:
    """Return for each level the estimated mean position of the rows of its boxes; shape (boxes, columns).

    An estimate is the weighted mean of the box's own noisy mean and a prior: the estimate of the box above, clamped to
    this box. Weights come from the variance of the noise and that of positions spread evenly over the box's side.

    Args:
        levels: from the root's parts down.
        leaves: of each level.
        counts: the result of ``agreeing``.
        columns: the ordered attributes, whose offsets are summed.
    """
    moments, noise = _moments(levels, leaves, counts, columns)
    firsts, lasts = levels[0].firsts[:, columns].min(axis=0), levels[0].lasts[:, columns].max(axis=0)
    total = (counts[0].sum(), moments[0].sum(axis=0), noise[0].sum(axis=0))
    middle = (firsts + lasts) / 2
    above = _weighed(*total, middle, (lasts - firsts) / 2)[None, :]
    result: list[Floats] = []
    for depth, level in enumerate(levels):
        owner = np.flatnonzero(levels[depth - 1].cut) if depth else np.zeros(1, dtype=np.int64)
        number = np.searchsorted(owner, level.parent)
        firsts, lasts = level.firsts[:, columns], level.lasts[:, columns]
        prior = np.clip(above[number], firsts, lasts)
        found = (counts[depth][:, None], moments[depth], noise[depth])
        result.append(np.clip(_weighed(*found, prior, (lasts - firsts) / 2), firsts, lasts))
        above = result[-1][level.cut]
    return result


def _moments(
    levels: Sequence[TreeLevel], leaves: Sequence[Leaves], counts: Sequence[Floats], columns: Sequence[int]
) -> tuple[list[Floats], list[Floats]]:
    """For each level the noisy sums of positions and the variances of their noise, both of shape (boxes, columns)."""
    moments: list[Floats] = []
    noise: list[Floats] = []
    for depth in reversed(range(len(levels))):
        mine, level = leaves[depth], levels[depth]
        moment, spread = np.zeros((2, level.cut.size, len(columns)))
        firsts, lasts = level.firsts[mine.boxes][:, columns], level.lasts[mine.boxes][:, columns]
        size, half = counts[depth][mine.boxes][:, None], (lasts - firsts) / 2
        moment[mine.boxes] = np.where(size > 0, size * (firsts + lasts) / 2 + half * mine.sums, 0.0)
        spread[mine.boxes] = np.where(size > 0, half * half * mine.spreads[:, None], 0.0)
        if depth + 1 < len(levels):
            np.add.at(moment, levels[depth + 1].parent, moments[0])
            np.add.at(spread, levels[depth + 1].parent, noise[0])
        moments.insert(0, moment)
        noise.insert(0, spread)
    return moments, noise


def _weighed(counts: Floats, moments: Floats, noise: Floats, prior: Floats, half: Floats) -> Floats:
    """The mean of ``moments / counts`` and ``prior``, weighted by their variances; ``prior`` where the count is 0.

    ``noise`` is the variance of the noise of ``moments``; ``half`` is half of the box's side.
    """
    size = np.maximum(counts, 1.0)
    certain = half * half / 3 / np.maximum(half * half / 3 + noise / (size * size), 1e-300)
    return np.where(counts > 0, prior + certain * (moments / size - prior * (counts / size)), prior)
