"""Quantiles of integers on a lattice, each of its points a candidate, by the exponential mechanism.

The score of a point is how many rows too low or too high it stands, in steps of 1/b rows: with E(x) rows
below x and n in all, x is a quantile a/b where b*E(x) <= a*n <= b*E(x+1), and otherwise is as far off as the
nearer of the two. All points between neighbouring data points score alike and are one candidate, as heavy as
they are many. Source: Smith, "Privacy-preserving statistical estimation with optimal convergence rates",
2011, here with ties counted on both sides. Proof: ``quantile.md``.
"""

import os
from collections.abc import Sequence
from fractions import Fraction
from math import gcd
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from udfs.mechanisms.exponential import WIDEST_SPREAD, CandidateLists, Exponential, Int64, held, whole
from udfs.privacy import LEAST_NANO, InvalidMechanism, Loss
from udfs.randomness import Words

FARTHEST: Final = 2**61 - 1
"""The largest bound, in size, so that the points of the lattice can be counted in 62 bits."""
LARGEST_DENOMINATOR: Final = 10**6
MOST_COUNT: Final = 2**60
"""The most that a number of rows times the denominator counts for."""
_DEEPEST: Final = 2**57
OUTSIDE: Final = Fraction(1, 20)
"""The probability that an inner minimum or maximum lies beyond all rows."""


class Quantile(Struct, frozen=True):
    """Release the quantile ``numerator / denominator`` of whole numbers as a point of [low, high].

    Shapes: a histogram in (values, and how many rows have each), one integer out.
    Units: ``rows`` is the most rows of one unit; ``inside`` shifts the rank that is aimed at by so many rows, of a
        minimum (0) or a maximum (1) towards the middle; ``nano`` in nano-epsilon.
    Privacy: if one unit adds or removes at most ``rows`` rows, one release costs ``loss``. Everything but the
        histogram must be public, the bounds among it.
    Errors: InvalidMechanism, for parameters and for lengths; no value and no count raises.

    >>> Quantile(0, 10, 1, 2, 1, 10**15).release([3, 4, 9], [1, 1, 1])
    4
    """

    low: int
    high: int
    numerator: int
    denominator: int
    rows: int
    nano: int
    inside: int = 0

    def __post_init__(self) -> None:
        if not -FARTHEST <= self.low <= self.high <= FARTHEST:
            raise InvalidMechanism("the bounds of a quantile must be in order, and at most 2^61 - 1 in size")
        if not 0 <= self.numerator <= self.denominator or not 1 <= self.denominator <= LARGEST_DENOMINATOR:
            raise InvalidMechanism("a quantile must be between 0 and 1, of a denominator up to 10^6")
        if self.nano < LEAST_NANO:
            raise InvalidMechanism("epsilon must be at least 0.001")
        if self.rows < 1 or self.spread > WIDEST_SPREAD:
            raise InvalidMechanism("a quantile needs between 1 and 2^39 / denominator rows of one unit")
        if not 0 <= self.inside <= (0 if self.numerator % self.denominator else _DEEPEST):
            raise InvalidMechanism("a minimum or a maximum is moved by up to 2^57 rows, and nothing else")

    @staticmethod
    def inner(low: int, high: int, numerator: int, rows: int, nano: int) -> "Quantile":
        """Return the minimum (0) or maximum (1) aimed just so far inside that it is rarely beyond all rows.

        Rarely is with a probability of at most 1/20, for any data of twice ``inside`` rows or more. The plain
        minimum is all but uniform between the lower bound and the least value: all of that has rank 0.
        """
        mechanism = Quantile(low, high, numerator, 1, rows, nano, inside=1).mechanism
        reach = mechanism.shortfall(high - low + 1, 1 - OUTSIDE)
        return Quantile(low, high, numerator, 1, rows, nano, reach + 1)

    @property
    def fraction(self) -> tuple[int, int]:
        """The quantile in lowest terms, as numerator and denominator."""
        common = gcd(self.numerator, self.denominator)
        return self.numerator // common, self.denominator // common

    @property
    def spread(self) -> int:
        """The most by which one unit moves the difference of two points' scores."""
        a, b = self.fraction
        return self.rows * (b if not self.inside and a in (0, b) else 2 * max(a, b - a))

    @property
    def mechanism(self) -> Exponential:
        """The choice among points."""
        return Exponential(self.spread, self.nano)

    @property
    def loss(self) -> Loss:
        """What one release costs."""
        return Loss(self.nano)

    def rank_error(self, confidence: Fraction) -> int:
        """Return the most rows, with that confidence, between the rank of the released point and the quantile's.

        It holds whatever the data is, of at least ``inside`` rows. A point that equals rows has all their ranks.
        """
        steps = self.mechanism.shortfall(self.high - self.low + 1, confidence)
        return -(-steps // self.fraction[1]) + self.inside

    def release(
        self, values: Sequence[int] | Int64, counts: Sequence[int] | Int64, words: Words = os.urandom
    ) -> int:
        """Draw the quantile of a histogram; values outside the bounds count as the nearer bound.

        Values may come in any order, more than once, or not at all: then every point is as likely.
        """
        points = whole(values, self.low, self.high)
        lengths = np.array([points.size], dtype=np.int64)
        return int(self.release_each(points, whole(counts, 0, MOST_COUNT), lengths, words)[0])

    def release_each(self, values: Int64, counts: Int64, lengths: Int64, words: Words = os.urandom) -> Int64:
        """Draw once from each of several histograms laid end to end."""
        cells = self._cells(values, counts, lengths)
        lists = CandidateLists(self.mechanism, cells.scores, cells.lengths, cells.weights)
        chosen, points = lists.draw(np.arange(lengths.size), words)
        result: Int64 = cells.starts[chosen] + points
        return result

    def pmf(self, values: Sequence[int], counts: Sequence[int], point: int) -> Fraction:
        """Return the exact probability that ``point`` is released; for few rows."""
        points = whole(values, self.low, self.high)
        lengths = np.array([points.size], dtype=np.int64)
        cells = self._cells(points, whole(counts, 0, MOST_COUNT), lengths)
        scores, weights = cells.scores.tolist(), cells.weights.tolist()
        inside = (cells.starts <= point) & (point < cells.starts + cells.weights)
        if not inside.any():
            return Fraction(0)
        cell = int(np.flatnonzero(inside)[0])
        return self.mechanism.pmf(scores, cell, weights) / int(weights[cell])

    def _cells(self, values: Int64, counts: Int64, lengths: Int64) -> "_Cells":
        """Cut the lattice at the values of each list: gap, value, gap, value, ..., gap."""
        if values.size != counts.size or values.size != lengths.sum():
            raise InvalidMechanism("a histogram needs as many values as counts")
        values, counts = held(values, self.low, self.high), held(counts, 0, MOST_COUNT)
        values, counts, lengths = ordered(values, exact(counts), lengths)
        before, after, gap, value = places(lengths)
        edges, last = lengths + 1, np.cumsum(lengths + 1) - 1
        steps = np.zeros(values.size + lengths.size, dtype=counts.dtype)
        steps[after] = counts
        sums = np.cumsum(steps)
        sums -= np.repeat(sums[last - lengths], edges)
        off = self.off(sums, np.repeat(sums[last], edges) - sums)
        left, right = np.full_like(off, self.low - 1), np.full_like(off, self.high + 1)
        left[after], right[before] = values, values
        scores, weights, starts = np.ones((3, values.size + off.size), dtype=np.int64)
        scores[gap], weights[gap], starts[gap] = -np.abs(off), right - left - 1, left + 1
        scores[value] = -np.maximum(np.maximum(off[before], -off[after]), 0)
        starts[value] = values
        return _Cells(scores, weights, starts, 2 * lengths + 1)

    def off(self, below: Int64, above: Int64) -> Int64:
        """Return b * E - a * n for numbers of rows below and above, in steps of 1/b rows from the aim."""
        a, b = self.fraction
        most = MOST_COUNT // b
        aim = self.inside if not a else -self.inside
        rows = ((b - a) * np.minimum(below, most), a * np.minimum(above, most))
        off: Int64 = (rows[0] - rows[1] - aim).astype(np.int64)
        return off


Places = Int64 | slice


class _Cells(NamedTuple):
    """Candidates of equal score, as lists laid end to end: ``weights`` points from ``starts`` on."""

    scores: Int64
    weights: Int64
    starts: Int64
    lengths: Int64


def places(lengths: Int64) -> tuple[Places, Places, Places, Places]:
    """Return where the edges before and after each value are, and where gaps and values are among cells."""
    if lengths.size == 1:
        return slice(None, -1), slice(1, None), slice(0, None, 2), slice(1, None, 2)
    lists = np.arange(lengths.size)
    of_value, of_edge = np.repeat(lists, lengths), np.repeat(lists, lengths + 1)
    before = np.arange(of_value.size) + of_value
    return before, before + 1, 2 * np.arange(of_edge.size) - of_edge, 2 * before - of_value + 1


def exact(counts: Int64) -> Int64:
    """Return counts in a type that their sum cannot overflow."""
    if counts.size and int(counts.max()) * counts.size >= 2**62:
        return counts.astype(object)
    return counts


def ordered(values: Int64, counts: Int64, lengths: Int64) -> tuple[Int64, Int64, Int64]:
    """Return histograms of ascending, different values."""
    lists = np.repeat(np.arange(lengths.size), lengths)
    if _rises(values, lists).all():
        return values, counts, lengths
    order = np.lexsort((values, lists))
    values, counts = values[order], counts[order]
    first = np.flatnonzero(np.append(True, _rises(values, lists)))
    return (
        values[first],
        np.add.reduceat(counts, first),
        np.bincount(lists[first], minlength=lengths.size),
    )


def _rises(values: Int64, lists: Int64) -> NDArray[np.bool_]:
    """Return which neighbours differ in value, upwards, or in list."""
    rises: NDArray[np.bool_] = (values[1:] > values[:-1]) | (lists[1:] != lists[:-1])
    return rises
