"""Several quantiles of whole numbers at once: each splits the rows for the next, so that a row is in one draw a level.

The middle quantile is drawn from all rows, those below it from the rows on its left, those above it from the rows on
its right, and so on: m of them take as many levels as m has binary digits, in place of m draws. A row is spread evenly
over the ``parts`` of its cell, and a split falls between two parts, so that many rows of one value are shared among
both sides and each side keeps the ranks that it is aimed at. Source: Kaplan, Schnapp and Stemmer, "Differentially
private approximate quantiles", 2022, here for values that are equal. Proof: ``quantiles.md``.
"""

import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, exp, inf, log
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from udfs.mechanisms.averaged import ROUNDING
from udfs.mechanisms.exponential import (
    WIDEST_SPREAD,
    CandidateLists,
    Exponential,
    Int64,
    each_list,
    held,
    log2,
    whole,
)
from udfs.mechanisms.quantile import FARTHEST, exact, ordered, places
from udfs.privacy import LEAST_NANO, NANO, InvalidMechanism, Loss
from udfs.randomness import Words

PARTS: Final = 2**10
"""Of a cell: the more, the wider the error that is stated; the fewer, the coarser rows of one value are shared."""
LARGEST_DENOMINATOR: Final = 10**4
_MOST_POINTS: Final = 2**62
_MOST_COUNT: Final = 2**60
_REACH: Final = 96
"""Points with a chance below e**-96 of the nearest one's are all as likely as that."""
_INT64: Final = 2**61
GRID: Final = 512
"""Cells of the law of a sum of errors: numbers count as the upper end of theirs."""
LOWEST: Final = 8
"""Below 0: what a number of the law with the scale 1 is taken for where it is less."""
FEWEST: Final = 16
"""One in so many points more counts in each split: a split of few points says little of how near its best one is."""


class Split(NamedTuple):
    """The quantile of this place, as the ``aim`` among the rows between two others; 0 and m + 1 are the bounds."""

    place: int
    left: int
    right: int
    aim: Fraction
    level: int


class Quantiles(Struct, frozen=True):
    """Release the quantiles ``numerators / denominator`` of whole numbers as points of [low, high], in their order.

    Shapes: a histogram in (values, and how many rows have each), one integer for each quantile out.
    Units: ``rows`` is the most rows of one unit; ``nano`` in nano-epsilon, for all quantiles together.
    Privacy: if one unit adds or removes at most ``rows`` rows, one release costs ``loss``. Everything but the
        histogram must be public, the bounds among it.
    Errors: InvalidMechanism, for parameters and for lengths; no value and no count raises.

    >>> Quantiles(0, 9, (1, 2, 3), 4, 1, 10**15).release([1, 4, 8], [11, 20, 11])
    [1, 4, 8]
    """

    low: int
    high: int
    numerators: tuple[int, ...]
    denominator: int
    rows: int
    nano: int
    parts: int = PARTS

    def __post_init__(self) -> None:
        if not -FARTHEST <= self.low <= self.high <= FARTHEST or self.points > _MOST_POINTS:
            raise InvalidMechanism("the bounds of several quantiles must be in order, and at most 2^46 apart")
        inside = (0, *self.numerators, self.denominator)
        if (
            not self.numerators
            or not 1 <= self.denominator <= LARGEST_DENOMINATOR
            or any(a >= b for a, b in pairwise(inside))
        ):
            raise InvalidMechanism("quantiles must rise, between 0 and 1, of a denominator up to 10^4")
        if self.share < LEAST_NANO:
            raise InvalidMechanism(f"epsilon must be at least 0.001 for each of the {self.levels} levels")
        if self.rows < 1 or any(self.spread(split) > WIDEST_SPREAD for split in self.splits):
            raise InvalidMechanism(
                "several quantiles need between 1 and 2^39 / (1024 denominator) rows of one unit"
            )

    @property
    def levels(self) -> int:
        """How many draws a row is in."""
        return len(self.numerators).bit_length()

    @property
    def share(self) -> int:
        """Nano-epsilon of each level."""
        return self.nano // self.levels

    @property
    def points(self) -> int:
        """All parts of all cells."""
        return (self.high - self.low + 1) * self.parts

    @property
    def splits(self) -> tuple[Split, ...]:
        """In the order in which they are drawn."""
        return tuple(sorted(self._between(0, len(self.numerators) + 1, 1), key=lambda s: s.level))

    def _between(self, left: int, right: int, level: int) -> Iterator[Split]:
        if right - left < 2:
            return
        ranks = (0, *self.numerators, self.denominator)
        middle = (left + right) // 2
        aim = Fraction(ranks[middle] - ranks[left], ranks[right] - ranks[left])
        yield Split(middle, left, right, aim, level)
        yield from self._between(left, middle, level + 1)
        yield from self._between(middle, right, level + 1)

    def spread(self, split: Split) -> int:
        """The most by which one unit moves the difference of two points' scores, in parts of a row over b."""
        a, b = split.aim.as_integer_ratio()
        return 2 * max(a, b - a) * self.parts * self.rows

    def mechanism(self, split: Split) -> Exponential:
        """The choice among points of one split."""
        return Exponential(self.spread(split), self.share)

    @property
    def loss(self) -> Loss:
        """What one release costs."""
        return Loss(self.nano)

    def rank_errors(self, confidence: Fraction) -> tuple[int, ...]:
        """Return for each quantile the most rows, with that confidence, between its rank and the released point's.

        It holds whatever the data is, but for one row in ``parts`` of those that share a value, at each level. A
        point that equals rows has all their ranks.
        """
        return _rank_errors(self, confidence)

    def fold(self, split: Split) -> float:
        """Rows by which a point has to be farther from the aim of a split to be e times less likely."""
        steps = 2.0**55 / (log(2) * log2(self.mechanism(split).ratio))
        return steps / (split.aim.denominator * self.parts)

    def release(
        self, values: Sequence[int] | Int64, counts: Sequence[int] | Int64, words: Words = os.urandom
    ) -> list[int]:
        """Draw the quantiles of a histogram; values outside the bounds count as the nearer bound.

        Values may come in any order, more than once, or not at all: then every point is as likely.
        """
        points = whole(values, self.low, self.high)
        lengths = np.array([points.size], dtype=np.int64)
        drawn = self.release_each(points, whole(counts, 0, _MOST_COUNT), lengths, words)
        return [int(point) for point in drawn[0]]

    def release_each(self, values: Int64, counts: Int64, lengths: Int64, words: Words = os.urandom) -> Int64:
        """Draw once from each of several histograms laid end to end; shape (histograms, quantiles)."""
        if values.size != counts.size or values.size != lengths.sum():
            raise InvalidMechanism("a histogram needs as many values as counts")
        values, counts = held(values, self.low, self.high), held(counts, 0, _MOST_COUNT)
        values, counts, lengths = ordered(values, exact(counts), lengths)
        starts = (values - self.low) * self.parts
        cells = _Cells(starts, starts + self.parts, counts, np.repeat(np.arange(lengths.size), lengths))
        cuts = np.zeros((lengths.size, len(self.numerators) + 2), dtype=np.int64)
        cuts[:, -1] = self.points
        for split in self.splits:
            self._draw(split, cells, cuts, words)
        result: Int64 = self.low + held(cuts[:, 1:-1], 0, self.points - 1) // self.parts
        return result

    def _draw(self, split: Split, cells: "_Cells", cuts: Int64, words: Words) -> None:
        """Draw one split of each histogram that has points between its neighbours; else it is where these are."""
        cuts[:, split.place] = cuts[:, split.left]
        there = np.flatnonzero(cuts[:, split.left] < cuts[:, split.right])
        if not there.size:
            return
        runs = self._runs(split, cells, cuts[there, split.left], cuts[there, split.right], there)
        pieces = self._pieces(split, runs)
        lists = CandidateLists(
            self.mechanism(split), pieces.scores, pieces.lengths, pieces.sizes, pieces.slopes
        )
        chosen, points = lists.draw(np.arange(there.size), words)
        cuts[there, split.place] = pieces.starts[chosen] + pieces.directions[chosen] * points

    def _runs(self, split: Split, cells: "_Cells", left: Int64, right: Int64, there: Int64) -> "_Runs":
        """The points between two cuts, as runs along which the rank rises evenly: gap, cell, gap, ..., gap."""
        cells, lengths = cells.within(left, right, there)
        a, b = split.aim.as_integer_ratio()
        counts = cells.counts
        if counts.size and b * self.parts * int(counts.max()) * counts.size >= _INT64:
            counts = counts.astype(object)
        before, after, gap, cell = places(lengths)
        last = np.cumsum(lengths + 1) - 1
        below = np.zeros(counts.size + there.size, dtype=counts.dtype)
        below[after] = counts * (cells.ends - cells.starts)
        below = np.cumsum(below)
        below -= np.repeat(below[last - lengths], lengths + 1)  # parts of rows, at each edge
        off = b * below - a * np.repeat(below[last], lengths + 1)
        starts, ends = np.empty((2, 2 * counts.size + there.size), dtype=np.int64)
        offs, slopes = np.zeros((2, starts.size), dtype=counts.dtype)
        starts[cell], ends[cell], offs[cell], slopes[cell] = cells.starts, cells.ends, off[before], b * counts
        first, final = np.empty((2, off.size), dtype=np.int64)
        first[last - lengths], first[after] = left, cells.ends
        final[last], final[before] = right, cells.starts
        starts[gap], ends[gap], offs[gap] = first, final, off
        return _Runs(starts, ends - starts, offs, slopes, np.repeat(np.arange(there.size), 2 * lengths + 1))

    def _pieces(self, split: Split, runs: "_Runs") -> "_Pieces":
        """Runs cut where the score has fallen by what makes a point e times less likely."""
        step = -(-self.spread(split) * NANO // self.share)
        runs = runs.from_the_nearest()
        first, last = (
            np.clip(off // step, -_REACH - 1, _REACH).astype(np.int64)
            for off in (runs.offs, runs.offs + runs.slopes * (runs.sizes - 1))
        )
        many = last - first + 1
        run = np.repeat(np.arange(many.size), many)
        number = np.arange(run.size) - np.repeat(np.cumsum(many) - many, many)
        fall, size = first[run] + number, runs.sizes[run]
        off, slope = runs.offs[run], runs.slopes[run]
        start = -((off - fall * step) // np.maximum(slope, 1))
        start = np.where(number == 0, 0, start).astype(np.int64)
        end = np.where(number == many[run] - 1, size, np.append(start[1:], 0))
        is_far = (fall == _REACH) | (fall == -_REACH - 1)
        is_below = (fall < 0) & ~is_far
        best = np.where(is_below, end - 1, start)
        score = np.where(is_far, _REACH * step, np.abs(off + slope * best)).astype(np.int64)
        sloped = np.where(is_far | (end - start < 2), 0, slope).astype(np.int64)
        kept = end > start
        lengths = np.bincount(runs.lists[run][kept])
        direction = np.where(is_below, -1, 1)
        starts = runs.starts[run] + best
        return _Pieces(
            -score[kept], (end - start)[kept], sloped[kept], starts[kept], direction[kept], lengths
        )


@lru_cache(maxsize=256)
def _rank_errors(mechanism: Quantiles, confidence: Fraction) -> tuple[int, ...]:
    """Of each quantile, by the law of the sum of the errors of its own split and of those that its aim follows from."""
    splits, many = mechanism.splits, log(max(1, mechanism.points - 1))
    missing = mechanism.levels * exp(many - _REACH)
    shares: dict[int, dict[int, float]] = {0: {}, len(mechanism.numerators) + 1: {}}
    for split in splits:
        left, right = shares[split.left], shares[split.right]
        shares[split.place] = {
            place: float(1 - split.aim) * left.get(place, 0.0) + float(split.aim) * right.get(place, 0.0)
            for place in {*left, *right}
        } | {split.place: 1.0}
    folds = {split.place: mechanism.fold(split) for split in splits}
    found = []
    for place in sorted(folds):
        scales = [shares[place][other] * fold for other, fold in folds.items() if shares[place].get(other)]
        alone = many * sum(scales) + logistic_sum(scales, float(1 - confidence) - missing, min(LOWEST, many))
        rows = min(alone, _nested(scales, mechanism.points, float(1 - confidence) - missing)) * (1 + ROUNDING)
        found.append(ceil(rows) if mechanism.points > 1 else 0)
    return tuple(found)


def _nested(scales: Sequence[float], points: int, missed: float) -> float:
    """The same of splits of which each is among the points on one side of the one before; see the proof."""
    beside = points / FEWEST
    many = log((points + beside + len(scales)) * (1 + ROUNDING))
    later = [sum(scales[place:]) / scale for place, scale in enumerate(scales)]
    lowest = min(LOWEST, *(log(beside / times) for times in later))
    if lowest <= 0:
        return inf
    shared = sum(scale * (many - log(times)) for scale, times in zip(scales, later, strict=True))
    return shared + logistic_sum(scales, missed, lowest)


def logistic_sum(scales: Sequence[float], missed: float, lowest: float) -> float:
    """What a sum of independent logistic numbers is above with at most this probability.

    Each has a scale, and is taken for ``-lowest`` times that at least.
    """
    if missed <= 0:
        raise InvalidMechanism("confidence must not be so near to 1")
    top = log(len(scales) / missed)
    cells = np.arange(GRID + 1) * ((top + lowest) * sum(scales) / GRID)
    law = np.ones(1)
    for scale in scales:
        tails = 1 / (1 + np.exp(np.minimum(cells / scale - lowest, 700.0)))
        law = np.convolve(law, np.concatenate([[1 - tails[0]], tails[:-1] - tails[1:]]))[: GRID + 1]
    place = int(np.argmax(np.append(np.cumsum(law) * (1 - ROUNDING), 1.0) >= 1 - missed))
    return float(cells[place]) - lowest * sum(scales) if place <= GRID else top * sum(scales)


class _Cells(NamedTuple):
    """Cells that have rows, list after list: their parts, how many rows, and which list they are of."""

    starts: Int64
    ends: Int64
    counts: Int64
    lists: Int64

    def within(self, left: Int64, right: Int64, there: Int64) -> tuple["_Cells", Int64]:
        """Parts of cells between two cuts of some of the lists, and how many cells each list has."""
        place = np.full(int(max(self.lists.max(initial=0), there.max())) + 1, -1, dtype=np.int64)
        place[there] = np.arange(there.size)
        of = place[self.lists]
        starts, ends = np.maximum(self.starts, left[of]), np.minimum(self.ends, right[of])
        kept = (of >= 0) & (starts < ends)
        lengths = np.bincount(of[kept], minlength=there.size)
        return _Cells(starts[kept], ends[kept], self.counts[kept], of[kept]), lengths


class _Runs(NamedTuple):
    """Neighbouring points: where they start, how many; how far above its aim the first's rank is, and each rises."""

    starts: Int64
    sizes: Int64
    offs: Int64
    slopes: Int64
    lists: Int64

    def where(self, kept: NDArray[np.bool_]) -> "_Runs":
        """Some of them."""
        return _Runs(*(column[kept] for column in self))

    def from_the_nearest(self) -> "_Runs":
        """Cut at the aim, on both sides of which ``offs`` are those from the nearest point of the list on."""
        past = np.clip(-(self.offs // np.maximum(self.slopes, 1)), 0, self.sizes)
        below = np.where(self.slopes > 0, past, np.where(self.offs < 0, self.sizes, 0)).astype(np.int64)
        cut = _Runs(
            *(
                np.stack(both, axis=1).ravel()
                for both in (
                    (self.starts, self.starts + below),
                    (below, self.sizes - below),
                    (self.offs, self.offs + self.slopes * below),
                    (self.slopes, self.slopes),
                    (self.lists, self.lists),
                )
            )
        )
        cut = cut.where(cut.sizes > 0)
        nearest = np.where(cut.offs < 0, -(cut.offs + cut.slopes * (cut.sizes - 1)), cut.offs)
        lengths = np.bincount(cut.lists)
        least = each_list(np.minimum, nearest, np.cumsum(lengths) - lengths, lengths)
        return cut._replace(offs=cut.offs + np.where(cut.offs < 0, least, -least))


class _Pieces(NamedTuple):
    """Candidates: their best point's score below the nearest of all, their points, the fall between two, and places."""

    scores: Int64
    sizes: Int64
    slopes: Int64
    starts: Int64
    directions: Int64
    lengths: Int64
