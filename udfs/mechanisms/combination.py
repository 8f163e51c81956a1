"""A weighted sum of independent draws of which the standard deviation is known, and how far off it is.

Proof: ``combination.md``.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import cosh, hypot, log, sqrt
from typing import Final

from msgspec import Struct

from udfs.mechanisms.averaged import Averaged, Draw
from udfs.mechanisms.linear import Linear

_TURNS: Final = 40
"""Of the search for the least bound."""
_ASIDE: Final = 0.01
"""The part of what may be missed that is left to steps of the lattice."""


class Combination(Struct, frozen=True):
    """The noise of a sum: its standard deviation ``sd``, and ``least``, the smallest one of a draw in it."""

    sd: float
    least: float

    def half_width(self, confidence: Fraction) -> float:
        """An h that the noise stays within with at least this confidence."""
        outside = float(1 - confidence)
        return 0.0 if not self.sd else min(self._unimodal(outside), self._exponential(outside))

    def _unimodal(self, outside: float) -> float:
        """By Gauss's inequality, for the noise with what makes a density of it."""
        steps = self.sd / (sqrt(12) * self.least)
        allowed = outside * (1 - _ASIDE)
        reach = max(2 / (3 * sqrt(allowed)), 2 / sqrt(3))
        return reach * sqrt(self.sd**2 + steps**2) + steps * sqrt(2 * log(2 / (outside * _ASIDE)))

    def _exponential(self, outside: float) -> float:
        """By the exponential moment."""
        curved = (cosh(sqrt(2) / max(self.least, 0.01)) - 1) * max(self.least, 0.01) ** 2
        among = (k / (_TURNS + 1) for k in range(1, _TURNS + 1))
        return sqrt(curved) * self.sd * min((log(2 / outside) - log(1 - u)) / sqrt(2 * u) for u in among)


class Several(Struct, frozen=True):
    """The noise of so many of each component of one joint draw, or of a sum of such draws."""

    draws: tuple[Draw, ...]
    weights: tuple[int, ...]
    apart: bool = False
    """Each of the draws is of another joint draw than the others."""

    @property
    def sd(self) -> float:
        """Components of one draw are not correlated."""
        return hypot(*(w * sqrt(d.variance) for w, d in zip(self.weights, self.draws, strict=True)))

    @property
    def least(self) -> float:
        """The smallest standard deviation of a draw in it."""
        return min(d.mechanism.noise_sd()[d.component] for d in self.draws)

    def half_width(self, confidence: Fraction) -> float:
        """As ``Combination`` has it: by the joint law of the draws, or by half-widths that hold together."""
        share = 1 - (1 - confidence) / len(self.draws)
        apart = sum(
            abs(w) * Averaged((d,)).half_width(share) for w, d in zip(self.weights, self.draws, strict=True)
        )
        if self.apart:
            return min(apart, Combination(self.sd, self.least).half_width(confidence))
        linear = Linear.joint(self.draws, confidence)
        return apart if linear is None else min(apart, linear.reach(self.weights))


def covariances(sums: Sequence[Combination | Several]) -> dict[tuple[int, int], float]:
    """Of each two sums, by their places, where they take components of the same draws.

    >>> from udfs.mechanisms.laplace import Laplace
    >>> one, other = (Draw(Laplace((1, 1), 10**8), component) for component in (0, 1))
    >>> covariances((Several((one, other), (1, -4)), Several((other,), (1,)))) == {(0, 1): -4 * other.variance}
    True
    """
    weights = [dict(zip(s.draws, s.weights, strict=True)) if isinstance(s, Several) else {} for s in sums]
    found = {}
    for (i, one), (j, other) in combinations(enumerate(weights), 2):
        common = sum(times * other[draw] * draw.variance for draw, times in one.items() if draw in other)
        if common:
            found[i, j] = common
    return found
