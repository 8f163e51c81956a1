"""How far weighted sums of released numbers are from the same without noise: a bound that is a norm of the weights.

The noise of a number with a uniform number from -1/2 to 1/2 on top is a mixture of laws that are symmetric and fall
from 0 on. Given what is mixed, how far out a weighted sum is follows from its variance alone, about: so the bound is a
factor times the root of a sum of squares, with one factor for all weights. Proof: ``linear.md``.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, erf, erfc, exp, hypot, log, log1p, nextafter, pi, sqrt
from typing import Final

import numpy as np
from msgspec import Struct

from udfs.mechanisms.averaged import BEYOND, ROUNDING, SCALE, Averaged, Draw, Floats, SymmetricNoise
from udfs.mechanisms.gaussian import Gaussian
from udfs.mechanisms.laplace import Laplace
from udfs.mechanisms.staircase import Staircase

MOST_TERMS: Final = 64
"""Draws of staircases in one number; of more there is no bound."""
LARGEST: Final = 40
"""The largest moment that is taken."""
_CELLS: Final = 1024
"""So many levels, and variances, are told apart."""
_TURNS: Final = 40
"""Of the search for the least factor."""
_STEEPEST: Final = 3 * sqrt(6 / pi) * exp(-1.5)
FAR: Final = 2.95
"""From here on one two-sided exponential number is farther out than each sum of several."""

Number = Draw | Averaged
"""What the noise of a released number is."""


class Linear(Struct, frozen=True):
    """What weighted sums of several released numbers are within, with the confidence that it was made for.

    ``scales`` and ``halves`` are those of each number: of the root of the sum of squares, and of the sum.

    >>> bound = Linear.of([Draw(Laplace((1, 1), 10**9), i) for i in (0, 1)], Fraction(19, 20))
    >>> bound is not None and round(bound.reach([1, 1]), 3)
    5.584
    """

    scales: tuple[float, ...]
    halves: tuple[float, ...]

    @staticmethod
    def of(numbers: Sequence[Number], confidence: Fraction) -> "Linear | None":
        """As ``joint``; None, too, where half-widths that hold together are less for weights that make all alike.

        So they are where noise is mostly 0. Of means of several draws that is not looked at.
        """
        found = Linear.joint(numbers, confidence)
        singles = [n for n in numbers if isinstance(n, Draw) and n.terms == 1]
        if found is None or len(singles) < len(numbers):
            return found
        share = 1 - (1 - confidence) / len(singles)
        alike = [1 / s if s else 0.0 for s in found.scales]
        apart = sum(
            w * d.mechanism.half_width(share)[d.component] for w, d in zip(alike, singles, strict=True)
        )
        return found if found.reach(alike) < apart else None

    @staticmethod
    def joint(numbers: Sequence[Number], confidence: Fraction) -> "Linear | None":
        """The bound; None where not all numbers are made alike of the same draws of one kind of mechanism."""
        return _linear(tuple(numbers), confidence)

    def reach(self, weights: Sequence[float]) -> float:
        """An r with P(abs(weighted sum of noises) > r) <= 1 - confidence; a norm of the weights."""
        halves = sum(abs(w) * h for w, h in zip(weights, self.halves, strict=True))
        return hypot(*(w * s for w, s in zip(weights, self.scales, strict=True))) * (1 + ROUNDING) + halves


class Squares(Struct, frozen=True):
    """The law of a number that is not negative: values and their shares; what is ``missing`` is infinitely large."""

    values: Floats
    shares: Floats
    missing: float

    def plus(self, other: "Squares") -> "Squares":
        """The law of a sum of independent numbers, or of larger ones."""
        sums = np.add.outer(self.values, other.values).ravel()
        top = float(sums.max())
        cells = np.ceil(sums * (_CELLS / top)).astype(np.int64)
        shares = np.bincount(cells, np.multiply.outer(self.shares, other.shares).ravel(), _CELLS + 1)
        values = np.arange(_CELLS + 1, dtype=np.float64) * (top / _CELLS * (1 + ROUNDING))
        return Squares(
            values[shares > 0], shares[shares > 0].astype(np.float64), self.missing + other.missing
        )

    def times(self, factor: float, many: int) -> "Squares":
        """The law of the sum of so many, each times a factor."""
        one = Squares(self.values * factor, self.shares, self.missing)
        found = one
        for bit in f"{many:b}"[1:]:
            found = found.plus(found)
            found = found.plus(one) if bit == "1" else found
        return found


class _Drawn(Struct, frozen=True):
    """A draw of all numbers: their components, the share of each that it is, and how many it is the sum of."""

    mechanism: Staircase | Laplace | Gaussian
    components: tuple[int, ...]
    shares: tuple[float, ...]
    terms: int


@lru_cache(maxsize=1024)
def _linear(numbers: tuple[Number, ...], confidence: Fraction) -> Linear | None:
    means = [n if isinstance(n, Averaged) else Averaged((n,)) for n in numbers]
    drawn = None if len(set(numbers)) < len(numbers) else _drawn(means)
    if drawn is None:
        return None
    allowed, kinds = float(1 - confidence), {type(d.mechanism) for d in drawn}
    on_top = 0.5
    if all(issubclass(kind, Staircase) for kind in kinds):
        found = _staircases(drawn, len(means), allowed)
    else:
        sizes = [hypot(*(_size(d, n) for d in drawn)) for n in range(len(means))]
        least, without = (
            least_of(exponential if kinds == {Laplace} else normal, a) for a in (allowed, allowed / 2)
        )
        alike = [1 / s for s in sizes if s]
        if alike and (without - least) * sqrt(len(alike)) < on_top * sum(alike):
            least, on_top = without, 0.0
        found = [least * size for size in sizes] if len(kinds) == 1 else None
    if found is None:
        return None
    halves = [on_top + (0.0 if m.is_single else 0.5) if s else 0.0 for m, s in zip(means, found, strict=True)]
    return Linear(tuple(found), tuple(halves))


def _drawn(means: Sequence[Averaged]) -> list[_Drawn] | None:
    """The draws that all numbers are means of; None where these are different ones."""
    if not means or len({len(m.draws) for m in means}) > 1:
        return None
    found = []
    for place, each in enumerate(zip(*(m.draws for m in means), strict=True)):
        mechanism, terms, cells = each[0].mechanism, each[0].terms, each[0].cells
        is_known = isinstance(mechanism, Staircase | Laplace | Gaussian)
        if not is_known or any((d.mechanism, d.terms, d.cells) != (mechanism, terms, cells) for d in each):
            return None
        shares = tuple(m.weights[place] / SCALE for m in means)
        if terms and any(shares):
            found.append(_Drawn(mechanism, tuple(d.component for d in each), shares, terms))
    return found


def _staircases(drawn: Sequence[_Drawn], count: int, allowed: float) -> list[float] | None:
    """The scale of each number, of which there are ``count``; None where too many draws are added up."""
    terms = sum(d.terms for d in drawn)
    if terms > MOST_TERMS:
        return None
    made = [
        levels_of(d.mechanism, d.components, allowed, terms)
        for d in drawn
        if isinstance(d.mechanism, Staircase)
    ]
    sizes = [
        [s * share for s, share in zip(scales, d.shares, strict=True)]
        for (scales, _), d in zip(made, drawn, strict=True)
    ]
    whole = [
        hypot(*(sqrt(d.terms) * of[n] for d, of in zip(drawn, sizes, strict=True))) for n in range(count)
    ]
    if not any(whole):
        return whole
    squares: Squares | None = None
    for (_, law), d, of in zip(made, drawn, sizes, strict=True):
        most = max((s / w) ** 2 for s, w in zip(of, whole, strict=True) if w)
        part = law.times(most, d.terms)
        squares = part if squares is None else squares.plus(part)
    if squares is None:
        raise AssertionError("a number with noise has a draw")
    uniform = terms * sum(map(bool, whole))

    def beyond(x: float) -> float:
        tails = _sum_of_uniform(x / np.sqrt(squares.values), uniform)
        return float(np.dot(squares.shares, tails)) * (1 + ROUNDING) + squares.missing

    least = least_of(beyond, allowed)
    return [size * least for size in whole]


def levels_of(
    mechanism: Staircase, components: Sequence[int], allowed: float, terms: int
) -> tuple[list[float], Squares]:
    """Scales of components, and the law of what the level makes of their squares, at most."""
    missing = allowed / (BEYOND * terms)
    lasts, shares = _cells(mechanism, missing)
    usual = float(lasts[np.argmax(np.cumsum(shares) >= 1 - allowed)])
    sides = [mechanism.factors[c] if mechanism.widths[c] else (0, 0) for c in components]
    scales = [(side + more * usual) / sqrt(12) for side, more in sides]
    values = np.zeros_like(lasts)
    for (side, more), scale in zip(sides, scales, strict=True):
        if scale:
            values = np.maximum(values, ((side + more * lasts) / (sqrt(12) * scale)) ** 2)
    return scales, Squares(values * (1 + ROUNDING), shares, missing)


@lru_cache(maxsize=256)
def _cells(mechanism: Staircase, missing: float) -> tuple[Floats, Floats]:
    """The last level of each cell of levels, and the share of the cell; those beyond have less than is ``missing``."""
    fall, top = log(mechanism.ratio) - 64 * log(2), 64
    while True:
        levels = np.arange(top + 1, dtype=np.float64)
        logs = fall * levels
        for side, more in mechanism.factors:
            logs += np.log(side + more * levels)
        shares, ratio = np.exp(logs - logs.max()), exp(logs[-1] - logs[-2])
        if ratio < 1 and 2 * shares[-1] * ratio <= missing * shares.sum() * (1 - ratio):
            break
        top *= 2
    firsts = np.arange(0, top + 1, top // _CELLS + 1)
    return np.append(firsts[1:] - 1.0, float(top)), np.add.reduceat(shares / shares.sum(), firsts)


def _sum_of_uniform(y: Floats, many: int) -> Floats:
    """The most that P(abs(T) > y) can be, for a weighted sum T of so many uniform numbers around 0, of variance 1."""
    near = np.maximum(1 - y / sqrt(3), 0.0)
    if many == 1:
        return near
    if many == 2:
        return np.maximum(near, np.maximum(sqrt(6) - y, 0.0) ** 2 / 6)
    found, far = (
        np.ones_like(y),
        np.maximum(y, 2 / sqrt(3)),
    )  # nearer ones would overflow, and are not asked for
    for half, moment in enumerate(_moments(many)[1:], start=1):
        p = 2 * half
        found = np.minimum(found, np.exp(p * log(p / (p + 1)) + log(moment) - p * np.log(far)))
    return np.where(y * sqrt(3) <= 2, near, found)


@lru_cache(maxsize=64)
def _moments(many: int) -> list[float]:
    """The even ones up to ``LARGEST`` of a sum of so many alike uniform numbers, of variance 1."""
    one = [(3 / many) ** k / (2 * k + 1) for k in range(LARGEST // 2 + 1)]
    found = one
    for _ in range(many - 1):
        found = [
            sum(comb(2 * k, 2 * j) * found[j] * one[k - j] for j in range(k + 1)) for k in range(len(one))
        ]
    return found


def _size(drawn: _Drawn, number: int) -> float:
    """Of the exponential, or normal, law that one number's noise is more peaked than."""
    one = size_of(drawn.mechanism, drawn.components[number])
    return one * drawn.shares[number] * sqrt(drawn.terms)


def size_of(mechanism: SymmetricNoise, component: int) -> float:
    """The same of one draw of a component; 0 without noise, and of what is no such mechanism."""
    ratio = mechanism.ratios[component] if isinstance(mechanism, Laplace | Gaussian) else None
    if ratio is None:
        return 0.0
    rest = min(float(1 - ratio.fraction), nextafter(1.0, 0.0))  # less is a wider law
    return 1 / rest - 0.5 if isinstance(mechanism, Laplace) else _wider(-1 / (2 * log1p(-rest)))


def _wider(v: float) -> float:
    """The deviation of a normal law that is less peaked than a discrete one with q = exp(-1 / (2 v))."""
    near = (erf(0.5 / sqrt(2 * v)) + erf(1.5 / sqrt(2 * v))) / 2
    return sqrt(max(v + 2 / pi, 2 / (pi * near**2)))


def exponential(x: float) -> float:
    """P(abs(T) > x) at most, for a sum T of two-sided exponential numbers whose squared scales add up to 1."""
    return exp(-x) + (0.0 if x >= FAR else _STEEPEST / x**2 * exp(-x * x / 6))


def normal(x: float) -> float:
    """P(abs(T) > x) at most, for a sum T of numbers more peaked than normal ones whose variances add up to 1."""
    return erfc(x / sqrt(2))


def least_of(beyond: Callable[[float], float], allowed: float) -> float:
    """The least x, about, with ``beyond`` at most what is allowed; always one with that."""
    low, high = 0.0, 1.0
    while beyond(high) > allowed:
        low, high = high, 2 * high
    for _ in range(_TURNS):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > allowed else (low, middle)
    return high * (1 + ROUNDING)
