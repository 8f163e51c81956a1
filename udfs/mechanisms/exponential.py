"""The exponential mechanism: one of finitely many candidates, the better its score the likelier, drawn exactly.

P(i) is proportional to w_i * q**(best - s_i), with integer scores s_i, public integer weights w_i and q >=
e**-(epsilon / spread), where what one unit does to the scores differs by at most ``spread``. Source:
McSherry and Talwar, "Mechanism design via differential privacy", 2007; the spread in place of twice the
sensitivity is bounded range (Durfee and Rogers, 2019). A draw proposes a candidate by powers of two that lie
above the probabilities, and keeps it by an exact coin. Proof: ``exponential.md``.
"""

import math
import os
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from operator import index
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from udfs.mechanisms.levels import ONE, power_bounds, ratio
from udfs.privacy import LEAST_NANO, InvalidMechanism, Loss
from udfs.randomness import FIRST_PRECISION, LAST_WORD, WORD, Words, below, below_wide, word_array

Int64 = NDArray[np.int64]

WIDEST_SPREAD: Final = 2**40
"""At the least epsilon a wider spread would leave too few of the 64 bits of q."""
LARGEST_SCORE: Final = 2**61
_HEAVIEST: Final = 2**62
_FRACTION: Final = 55
"""Bits after the point of log2(1 / q)."""
_FAR: Final = 127
"""Halvings beyond which all scores are proposed alike; even all weights together are then worth 2**-65."""
_GUARD: Final = _FAR + WORD
"""The most halvings of one score, since a single step is worth 64 of them at most."""
_CLIMB: Final = FIRST_PRECISION + _GUARD
_ROOM: Final = 62
_SURE: Final = 30
"""Bits of a logarithm that are relied on, where both ends are tried."""
_TRIES: Final = 4
"""Proposals made at once for a choice whose first was not kept: a round costs more than what it holds."""
_APART: Final = 16 * _TRIES
"""Up to so many proposals have a coin each: a distance that several of them have, a likely one, saves no time."""
_POWERS: Final = np.array([1 << k for k in range(63)], dtype=np.int64)


class Exponential(Struct, frozen=True):
    """Choose one of a list of candidates by their scores.

    Shapes: ``(n,)`` scores in, an index out.
    Units: ``spread`` in steps of the score; ``nano`` in nano-epsilon.
    Privacy: if one unit moves every score by a number of one interval that holds 0 and is ``spread`` long, one
        choice costs ``loss``. That is twice the sensitivity of the scores in general, and the sensitivity where
        a unit can only raise, or only lower, all of them. Candidates and weights must be public.
    Errors: InvalidMechanism, for spread and epsilon, and for weights and lengths; scores never raise.

    >>> Exponential.of(1, 10**9).pmf([3, 3], 0)
    Fraction(1, 2)
    """

    spread: int
    nano: int

    def __post_init__(self) -> None:
        if self.nano < LEAST_NANO:
            raise InvalidMechanism("epsilon must be at least 0.001")
        if not 1 <= self.spread <= WIDEST_SPREAD:
            raise InvalidMechanism("twice the sensitivity of a score must be between 1 and 2^40")

    @staticmethod
    def of(sensitivity: int, nano: int) -> "Exponential":
        """Return the mechanism for scores of which one unit moves each by at most ``sensitivity``."""
        return Exponential(2 * sensitivity, nano)

    @property
    def loss(self) -> Loss:
        """What one choice costs."""
        return Loss(self.nano)

    @property
    def ratio(self) -> int:
        """Q, where q = Q / 2**64 >= e**-(epsilon / spread)."""
        return ratio(Fraction(self.nano, self.spread))

    def choose(self, scores: Sequence[int] | Int64, words: Words = os.urandom) -> int:
        """Return the index of the chosen candidate; scores beyond +-2**61 count as that."""
        chosen = self.choose_each(
            whole(scores, -LARGEST_SCORE, LARGEST_SCORE), np.array([len(scores)], dtype=np.int64), words
        )
        return int(chosen[0])

    def choose_each(self, scores: Int64, lengths: Int64, words: Words = os.urandom) -> Int64:
        """Choose once from each of several lists laid end to end; return indices within the lists."""
        lists = CandidateLists(self, scores, lengths)
        cells, _ = lists.draw(np.arange(lengths.size), words)
        result: Int64 = cells - lists.starts
        return result

    def pmf(self, scores: Sequence[int], candidate: int, weights: Sequence[int] = ()) -> Fraction:
        """Return the exact probability of a candidate; weights are 1 if not given. For few, near scores."""
        scale = weights or [1] * len(scores)
        best, q = max(s for s, w in zip(scores, scale, strict=True) if w), Fraction(self.ratio, ONE)
        masses = [w * q ** (best - s) if w else Fraction(0) for s, w in zip(scores, scale, strict=True)]
        return masses[candidate] / sum(masses)

    def shortfall(self, weight: int, confidence: Fraction) -> int:
        """Return the least s such that the chosen score is within s of the best with that confidence.

        It holds for all scores, of candidates whose weights add up to ``weight``, and no less will do.
        """
        if not 0 < confidence < 1:
            raise InvalidMechanism("confidence must be between 0 and 1, both excluded")
        # The others' mass at s + 1 and beyond, against at least 1 for the best: B / (1 + B) <= 1 - confidence.
        allowed = (1 - confidence) / confidence / max(weight - 1, 1)
        if weight == 1:
            return 0
        halvings = (allowed.denominator // allowed.numerator).bit_length()
        most = (halvings << _FRACTION) // log2(self.ratio) + 1

        def suffices(shortfall: int) -> bool:
            return shortfall >= 0 and _at_most(self.ratio, shortfall + 1, allowed)

        near = int(
            (math.log2(allowed.denominator) - math.log2(allowed.numerator)) * 2**_FRACTION / log2(self.ratio)
        )
        low, high = near - 2 - (near >> _SURE), near + 1 + (near >> _SURE)
        if suffices(low) or not suffices(high):
            low, high = -1, most
        return bisect_left(range(low + 1, high), 1, key=suffices) + low + 1


def _at_most(q: int, exponent: int, limit: Fraction) -> bool:
    """Whether (q / 2**64)**exponent <= limit."""
    precision = FIRST_PRECISION
    while True:
        low, high = power_bounds(q, exponent, precision)
        if high <= limit * 2**precision:
            return True
        if low > limit * 2**precision:
            return False
        precision *= 2


@lru_cache(maxsize=1024)
def log2(q: int) -> int:
    """Return the binary logarithm of 2**64 / q, times 2**55 and rounded down, by up to 2.

    >>> log2(2**64 // 8) / 2**55
    3.0
    """
    size = (q - 1).bit_length()
    result, mantissa = WORD - size, q << (FIRST_PRECISION - size)
    for _ in range(_FRACTION):
        mantissa = -(-mantissa * mantissa >> FIRST_PRECISION)
        halve = mantissa <= 1 << (FIRST_PRECISION - 1)
        result, mantissa = 2 * result + halve, mantissa << halve
    return result


@lru_cache(maxsize=256)
def _ladder(q: int) -> tuple[tuple[int, int], ...]:
    """Return bounds of q, q**2, q**4, ... as far as distances are proposed by, with the guard bits."""
    farthest = (_FAR << _FRACTION) // log2(q) + 1
    return tuple(power_bounds(q, 1 << i, _CLIMB) for i in range(farthest.bit_length()))


def _climb(q: int, exponent: int) -> tuple[int, int]:
    """Bound 2**_CLIMB * (q / 2**64)**exponent by as many steps for every exponent that the ladder has."""
    ladder = _ladder(q)
    if exponent >> len(ladder):
        return power_bounds(q, exponent, _CLIMB)
    low, high = rest = (1 << _CLIMB, 1 << _CLIMB)
    for place, power in enumerate(ladder):
        factor = power if exponent >> place & 1 else rest
        low, high = low * factor[0] >> _CLIMB, -(-high * factor[1] >> _CLIMB)
    return low, high


def held(values: Int64, low: int, high: int) -> Int64:
    """Return int64 values, those outside [low, high] as the nearer end; for few of them faster than np.clip."""
    result: Int64 = np.minimum(np.maximum(values, low), high)
    return result


def whole(values: Sequence[int] | Int64, low: int, high: int) -> Int64:
    """Return integers as an array, those outside [low, high] as the nearer end. Errors: TypeError for floats."""
    array = np.asarray(values)
    if array.dtype.kind == "i":
        return held(array.astype(np.int64, copy=False), low, high)
    # Not from the array: numpy holds a list of both signs and beyond 64 bits as floats.
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    return np.array([max(low, min(index(value), high)) for value in listed], dtype=np.int64)


def each_list(ufunc: np.ufunc, values: Int64, starts: Int64, lengths: Int64) -> Int64:
    """Return the maximum or minimum of each list at each of its places; a single list's just once."""
    if not starts.size:
        return values
    found: Int64 = ufunc.reduceat(values, starts)
    return found if starts.size == 1 else np.repeat(found, lengths)


def _check_weights(weights: Int64, starts: Int64) -> None:
    heaviest = np.maximum.reduceat(weights, starts)
    if starts.size and (weights.min() < 0 or heaviest.min() < 1 or heaviest.max() > _HEAVIEST):
        raise InvalidMechanism("a weight is between 0 and 2^62, and one of each choice is positive")


class CandidateLists:
    """Lists of candidates laid end to end, ready for any number of draws from each.

    A candidate stands for as many points as its weight, and a draw gives the candidate and one of its points,
    uniformly. It is proposed with a weight 2**-x that is at least w * q**d, where d is how far its score is
    below the best of its list.

    Args:
        mechanism: gives q.
        scores: integers; those beyond +-2**61 count as that.
        lengths: how many candidates each list has, at least 1.
        weights: from 0 to 2**62, some positive in each list; 1 each if not given. A draw is slow where those of a
            list are more than 2**62 together.
        slopes: by how much each point of a candidate scores less than the point before, where the first has the
            candidate's score; 0 each if not given. A draw is slow where that is more than spread / epsilon in all.

    Errors: InvalidMechanism, for lengths and weights.
    """

    __slots__ = (
        "_above", "_below", "_halvings", "_points", "_q", "_room", "_slopes", "_sums", "_weights", "starts",
    )  # fmt: skip

    def __init__(
        self,
        mechanism: Exponential,
        scores: Int64,
        lengths: Int64,
        weights: Int64 | None = None,
        slopes: Int64 | None = None,
    ) -> None:
        if lengths.sum() != scores.size or (lengths < 1).any():
            raise InvalidMechanism("a choice needs at least one candidate, and a score for each")
        self._q, self._weights, self._slopes = mechanism.ratio, weights, slopes
        self.starts: Int64 = np.cumsum(lengths) - lengths
        scores = held(scores, -LARGEST_SCORE, LARGEST_SCORE)
        if weights is not None:
            _check_weights(weights, self.starts)
            scores = np.where(weights > 0, scores, -LARGEST_SCORE)
        self._below: Int64 = each_list(np.maximum, scores, self.starts, lengths) - scores
        steps = log2(self._q)
        self._halvings = np.minimum(self._below, (_FAR << _FRACTION) // steps + 1)
        self._halvings *= steps
        self._halvings >>= _FRACTION
        self._above, self._points = self._halvings, None
        if weights is not None:
            self._points = np.searchsorted(_POWERS, weights)
            self._above = self._halvings - self._points
            self._above[weights == 0] = 2 * _FAR
        self._above = self._above - each_list(np.minimum, self._above, self.starts, lengths)
        self._room = _ROOM - int(scores.size).bit_length()
        proposals = np.minimum(self._above, self._room)
        np.subtract(self._room, proposals, out=proposals)
        np.left_shift(1, proposals, out=proposals)
        if weights is not None:
            proposals[weights == 0] = 0
        self._sums = np.zeros(scores.size + 1, dtype=np.int64)
        np.cumsum(proposals, out=self._sums[1:])

    def draw(self, lists: Int64, words: Words) -> tuple[Int64, Int64]:
        """Draw once from each of ``lists``; return candidates, counted through all lists, and points."""
        cells, points = np.zeros((2, lists.size), dtype=np.int64)
        ends = np.append(self.starts[1:], self._sums.size - 1)
        first, sizes = self._sums[self.starts], self._sums[ends] - self._sums[self.starts]
        pending, tries = np.arange(lists.size), 1
        while pending.size:
            chosen = np.repeat(lists[pending], tries)
            target = first[chosen] + below(sizes[chosen].view(np.uint64), words)
            cell = np.searchsorted(self._sums, target, side="right") - 1
            point, kept = self._keep(cell, words)
            taken = kept.reshape(-1, tries).argmax(axis=1) + np.arange(0, kept.size, tries)
            cells[pending], points[pending] = cell[taken], point[taken]
            pending, tries = pending[~kept[taken]], _TRIES
        return cells, points

    def _keep(self, cells: Int64, words: Words) -> tuple[Int64, NDArray[np.bool_]]:
        """Draw a point for each proposed candidate, and whether the proposal is kept."""
        point = np.zeros(cells.size, dtype=np.int64)
        inside = np.ones(cells.size, dtype=np.bool_)
        if self._points is not None and self._weights is not None:
            point = below(np.uint64(1) << self._points[cells].view(np.uint64), words)
            inside = point < self._weights[cells]
        more = None if self._slopes is None else np.where(inside, self._slopes[cells] * point, 0)
        kept = inside & self._near(cells, words, more)
        excess = self._above[cells] - self._room
        for position in np.flatnonzero(excess > 0):
            kept[position] &= below_wide([1 << int(excess[position])], words) == [0]
        return point, kept

    def _near(self, cells: Int64, words: Words, more: Int64 | None = None) -> NDArray[np.bool_]:
        """Return for each true with probability q**(d + more) * 2**halvings, which is at most 1."""
        first = which = np.arange(cells.size)
        distances = self._below[cells] if more is None else self._below[cells] + more
        if cells.size > _APART and more is None:  # else one distance may have several halvings
            _, first, which = np.unique(distances, return_index=True, return_inverse=True)
        coins = list(zip(distances[first].tolist(), self._halvings[cells[first]].tolist(), strict=True))
        bounds = [self._chance(coin, FIRST_PRECISION) for coin in coins]
        shift = FIRST_PRECISION - WORD
        low = np.array([min(low >> shift, LAST_WORD) for low, _ in bounds], dtype=np.uint64)[which]
        high = np.array([min(high >> shift, LAST_WORD) for _, high in bounds], dtype=np.uint64)[which]
        drawn = word_array(cells.size, words)
        result: NDArray[np.bool_] = drawn < low
        for position in np.flatnonzero((drawn >= low) & (drawn <= high)):
            result[position] = self._settle(coins[which[position]], int(drawn[position]), words)
        return result

    def _settle(self, coin: tuple[int, int], value: int, words: Words) -> bool:
        bits = WORD
        while True:
            value = value << WORD | int.from_bytes(words(8), "little")
            bits += WORD
            low, high = self._chance(coin, bits + WORD)
            if (value + 1) << WORD <= low:
                return True
            if value << WORD >= high:
                return False

    def _chance(self, coin: tuple[int, int], precision: int) -> tuple[int, int]:
        """Bound 2**precision * q**d * 2**halvings."""
        distance, halvings = coin
        first = precision == FIRST_PRECISION
        power = _climb(self._q, distance) if first else power_bounds(self._q, distance, precision + _GUARD)
        low, high = power
        return low << halvings >> _GUARD, -(-(high << halvings) >> _GUARD)
