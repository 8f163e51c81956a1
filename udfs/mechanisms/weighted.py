"""How far sums over independent draws, with weights that nobody knows, are from the same without noise.

The bound grows with the root of the sum of squared weights, so with the root of the number of draws. Its factor is the
less, the less of that sum one draw has. Proof: ``weighted.md``.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import prod, sqrt
from typing import Final

import numpy as np
from msgspec import Struct

from udfs.mechanisms.averaged import ROUNDING, Draw, Floats
from udfs.mechanisms.gaussian import Gaussian
from udfs.mechanisms.laplace import Laplace
from udfs.mechanisms.linear import LARGEST, Squares, exponential, least_of, levels_of, normal, size_of
from udfs.mechanisms.staircase import Staircase

MANY: Final = (1, 2, 4, 8, 16)
"""Of how many draws alike factors are followed."""
ON_TOP: Final = 2.0
"""Deviations of what makes whole numbers densities; they are below minus so many with at most half of ``_tail``."""
_CELLS: Final = 2048
_HALVES: Final = range(1, LARGEST // 2 + 1)
_MOMENTS: Final = [(2 * h / (2 * h + 1)) ** (2 * h) * prod(range(1, 2 * h, 2)) for h in _HALVES]
"""P(abs(T) > y) is at most each of them over y^(2h), for a sum T of uniform numbers of variance 1."""
_TURN: Final = 0.75
"""The variance, over the square of a distance, from which on the tail is 1 - 1 / sqrt(3 u)."""


class Weighted(Struct, frozen=True):
    """What sums over up to so many rows, each with one draw of all numbers, are within.

    ``scales`` are those of the numbers of a draw; ``factors`` where no row has more than all, a half, ... 1/16 of the
    sum of squares of weights times scales.

    >>> found = Weighted.of([Draw(Laplace((1, 1), 10**8), i) for i in (0, 1)], 50, Fraction(19, 20))
    >>> found is not None and round(found.reach([[1, 0]] * 50) / 50**0.5, 2)
    30.95
    """

    scales: tuple[float, ...]
    factors: tuple[float, ...]

    @staticmethod
    def of(numbers: Sequence[Draw], rows: int, confidence: Fraction) -> "Weighted | None":
        """The bound; None where the numbers are not those of one draw of a mechanism that is known."""
        alike = {(d.mechanism, d.terms, d.cells) for d in numbers}
        is_one = len({d.component for d in numbers}) == len(numbers)
        if not is_one or len(alike) != 1 or numbers[0].terms != 1:
            return None
        return _weighted(tuple(numbers), rows, float(1 - confidence))

    def reach(self, weights: Sequence[Sequence[float]]) -> float:
        """An r with P(abs(weighted sum of noises) > r) <= 1 - confidence, for the weights of each row."""
        squares = [sum((w * s) ** 2 for w, s in zip(row, self.scales, strict=True)) for row in weights]
        whole = sum(squares)
        followed = zip(self.factors, MANY, strict=False)
        *_, factor = [f for f, m in followed if m == 1 or m * max(squares) <= whole]
        return factor * sqrt(whole) + sqrt(sum(w * w for row in weights for w in row)) * ON_TOP / sqrt(12)


@lru_cache(maxsize=256)
def _weighted(numbers: tuple[Draw, ...], rows: int, allowed: float) -> Weighted | None:
    mechanism, components = numbers[0].mechanism, [d.component for d in numbers]
    beyond: list[Callable[[float], float]]
    allowed *= 1 - _tail(ON_TOP) / 2
    if isinstance(mechanism, Laplace | Gaussian):
        scales = [size_of(mechanism, c) for c in components]
        beyond = [exponential if isinstance(mechanism, Laplace) else normal]
    elif isinstance(mechanism, Staircase):
        scales, law = levels_of(mechanism, components, allowed, rows)
        beyond = list(_mixed(law, rows)) if any(scales) else [normal]
    else:
        return None
    return Weighted(tuple(scales), tuple(least_of(each, allowed) for each in beyond))


def _tail(y: float) -> float:
    """The most that P(abs(T) > y) can be for a sum of uniform numbers of variance 1, however many."""
    if y * sqrt(3) <= 2:
        return 1 - y / sqrt(3)
    return min(moment / y ** (2 * h) for moment, h in zip(_MOMENTS, _HALVES, strict=True))


def _mixed(law: Squares, rows: int) -> Iterator[Callable[[float], float]]:
    """P(abs(T) > x) at most: the variance of T given the levels is a mean of ``MANY`` of this law, or more peaked."""
    step = float(law.values.max()) / _CELLS
    shares, many = _spread(law.values / step, law.shares), 1
    for wanted in MANY:
        while many < wanted:
            doubled = np.convolve(shares, shares)
            shares, many = _spread(np.arange(len(doubled)) / 2, doubled), 2 * many
        if many <= rows:
            yield _beyond(step, shares, rows * law.missing)


def _spread(places: Floats, shares: Floats) -> Floats:
    """Shares of cells: each goes to both cells beside its place, so that its mean stays."""
    below = np.minimum(places.astype(np.int64), _CELLS - 1)
    part = places - below
    left = np.bincount(below, shares * (1 - part), _CELLS + 1).astype(np.float64)
    return left + np.bincount(below + 1, shares * part, _CELLS + 1).astype(np.float64)


def _beyond(step: float, shares: Floats, missing: float) -> Callable[[float], float]:
    """By what the numbers of all cells up to each one add up to."""
    values = np.arange(_CELLS + 1, dtype=np.float64) * step
    number, total = np.cumsum(shares), np.cumsum(shares * values)
    powers = [(bend, np.cumsum(shares * values**bend.half)) for bend in _bends()]

    def mean(bend: _Bend, near: Floats, x: float) -> float:
        last = min(int(bend.at * x * x / step), _CELLS)
        many, far = number[-1] - number[last], total[-1] - total[last]
        height = bend.moment * bend.at**bend.half
        return float(
            bend.moment * near[last] / x ** (2 * bend.half)
            + (height - bend.slope * bend.at) * many
            + bend.slope * far / (x * x)
        )

    def beyond(x: float) -> float:
        return min(mean(bend, near, x) for bend, near in powers) * (1 + ROUNDING) + missing

    return beyond


class _Bend(Struct, frozen=True):
    """A convex bound of ``_tail`` at 1 / sqrt(u): a power of u up to ``at``, and a line beyond."""

    at: float
    moment: float
    half: int
    slope: float


@lru_cache(maxsize=1)
def _bends() -> list[_Bend]:
    """At the places where one moment is as good as the next: the slope is at least that to each place beyond."""
    kinks = [a / b for a, b in pairwise(_MOMENTS)]
    ends = [(u, _tail(1 / sqrt(u))) for u in (*kinks, _TURN)]
    found = []
    for at, (moment, half) in zip(kinks[1:], list(zip(_MOMENTS, _HALVES, strict=True))[1:], strict=False):
        height = moment * at**half
        chords = ((tail - height) / (u - at) for u, tail in ends if u > at)
        found.append(_Bend(at, moment, half, max(half * height / at, *chords) * (1 + ROUNDING)))
    return found
