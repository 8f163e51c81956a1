"""How far weighted sums of the components of one draw are from 0: a bound that is a norm of the weights.

The noise of a component with a uniform number from -1/2 to 1/2 on top is a mixture of uniform laws around 0, jointly
for all components. So each weighted sum has a symmetric density that falls from 0 on, whose tail an even moment bounds.
The root of the moment is a norm of the weights (Minkowski), so that a bound for the weights that are meant follows from
one for weights near them. Source: Winckler, "Allgemeine Saetze zur Theorie der unregelmaessigen Beobachtungsfehler",
1866. Proof: ``linear.md``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import factorial, log, prod
from typing import Final

from udfs.mechanisms.averaged import ROUNDING, Draw
from udfs.mechanisms.laplace import Laplace
from udfs.mechanisms.levels import Factor, binomial
from udfs.mechanisms.staircase import Staircase

LARGEST: Final = 8
"""The largest moment that is taken."""

Exponents = tuple[int, ...]
"""Of the squares of weights."""


@dataclass(frozen=True, slots=True)
class Linear:
    """Components of one draw, and what sums of them with weights are within.

    >>> Linear(Laplace((1,), 10**9), (0,)).reach((1.0,), Fraction(19, 20)) >= 3
    True
    """

    mechanism: Staircase | Laplace
    components: tuple[int, ...]

    @staticmethod
    def of(draws: Sequence[Draw], confidence: Fraction) -> "Linear | None":
        """What ``draws`` are components of; None where they are of several draws, or of another mechanism.

        None, too, where weights that make all components alike are bounded nearer by half-widths that hold together.
        """
        if not draws or any(d.terms != 1 or d.mechanism != draws[0].mechanism for d in draws):
            return None
        mechanism = draws[0].mechanism
        if not isinstance(mechanism, Staircase | Laplace):
            return None
        found = Linear(mechanism, tuple(d.component for d in draws))
        alike = [1 / s if s else 0.0 for s in found.scales]
        halves = mechanism.half_width(1 - (1 - confidence) / len(draws))
        apart = sum(w * halves[c] for w, c in zip(alike, found.components, strict=True))
        return found if found.reach(alike, confidence) < apart else None

    @property
    def scales(self) -> tuple[float, ...]:
        """The standard deviation of each component with its uniform number; 0 without noise."""
        return tuple(float(v) ** 0.5 for v in _variances(self))

    @staticmethod
    def power(confidence: Fraction) -> int:
        """The moment that is taken, a public choice: the farther out the bound, the larger."""
        return min(LARGEST, max(4, 2 * round(-log(1 - confidence) / 2)))

    def terms(self, confidence: Fraction) -> dict[Exponents, float]:
        """The bound without half a unit of each weight, to the ``power``, as a polynomial.

        Its variables are the squares of the weights times ``scales``; all factors are positive.
        """
        return _terms(self, confidence)

    def reach(self, weights: Sequence[float], confidence: Fraction) -> float:
        """An r with P(abs(weighted sum of noises) > r) <= 1 - confidence; a norm of the weights."""
        sizes = [abs(w) * s for w, s in zip(weights, self.scales, strict=True)]
        top = max(sizes)
        if not top:
            return 0.0
        squares = [(size / top) ** 2 for size in sizes]
        moment = sum(
            factor * prod(x**k for x, k in zip(squares, powers, strict=True))
            for powers, factor in self.terms(confidence).items()
        )
        halves = sum(abs(w) for w, s in zip(weights, sizes, strict=True) if s) / 2
        return float(top * moment ** (1 / self.power(confidence)) * (1 + ROUNDING) + halves)


@lru_cache(maxsize=1024)
def _variances(linear: Linear) -> tuple[Fraction, ...]:
    places = range(len(linear.components))
    return tuple(_moment(linear, tuple(int(i == j) for j in places)) for i in places)


@lru_cache(maxsize=1024)
def _terms(linear: Linear, confidence: Fraction) -> dict[Exponents, float]:
    power, found = linear.power(confidence), {}
    gauss = Fraction(power, power + 1) ** power / (1 - confidence)
    variances = _variances(linear)
    for powers in _exponents(power // 2, [bool(v) for v in variances]):
        ways = Fraction(factorial(power), prod(factorial(2 * k) for k in powers))
        scale = prod((v**k for v, k in zip(variances, powers, strict=True)), start=Fraction(1))
        found[powers] = float(gauss * ways * _moment(linear, powers) / scale)
    return found


def _exponents(whole: int, noisy: Sequence[bool]) -> Iterator[Exponents]:
    """All that add up to ``whole``, 0 for components without noise."""
    if len(noisy) == 1:
        yield from [(whole,)] if noisy[0] or not whole else []
        return
    for first in range(whole + 1 if noisy[0] else 1):
        for rest in _exponents(whole - first, noisy[1:]):
            yield (first, *rest)


@lru_cache(maxsize=4096)
def _moment(linear: Linear, powers: Exponents) -> Fraction:
    """The mean of the product of even powers of components with their uniform numbers: exact."""
    mechanism = linear.mechanism
    sides = prod(2 * k + 1 for k in powers) << 2 * sum(powers)
    if isinstance(mechanism, Staircase):
        if any(k and not mechanism.widths[c] for c, k in zip(linear.components, powers, strict=True)):
            return Fraction(0)
        more = [
            mechanism.factors[c] for c, k in zip(linear.components, powers, strict=True) for _ in range(2 * k)
        ]
        return _mean(mechanism.factors, more, Fraction(mechanism.ratio, 2**64)) / sides
    ratios = [(mechanism.ratios[c], k) for c, k in zip(linear.components, powers, strict=True) if k]
    found = Fraction(1)
    for ratio, k in ratios:
        found *= _mean([(1, 2)], [(1, 2)] * (2 * k), ratio.fraction) if ratio is not None else 0
    return found / sides


def _mean(sides: Sequence[Factor], more: Sequence[Factor], q: Fraction) -> Fraction:
    """Of the product of ``more``, over levels that are as likely as the product of ``sides`` times q**t."""
    return _total(binomial([*sides, *more]), q) / _total(binomial(sides), q)


def _total(coefficients: Sequence[int], q: Fraction) -> Fraction:
    """The sum over t of a polynomial in the basis C(t, m) times q**t."""
    p, n = q.as_integer_ratio()
    top = len(coefficients) - 1
    whole = sum(c * p**m * (n - p) ** (top - m) for m, c in enumerate(coefficients))
    return Fraction(whole * n, (n - p) ** (top + 1))
