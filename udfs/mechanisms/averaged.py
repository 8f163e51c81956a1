"""The mean of several draws around the same number, weighed by their precision, and how far off it is.

The weights follow from the laws of the noise alone, so that the mean is post-processing of what was released. It is
rounded to a whole number, ties towards the first draw, and is never farther from the number than ``half_width`` but
with the probability that is asked for. Proof: ``averaged.md``.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial, reduce
from math import ceil, exp, floor, log, log2, nextafter, sqrt
from typing import Final, Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

SCALE: Final = 1 << 20
"""What whole weights add up to."""
STEP: Final = 0.75
"""Between the tails of two knots of a law, at most."""
KNOTS: Final = 64
"""Of a law, about: where less may be missed they are farther apart."""
BEYOND: Final = 1024
"""The last knot's tail is this much smaller than what may be missed."""
_FINE: Final = 3
"""Bits of a number of draws that are told apart."""
ROUNDING: Final = 1e-9
"""More than what adding up some thousand products in floating point is off, relatively."""
MOST_TERMS: Final = 4096
"""Draws of one sum whose law is followed; of more it is bounded by its variance alone."""
MOST_DRAWS: Final = 8
"""Draws of one mean: what the laws of so many leave out is less than what may be missed."""
USUAL: Final = Fraction(19, 20)
"""No mean is taken that would widen intervals of this confidence."""
Floats = NDArray[np.float64]


class SymmetricNoise(Protocol):
    """A mechanism whose components are symmetric, and each whole number no likelier than one nearer to 0."""

    def noise_sd(self) -> tuple[float, ...]:
        """Of each component."""

    def half_width(self, confidence: Fraction) -> tuple[int, ...]:
        """Of each component."""


class Draw(Struct, frozen=True):
    """The noise of one released number: the sum of ``terms`` independent draws of a component of a mechanism.

    Numbers of other ``cells`` are not of the same draws: what they have in common is not known.
    """

    mechanism: SymmetricNoise
    component: int
    terms: int = 1
    cells: int = 0

    @property
    def variance(self) -> float:
        """Of the sum."""
        return self.terms * self.mechanism.noise_sd()[self.component] ** 2


class Averaged(Struct, frozen=True):
    """The mean of numbers that independent ``draws`` moved; it starts from the first of them.

    >>> from udfs.mechanisms.laplace import Laplace
    >>> mean = Averaged((Draw(Laplace((1,), 10**8), 0), Draw(Laplace((1,), 10**8), 0)))
    >>> mean.weights == (SCALE // 2, SCALE // 2), mean.of((10, 13)), mean.of((13, 10))
    (True, 11, 12)
    """

    draws: tuple[Draw, ...]

    def __post_init__(self) -> None:
        if len(self.draws) > MOST_DRAWS:
            raise ValueError(f"a mean is of at most {MOST_DRAWS} draws")

    @property
    def weights(self) -> tuple[int, ...]:
        """Whole numbers that add up to ``SCALE``: the inverse variances, or all of it to the first draw."""
        return _weights(self)

    def of(self, values: Sequence[int]) -> int:
        """The mean of one value of each draw."""
        first = values[0]
        return first + nearest(
            sum(w * (value - first) for w, value in zip(self.weights[1:], values[1:], strict=True))
        )

    @property
    def is_single(self) -> bool:
        """Whether it is the first draw as it is."""
        return self.weights[0] == SCALE

    def noise_sd(self) -> float:
        """Its standard deviation; where it is rounded, about."""
        if self.is_single:
            return sqrt(self.draws[0].variance)
        shares = zip(self.draws, self.weights, strict=True)
        return sqrt(sum((w / SCALE) ** 2 * d.variance for d, w in shares) + 1 / 12)

    def half_width(self, confidence: Fraction) -> int:
        """An h that the mean stays within with at least this confidence."""
        if self.is_single:
            return _single(self.draws[0], confidence)
        return _reach(self.draws, self.weights, confidence)


def nearest(off: int) -> int:
    """The nearest whole number to so many parts of ``SCALE``, ties towards 0.

    >>> nearest(SCALE // 2), nearest(SCALE // 2 + 1), nearest(-SCALE // 2 - 1)
    (0, 1, -1)
    """
    size = (2 * abs(off) + SCALE - 1) // (2 * SCALE)
    return size if off >= 0 else -size


@lru_cache(maxsize=1024)
def _weights(mean: Averaged) -> tuple[int, ...]:
    alone = (SCALE, *(0 for _ in mean.draws[1:]))
    variances = [d.variance for d in mean.draws]
    if not all(variances):
        return alone
    total = sum(1 / v for v in variances)
    others = [round(SCALE / v / total) for v in variances[1:]]
    weights = (SCALE - sum(others), *others)
    is_better = 1 / total + 1 / 12 < variances[0]
    return (
        weights
        if is_better and _reach(mean.draws, weights, USUAL) <= _single(mean.draws[0], USUAL)
        else alone
    )


def widest(draw: Draw, most: int, confidence: Fraction) -> float:
    """An r such that n such draws add up to at most r sd sqrt(n), with this confidence, for each n up to ``most``.

    ``sd`` is that of one draw. Between two numbers of draws whose law is followed the larger one's half-width counts.
    """
    reach, before, allowed = 0.0, 0, float(1 - confidence)
    if 2 * most * draw.terms > MOST_TERMS:
        return _gauss((draw,), (SCALE,), confidence) / sqrt(draw.variance)
    while before < most:
        many = before + (1 << max(0, before.bit_length() - _FINE))
        law = _added(replace(draw, terms=1), many * draw.terms, 1.0, _shared(allowed, 2 * most * draw.terms))
        if law.tails[-1] > allowed:
            return _gauss((draw,), (SCALE,), confidence) / sqrt(draw.variance)
        reach = max(reach, _beyond(law, allowed) / sqrt(draw.variance * (before + 1)))
        before = many
    return reach


def _single(draw: Draw, confidence: Fraction) -> int:
    if draw.terms <= 1:
        return draw.mechanism.half_width(confidence)[draw.component] if draw.terms else 0
    return ceil(_within(draw, confidence) - 0.5)


def _within(draw: Draw, confidence: Fraction) -> float:
    """What a draw with a uniform number from -1/2 to 1/2 on top stays within."""
    if draw.terms > MOST_TERMS:
        return _gauss((draw,), (SCALE,), confidence)
    allowed = float(1 - confidence)
    law = _law(draw, 1.0, allowed)
    return _beyond(law, allowed) if law.tails[-1] <= allowed else _gauss((draw,), (SCALE,), confidence)


@lru_cache(maxsize=4096)
def _reach(draws: tuple[Draw, ...], weights: tuple[int, ...], confidence: Fraction) -> int:
    """Of the rounded mean: half a unit for rounding, and half a unit for the whole numbers that draws are."""
    if any(d.terms > MOST_TERMS for d in draws):
        return floor(_gauss(draws, weights, confidence) + 1)
    allowed = float(1 - confidence)
    laws = (_law(d, w / SCALE, allowed) for d, w in zip(draws, weights, strict=True) if w)
    law = reduce(partial(_sum, allowed=allowed), laws)
    far = _beyond(law, allowed) if law.tails[-1] <= allowed else _gauss(draws, weights, confidence)
    return floor(far + 1)


def _beyond(law: "_Law", allowed: float) -> float:
    """What it is beyond with at most this probability."""
    return float(np.interp(-allowed, -law.tails, law.knots)) * (1 + ROUNDING)


def _gauss(draws: Sequence[Draw], weights: Sequence[int], confidence: Fraction) -> float:
    """By Gauss's inequality, which holds for every symmetric density that falls from 0 on."""
    shares = zip(draws, weights, strict=True)
    variance = sum((w / SCALE) ** 2 * (d.variance + 1 / 12) for d, w in shares)
    return max(2 / (3 * sqrt(float(1 - confidence))), 2 / sqrt(3)) * sqrt(variance)


class _Law(Struct, frozen=True):
    """A symmetric law: its tail falls in straight lines between knots, never slower than before."""

    knots: Floats
    tails: Floats

    def mixture(self) -> tuple[Floats, Floats]:
        """The same as uniform laws on [-a, a]: each a, and its share; what the last tail holds is beyond all."""
        slopes = np.append(np.diff(self.tails) / np.diff(self.knots), 0.0)
        return self.knots[1:], self.knots[1:] * np.maximum(np.diff(slopes), 0.0)


@lru_cache(maxsize=1024)
def _law(draw: Draw, weight: float, allowed: float) -> _Law:
    """One that is farther from 0 than ``weight`` times a draw with a uniform number from -1/2 to 1/2 on top.

    Of several terms it is the sum of their laws, each with such a number on top, and each with less left out.
    """
    if draw.terms > 1:
        return _added(replace(draw, terms=1), draw.terms, weight, _shared(allowed, draw.terms))
    tails = [1.0]
    knots = [0.0]
    step = _step(allowed)
    while tails[-1] > allowed / BEYOND:
        tail = Fraction(tails[-1] * step)
        half = draw.mechanism.half_width(1 - tail)[draw.component] + 0.5
        tails.append(float(tail))
        knots.append(nextafter(half * weight, half))
    return _hull(np.array(knots), np.array(tails))


def _step(allowed: float) -> float:
    """Between the tails of two knots."""
    return min(STEP, exp(log(allowed / BEYOND) / KNOTS))


def _shared(allowed: float, terms: int) -> float:
    """What each of so many draws may leave out, the same for numbers that are alike."""
    return 2.0 ** floor(log2(allowed / terms))


@lru_cache(maxsize=1024)
def _added(draw: Draw, many: int, weight: float, allowed: float) -> _Law:
    """The sum of so many: of halves, and one more where the number is odd."""
    if many == 1:
        return _law(draw, weight, allowed)
    half = _added(draw, many // 2, weight, allowed)
    whole = _sum(half, half, allowed)
    return _sum(whole, _law(draw, weight, allowed), allowed) if many % 2 else whole


def _hull(knots: Floats, tails: Floats) -> _Law:
    """The largest convex function that is nowhere above the points."""
    kept: list[int] = []
    for i in range(len(knots)):
        while kept and (
            knots[kept[-1]] >= knots[i] or (len(kept) > 1 and _is_above(knots, tails, kept[-2], kept[-1], i))
        ):
            kept.pop()
        kept.append(i)
    return _Law(knots[kept], tails[kept])


def _is_above(knots: Floats, tails: Floats, left: int, middle: int, right: int) -> bool:
    """Whether the middle point is on or above the line between the others."""
    rise = (tails[middle] - tails[left]) * (knots[right] - knots[left])
    return bool(rise >= (tails[right] - tails[left]) * (knots[middle] - knots[left]))


def _sum(one: _Law, other: _Law, allowed: float) -> _Law:
    """A law that is at least as far from 0 as the sum of independent numbers of both."""
    if min(len(one.knots), len(other.knots)) == 1:  # nothing is known of one
        return _hull(np.array([0.0]), np.array([1.0]))
    (a, some), (b, others) = one.mixture(), other.mixture()
    missing = float(one.tails[-1] + other.tails[-1])
    shares = (some[:, None] * others[None, :]).ravel()
    wide = np.maximum(a[:, None], b[None, :]).ravel()
    narrow = np.minimum(a[:, None], b[None, :]).ravel()

    apart, together, twice = wide - narrow, wide + narrow, 4 * wide * narrow

    def tail(x: float) -> tuple[float, float]:
        """What is beyond it, and how fast the logarithm of that falls there."""
        left, is_near = np.maximum(together - x, 0.0), x < apart
        beyond = float(shares @ np.where(is_near, 1 - x / wide, left * left / twice))
        density = float(shares @ np.where(is_near, 1 / wide, 2 * left / twice))
        found = min(1.0, beyond * (1 + ROUNDING) + missing)
        return found, density / found if found else 0.0

    knots, tails, fall = [0.0], [1.0], -log(_step(allowed))
    top, rate, more = float(one.knots[-1] + other.knots[-1]), tail(0.0)[1], 0.0
    while tails[-1] > max(allowed / BEYOND, 2 * missing):
        step = 2 * fall / (rate + sqrt(rate * rate + 2 * more * fall))
        knots.append(min(knots[-1] + step, top))
        found, after = tail(knots[-1])
        tails.append(found)
        rate, more = after, max(after - rate, 0.0) / step
    return _hull(np.array(knots), np.array(tails))
