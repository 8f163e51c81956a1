"""Bounds of a quantile around a public point: how far to go from it on both sides, by the exponential mechanism.

Candidates are distances that grow by a third each. The shortest with some rows more than enough on both sides has the
best score, so that a chosen one holds the quantile with the confidence that is asked, whatever the rows are. Shorter
ones weigh at most three times as much together, however many points there are: so a few rows more are enough, and rows
that lie dense have short bounds. Proof: ``bounds.md``.
"""

import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from udfs.mechanisms.exponential import LARGEST_SCORE, CandidateLists, Exponential, Int64, held, whole
from udfs.mechanisms.quantile import MOST_COUNT, Quantile, exact, ordered
from udfs.privacy import InvalidMechanism, Loss
from udfs.randomness import Words

GROWTH: Final = 3
"""A distance is longer by one part in so many; those below one weigh at most so many times as much together."""


class QuantileBounds(Struct, frozen=True):
    """Release two points around a public one that a quantile lies between.

    Shapes: a histogram in (values, and how many rows have each) and a point, two integers out.
    Privacy: if one unit adds or removes at most ``of.rows`` rows, one release costs ``loss``. Everything but the
        histogram must be public, the point among it: so may be what was released of the same rows, and paid for.
    Errors: InvalidMechanism, for parameters and for lengths; no value and no count raises.

    >>> QuantileBounds(Quantile(0, 99, 1, 2, 1, 10**15), Fraction(19, 20)).release([3, 5, 9], [20, 20, 20], 5)
    (5, 5)
    """

    of: Quantile
    confidence: Fraction

    def __post_init__(self) -> None:
        if self.of.inside or self.of.high - self.of.low >= LARGEST_SCORE:
            raise InvalidMechanism(
                "bounds are of quantiles that are not moved, between bounds up to 2^61 apart"
            )
        if not 0 < self.confidence < 1:
            raise InvalidMechanism("confidence must be between 0 and 1, both excluded")

    @staticmethod
    def around(quantile: Quantile, confidence: Fraction) -> "QuantileBounds":
        """Return what is released beside a quantile, an inner extreme among them, to hold it with that confidence."""
        return QuantileBounds(replace(quantile, inside=0), confidence)

    @property
    def mechanism(self) -> Exponential:
        """The choice among distances."""
        a, b = self.of.fraction
        return Exponential(2 * max(a, b - a) * self.of.rows, self.of.nano)

    @property
    def loss(self) -> Loss:
        """What one release costs."""
        return self.of.loss

    @property
    def aim(self) -> int:
        """How far the quantile's rank is to be from those outside, in steps of 1/b rows: a row is enough."""
        return self.of.fraction[1] + self.mechanism.shortfall(1 + GROWTH, self.confidence)

    @property
    def distances(self) -> tuple[list[int], list[int]]:
        """How far each candidate goes, the last one as far as all points are apart, and how much it weighs."""
        span, farther, weights = self.of.high - self.of.low, [0], [1]
        while farther[-1] < span:
            step = max(1, -(-farther[-1] // GROWTH))
            farther.append(min(farther[-1] + step, span))
            weights.append(-(-sum(weights) // GROWTH))
        return farther, weights

    def release(
        self,
        values: Sequence[int] | Int64,
        counts: Sequence[int] | Int64,
        point: int,
        words: Words = os.urandom,
    ) -> tuple[int, int]:
        """Draw the bounds from a histogram; values outside the bounds of all points count as the nearer bound."""
        points = whole(values, self.of.low, self.of.high)
        lengths = np.array([points.size], dtype=np.int64)
        around = whole([point], self.of.low, self.of.high)
        [[low, high]] = self.release_each(points, whole(counts, 0, MOST_COUNT), lengths, around, words)
        return int(low), int(high)

    def release_each(
        self, values: Int64, counts: Int64, lengths: Int64, points: Int64, words: Words = os.urandom
    ) -> Int64:
        """Draw once from each of several histograms laid end to end, each with its point; shape (histograms, 2)."""
        if points.size != lengths.size:
            raise InvalidMechanism("every histogram needs a point")
        scores, weights, ends = self._scores(values, counts, lengths, points)
        each, sizes = np.arange(lengths.size), np.full(lengths.size, scores.shape[1])
        lists = CandidateLists(self.mechanism, scores.ravel(), sizes, weights.ravel())
        chosen, _ = lists.draw(each, words)
        result: Int64 = ends[each, chosen - lists.starts]
        return result

    def pmf(
        self, values: Sequence[int], counts: Sequence[int], point: int
    ) -> dict[tuple[int, int], Fraction]:
        """Return the exact probability of each pair of bounds; for few rows."""
        points, of = whole(values, self.of.low, self.of.high), whole([point], self.of.low, self.of.high)
        lengths = np.array([points.size], dtype=np.int64)
        [scores], [weights], [ends] = self._scores(points, whole(counts, 0, MOST_COUNT), lengths, of)
        return {
            (low, high): self.mechanism.pmf(scores.tolist(), place, weights.tolist())
            for place, (low, high) in enumerate(ends.tolist())
            if weights[place]
        }

    def _scores(self, values: Int64, counts: Int64, lengths: Int64, points: Int64) -> tuple[Int64, ...]:
        """Of each distance of each list its score, its weight, and what it reaches from the list's point.

        What is no shorter than one that reaches all points is none, and weighs nothing.
        """
        of, (a, b), (farther, weights) = self.of, self.of.fraction, self.distances
        if values.size != counts.size or values.size != lengths.sum():
            raise InvalidMechanism("a histogram needs as many values as counts")
        values, counts = held(values, of.low, of.high), held(counts, 0, MOST_COUNT)
        values, counts, lengths = ordered(values, exact(counts), lengths)
        far = np.array(farther, dtype=np.int64)
        around = held(points, of.low, of.high)[:, None]
        low = np.maximum(around, of.low + far) - far if a else np.full((lengths.size, far.size), of.low)
        high = np.minimum(around, of.high - far) + far if a < b else np.full_like(low, of.high)
        below, every = _below(values, counts, lengths, np.concatenate([low, high + 1], axis=1))
        off = of.off(below, every[:, None] - below)
        margins = np.where(low > of.low, -off[:, : far.size], LARGEST_SCORE)
        margins = np.minimum(margins, np.where(high < of.high, off[:, far.size :], LARGEST_SCORE))
        shorter = np.full_like(margins, -LARGEST_SCORE)
        shorter[:, 1:] = margins[:, :-1]
        scores = -np.maximum(np.maximum(self.aim - margins, shorter - self.aim), 0)
        weighing = np.where(shorter < LARGEST_SCORE, np.array(weights, dtype=np.int64), 0)
        return scores, weighing, np.stack([low, high], axis=2)


def _below(values: Int64, counts: Int64, lengths: Int64, points: Int64) -> tuple[Int64, Int64]:
    """How many rows of each list are below each of its points, and how many there are."""
    every, each = np.arange(lengths.size), points.shape[1]
    lists = np.concatenate([np.repeat(every, each), np.repeat(every, lengths)])
    is_row = np.arange(lists.size) >= points.size
    order = np.lexsort((is_row, np.concatenate([points.ravel(), values]), lists))
    rows = np.zeros(lists.size, dtype=counts.dtype)
    rows[is_row] = counts
    sums = np.empty_like(rows)
    sums[order] = np.cumsum(rows[order])
    ends = np.append(np.cumsum(counts), 0)[np.cumsum(lengths) - 1]  # of an empty first list: the 0
    before = np.append(0, ends[:-1])
    return sums[: points.size].reshape(points.shape) - before[:, None], ends - before
