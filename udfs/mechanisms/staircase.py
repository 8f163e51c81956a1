r"""The optimal (staircase) mechanism on the integer lattice, for one query or several answered together.

One unit moves the vector of answers inside the box S = product of [-D_j, D_j]. The noise is a mixture of
uniform boxes: draw a level t with probability proportional to |B_t| * q**t, where B_t = product of [-(r_j +
t*D_j), r_j + t*D_j] and q >= e**-epsilon, then a uniform point of B_t. A shift inside S takes B_t into
B_(t+1), so the densities differ by a factor of at most 1/q <= e**epsilon. Source: Soria-Comas, "Improving
data utility in differential privacy and k-anonymity", 2013, ch. 4 (Theorem 1 with the exponent
-(i+1)*epsilon). Proof: ``staircase.md``.
"""

import os
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final

import numpy as np
from msgspec import Struct

from udfs.mechanisms import reach
from udfs.mechanisms.levels import Factor, Levels, binomial, ratio, total
from udfs.mechanisms.radii import best_radii, shortest_radii
from udfs.privacy import LEAST_NANO, InvalidMechanism, Loss
from udfs.randomness import Integers, Words, below, below_wide

WIDEST: Final = 10**38 - 1
"""The widest a component may be, and what released values saturate at: the largest NUMERIC(38)."""
SHORTEST: Final = 0.95
"""The confidence of the intervals that are made shortest."""
_BATCH: Final = 1 << 15
_NARROW: Final = 1 << 62


class Staircase(Struct, frozen=True):
    """Add to a vector of integers one joint draw of staircase noise.

    Shapes: ``(d,)`` integers in and out, the components released together for one loss.
    Units: widths and radii in lattice steps of each component; ``nano`` in nano-epsilon.
    Privacy: if one unit moves component j by at most ``widths[j]``, for all j at once, the release costs
        ``loss``. A width of 0 says
        that no unit can move the component: it gets no noise, and is private only if that is true. Who
        releases sums may then release the constant 0 (the sum over nobody) without looking, as ``dp_release``
        does.
    Errors: InvalidMechanism.

    >>> Staircase.best((1,), 10**9).radii
    (0,)
    """

    FUNCTION: ClassVar = "dp_release"
    NOISE: ClassVar = "staircase noise"
    CONCENTRATED: ClassVar = False
    COMPARED: ClassVar = True
    widths: tuple[int, ...]
    nano: int
    radii: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.widths or len(self.radii) != len(self.widths):
            raise InvalidMechanism("a staircase needs one width and one radius per component")
        _check(self.widths, self.nano)
        if any(not 0 <= r <= WIDEST or (r and not d) for r, d in zip(self.radii, self.widths, strict=True)):
            raise InvalidMechanism("a radius must be between 0 and 10^38 - 1, and 0 where the width is 0")

    @staticmethod
    def best(widths: tuple[int, ...], nano: int) -> "Staircase":
        """Return the mechanism with the least sum of variance / width**2 that the search over radii finds."""
        return _best(widths, nano)

    @property
    def loss(self) -> Loss:
        """What one release of the whole vector costs."""
        return Loss(self.nano)

    @property
    def ratio(self) -> int:
        """Q, where q = Q / 2**64 >= e**-epsilon."""
        return ratio(self.nano)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The sides of B_t as (a, b), side a + b*t points long."""
        return tuple((2 * r + 1, 2 * d) for r, d in zip(self.radii, self.widths, strict=True))

    def variance(self) -> tuple[Fraction, ...]:
        """Return the exact variance of each component."""
        return _variance(self)

    def noise_sd(self) -> tuple[float, ...]:
        """Return the standard deviation of each component."""
        return tuple(float(v) ** 0.5 for v in self.variance())

    def half_width(self, confidence: Fraction | float) -> tuple[int, ...]:
        """Return for each component the least h with P(abs(Z_j) <= h) >= confidence.

        A float counts as the decimal it prints as.
        """
        return _half_width(self, Fraction(str(confidence)) if isinstance(confidence, float) else confidence)

    def pmf(self, z: Sequence[int]) -> Fraction:
        """Return the exact probability of the noise vector z."""
        level = 0
        for value, width, radius in zip(z, self.widths, self.radii, strict=True):
            beyond = max(abs(value) - radius, 0)
            if beyond and not width:
                return Fraction(0)
            level = max(level, -(-beyond // width) if width else 0)
        q = Fraction(self.ratio, 2**64)
        return q**level / (1 - q) / _mass(self)

    def draw(self, count: int, words: Words = os.urandom) -> Integers:
        """Draw ``count`` noise vectors, shape (count, d)."""
        law = _levels(self)
        batches = [self._batch(law, min(_BATCH, count - i), words) for i in range(0, count, _BATCH)]
        if not batches:
            return np.zeros((0, len(self.widths)), dtype=np.int64)
        return batches[0] if len(batches) == 1 else np.concatenate(batches)

    def _batch(self, law: Levels, count: int, words: Words) -> Integers:
        level = law.draw(count, words)
        if int(level.max()) * max(self.widths) + max(self.radii) < _NARROW:
            half = level[:, None] * np.array(self.widths, dtype=np.int64) + np.array(
                self.radii, dtype=np.int64
            )
            return below((2 * half + 1).view(np.uint64), words) - half
        sides = level.astype(object)[:, None] * np.array(self.widths, dtype=object) + np.array(
            self.radii, dtype=object
        )
        drawn = np.array(below_wide((2 * sides + 1).ravel(), words), dtype=object)
        wide: Integers = drawn.reshape(sides.shape) - sides
        return wide


class Shortest(Staircase, frozen=True):
    """A staircase whose radii give the shortest intervals of 95 %, where those of ``Staircase`` give the least noise.

    >>> Shortest.best((1000,), 10**9).half_width(0.95) < Staircase.best((1000,), 10**9).half_width(0.95)
    True
    """

    FUNCTION: ClassVar = "dp_shortest"
    NOISE: ClassVar = "staircase noise of the shortest intervals"
    COMPARED: ClassVar = False

    @staticmethod
    def best(widths: tuple[int, ...], nano: int) -> "Shortest":
        """Return the mechanism whose half-widths, in widths, have the least sum that the search over radii finds."""
        return _shortest(widths, nano)


def _check(widths: tuple[int, ...], nano: int) -> None:
    if nano < LEAST_NANO:
        raise InvalidMechanism("epsilon must be at least 0.001")
    if any(not 0 <= width <= WIDEST for width in widths):
        raise InvalidMechanism("a sensitivity must be a whole number between 0 and 10^38 - 1")


@lru_cache(maxsize=4096)
def _best(widths: tuple[int, ...], nano: int) -> Staircase:
    _check(widths, nano)
    return Staircase(widths, nano, best_radii(widths, ratio(nano) / 2**64))


@lru_cache(maxsize=4096)
def _shortest(widths: tuple[int, ...], nano: int) -> Shortest:
    _check(widths, nano)
    return Shortest(widths, nano, shortest_radii(widths, ratio(nano) / 2**64, SHORTEST))


@lru_cache(maxsize=256)
def _levels(mechanism: Staircase) -> Levels:
    return Levels(mechanism.factors, mechanism.ratio)


@lru_cache(maxsize=4096)
def _mass(mechanism: Staircase) -> Fraction:
    """The sum over t of |B_t| * q**t."""
    return total(binomial(mechanism.factors), mechanism.ratio)


@lru_cache(maxsize=4096)
def _variance(mechanism: Staircase) -> tuple[Fraction, ...]:
    def second_moment(radius: int, width: int) -> Fraction:
        # A uniform integer on [-h, h] has variance h (h + 1) / 3, with h = radius + t * width.
        factors = [*mechanism.factors, (radius, width), (radius + 1, width)]
        return total(binomial(factors), mechanism.ratio) / (3 * _mass(mechanism))

    return tuple(map(second_moment, mechanism.radii, mechanism.widths))


@lru_cache(maxsize=4096)
def _half_width(mechanism: Staircase, confidence: Fraction) -> tuple[int, ...]:
    if not 0 < confidence < 1:
        raise InvalidMechanism("confidence must be between 0 and 1, both excluded")
    return reach.least(mechanism.factors, mechanism.ratio, (1 - confidence) * _mass(mechanism))
