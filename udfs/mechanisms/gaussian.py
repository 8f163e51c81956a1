"""The discrete Gaussian mechanism, independent in each component; its loss is concentrated (zCDP).

P(z_j) is proportional to q_j**(z_j * z_j) with q_j >= e**(-rho / (norm * D_j**2)): a discrete Gaussian whose
scale is at least that of sigma_j**2 = norm * D_j**2 / (2 rho). Source: Canonne, Kamath, Steinke, "The discrete
Gaussian for differential privacy", NeurIPS 2020. Proof: ``gaussian.md``.
"""

import math
import os
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final

from msgspec import Struct

from udfs.mechanisms.exponent import Ratio
from udfs.mechanisms.powers import draw_each
from udfs.privacy import NANO, Concentrated, InvalidMechanism, check_norm
from udfs.randomness import Integers, Words

_WIDE: Final = 16
"""From this standard deviation on the continuous Gaussian stands for the discrete one in predictions."""


class Gaussian(Struct, frozen=True):
    """Add independent discrete Gaussian noise to each component of a vector of integers.

    Shapes: ``(d,)`` integers in and out, the components released together for one loss.
    Units: widths in lattice steps of each component; ``nano`` in nano-rho.
    Privacy: if one unit moves component j by s_j, where the sum of (s_j / widths[j])**2 is at most ``norm``, the
        release costs ``loss``. A norm of 1 with equal widths is the sensitivity in L2; ``best`` is for a unit that
        moves each component by as much as its width at once. A width of 0 says that no unit can move it.
    Errors: InvalidMechanism.

    >>> [round(sd, 6) for sd in Gaussian.best((1, 10), 10**9 // 2).noise_sd()]
    [1.414214, 14.142136]
    """

    FUNCTION: ClassVar = "dp_gaussian"
    NOISE: ClassVar = "independent discrete Gaussian noise"
    CONCENTRATED: ClassVar = True
    COMPARED: ClassVar = True
    widths: tuple[int, ...]
    nano: int
    norm: int = 1

    def __post_init__(self) -> None:
        if self.nano < 1:
            raise InvalidMechanism("rho must be at least 0.000000001")
        check_norm(self.widths, self.norm)

    @staticmethod
    def best(widths: tuple[int, ...], nano: int) -> "Gaussian":
        """Return the mechanism for the whole box of widths: rho in equal parts."""
        return Gaussian(widths, nano, max(sum(map(bool, widths)), 1))

    @property
    def loss(self) -> Concentrated:
        """What one release of the whole vector costs."""
        return Concentrated(self.nano)

    @property
    def ratios(self) -> tuple[Ratio | None, ...]:
        """q_j of each component, None where the width is 0."""
        return tuple(Ratio.above(_exponent(self, width)) if width else None for width in self.widths)

    def weight(self, z: Sequence[int]) -> Fraction:
        """Return the probability of the noise vector z, over that of 0, exactly."""
        result = Fraction(1)
        for value, ratio in zip(z, self.ratios, strict=True):
            result *= ratio.fraction ** (value * value) if ratio else Fraction(value == 0)
        return result

    def noise_sd(self) -> tuple[float, ...]:
        """Return the standard deviation of each component."""
        return tuple(_noise_sd(_exponent(self, width)) if width else 0.0 for width in self.widths)

    def half_width(self, confidence: Fraction | float) -> tuple[int, ...]:
        """Return for each component an h with P(abs(Z_j) <= h) >= confidence, at most 1 above the least one.

        The least one where the standard deviation is below 16. A float counts as the decimal it prints as.
        """
        level = Fraction(str(confidence)) if isinstance(confidence, float) else Fraction(confidence)
        if not 0 < level < 1:
            raise InvalidMechanism("confidence must be between 0 and 1, both excluded")
        return tuple(
            _half_width(_exponent(self, width), float(1 - level)) if width else 0 for width in self.widths
        )

    def draw(self, count: int, words: Words = os.urandom) -> Integers:
        """Draw ``count`` noise vectors, shape (count, d)."""
        return draw_each(self.ratios, count, words, square=True)


def _exponent(mechanism: Gaussian, width: int) -> Fraction:
    """1 / (2 sigma**2) of a component."""
    return Fraction(mechanism.nano, NANO * mechanism.norm * width * width)


def _tails(exponent: Fraction) -> list[float]:
    """Sums of the law's weights beyond 0, 1, 2, ..., not normalised; for narrow laws."""
    rate = min(float(exponent), 64 * math.log(2))  # as in ``Ratio``
    sizes = range(1, math.isqrt(int(700 / exponent)) + 3)
    result = [0.0]
    for size in reversed(sizes):
        result.append(result[-1] + math.exp(-rate * size * size))
    return result[::-1]


@lru_cache(maxsize=4096)
def _noise_sd(exponent: Fraction) -> float:
    sigma = math.sqrt(1 / (2 * exponent))
    if sigma >= _WIDE:
        return sigma
    tails = _tails(exponent)
    # The sum of z**2 w(z) over z > 0 is the sum of (2 k + 1) times the tail beyond k.
    second = 2 * sum((2 * k + 1) * tail for k, tail in enumerate(tails))
    return math.sqrt(second / (1 + 2 * tails[0]))


@lru_cache(maxsize=4096)
def _half_width(exponent: Fraction, outside: float) -> int:
    sigma = math.sqrt(1 / (2 * exponent))
    if sigma < _WIDE:
        tails = _tails(exponent)
        mass = 1 + 2 * tails[0]
        return next(h for h, tail in enumerate(tails) if 2 * tail <= outside * mass)
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if math.erfc(middle / math.sqrt(2)) <= outside else (middle, high)
    reach = Fraction(high * (1 + 1e-12)) * Fraction(sigma)
    # A decreasing convex density, so from one sigma on, has no more mass on the points beyond h than beyond h + 1/2.
    return math.ceil(reach - Fraction(1, 2) if high >= 1 else reach)
