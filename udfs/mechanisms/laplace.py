"""The discrete Laplace mechanism: two-sided geometric noise, independent in each component.

P(z_j) is proportional to q_j**abs(z_j) with q_j >= e**(-epsilon / (norm * D_j)), so a shift by s costs at most
epsilon * sum of abs(s_j) / D_j over norm. Source: Ghosh, Roughgarden, Sundararajan, "Universally utility-
maximizing privacy mechanisms", STOC 2009. Proof: ``laplace.md``.
"""

import os
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct

from udfs.mechanisms.exponent import Ratio
from udfs.mechanisms.powers import draw_each
from udfs.privacy import LEAST_NANO, NANO, InvalidMechanism, Loss, check_norm
from udfs.randomness import Integers, Words


class Laplace(Struct, frozen=True):
    """Add independent two-sided geometric noise to each component of a vector of integers.

    Shapes: ``(d,)`` integers in and out, the components released together for one loss.
    Units: widths in lattice steps of each component; ``nano`` in nano-epsilon.
    Privacy: if one unit moves component j by s_j, where the sum of abs(s_j) / widths[j] is at most ``norm``, the
        release costs ``loss``. A norm of 1 with equal widths is the sensitivity in L1; ``best`` is for a unit that
        moves each component by as much as its width at once. A width of 0 says that no unit can move it.
    Errors: InvalidMechanism.

    >>> Laplace.best((1, 10), 10**9).norm
    2
    """

    FUNCTION: ClassVar = "dp_laplace"
    NOISE: ClassVar = "independent discrete Laplace noise"
    CONCENTRATED: ClassVar = False
    COMPARED: ClassVar = True
    widths: tuple[int, ...]
    nano: int
    norm: int = 1

    def __post_init__(self) -> None:
        if self.nano < LEAST_NANO:
            raise InvalidMechanism("epsilon must be at least 0.001")
        check_norm(self.widths, self.norm)

    @staticmethod
    def best(widths: tuple[int, ...], nano: int) -> "Laplace":
        """Return the mechanism for the whole box of widths: epsilon in equal parts."""
        return Laplace(widths, nano, max(sum(map(bool, widths)), 1))

    @property
    def loss(self) -> Loss:
        """What one release of the whole vector costs."""
        return Loss(self.nano)

    @property
    def ratios(self) -> tuple[Ratio | None, ...]:
        """q_j of each component, None where the width is 0."""
        return tuple(_ratio(self.nano, NANO * self.norm * width) if width else None for width in self.widths)

    def pmf(self, z: Sequence[int]) -> Fraction:
        """Return the exact probability of the noise vector z."""
        result = Fraction(1)
        for value, ratio in zip(z, self.ratios, strict=True):
            if ratio is None:
                result *= value == 0
            else:
                q = ratio.fraction
                result *= (1 - q) / (1 + q) * q ** abs(value)
        return result

    def variance(self) -> tuple[Fraction, ...]:
        """Return the exact variance of each component."""
        return tuple(_variance(ratio) if ratio else Fraction(0) for ratio in self.ratios)

    def noise_sd(self) -> tuple[float, ...]:
        """Return the standard deviation of each component."""
        return tuple(float(v) ** 0.5 for v in self.variance())

    def half_width(self, confidence: Fraction | float) -> tuple[int, ...]:
        """Return for each component the least h with P(abs(Z_j) <= h) >= confidence.

        A float counts as the decimal it prints as.
        """
        level = Fraction(str(confidence)) if isinstance(confidence, float) else Fraction(confidence)
        if not 0 < level < 1:
            raise InvalidMechanism("confidence must be between 0 and 1, both excluded")
        return _half_widths(self.ratios, level)

    def draw(self, count: int, words: Words = os.urandom) -> Integers:
        """Draw ``count`` noise vectors, shape (count, d)."""
        return draw_each(self.ratios, count, words, square=False)


@lru_cache(maxsize=4096)
def _ratio(top: int, bottom: int) -> Ratio:
    return Ratio.above(Fraction(top, bottom))


@lru_cache(maxsize=4096)
def _variance(ratio: Ratio) -> Fraction:
    q = ratio.fraction
    return 2 * q / (1 - q) ** 2


@lru_cache(maxsize=4096)
def _half_widths(ratios: tuple[Ratio | None, ...], level: Fraction) -> tuple[int, ...]:
    return tuple(_half_width(ratio, level) if ratio else 0 for ratio in ratios)


@lru_cache(maxsize=4096)
def _half_width(ratio: Ratio, level: Fraction) -> int:
    # P(abs(Z) > h) = 2 q**(h + 1) / (1 + q)
    return max(ratio.least_exponent((1 - level) * (1 + ratio.fraction) / 2) - 1, 0)
