"""The exact law of the staircase's level: P(t) proportional to p(t) * q**t, p a product of linear factors.

In the basis C(t, m) such a polynomial has non-negative integer coefficients c_m, and the sum over t of C(t,
m) * q**t is q**m / (1 - q)**(m + 1). So t is a mixture over m of m plus a sum of m + 1 independent geometric
variables, with rational weights: no truncated tail, no float. q = Q / 2**64 is the least such number that is
at least e**-epsilon. Proof: ``levels.md``.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from udfs.mechanisms.exponent import exp_bounds, power_between
from udfs.privacy import NANO
from udfs.randomness import FIRST_PRECISION, WORD, LawTable, Words

ONE: Final = 2**WORD
DIGIT: Final = 256
"""Base of the digits a geometric variable is drawn in."""

Factor = tuple[int, int]
"""The linear factor a + b * t as (a, b), both non-negative."""


@lru_cache(maxsize=1024)
def ratio(nano: int | Fraction) -> int:
    """Return Q = ceil(2**64 * e**-epsilon), epsilon in nano-epsilon (positive).

    >>> ratio(10**9) / 2**64
    0.36787944117144233
    """
    if nano >= 45 * NANO:  # 45 > 64 ln 2
        return 1
    precision = FIRST_PRECISION
    while True:
        low, high = exp_bounds(Fraction(nano) / NANO, precision)
        shift = precision - WORD
        if -(-low >> shift) == -(-high >> shift):
            return -(-low >> shift)
        precision *= 2


def power_bounds(q: int, exponent: int, precision: int) -> tuple[int, int]:
    """Bound 2**precision * (q / 2**64)**exponent; exact (equal bounds) from precision 64 * exponent on."""
    guard = exponent.bit_length() + 16
    low = q << (precision + guard) >> WORD
    low, high = power_between(low, low, exponent, precision + guard)
    return low >> guard, -(-high >> guard)


def binomial(factors: Iterable[Factor], start: int = 0) -> list[int]:
    """Return the coefficients of the product of ``factors`` at t + start in the basis C(t, m).

    >>> binomial([(1, 2), (1, 2)])  # (1 + 2t)**2 = 1 + 8 C(t, 1) + 8 C(t, 2)
    [1, 8, 8]
    """
    result = [1]
    for constant, slope in factors:
        value = constant + slope * start
        if not slope:
            result = [c * value for c in result]
            continue
        raised = [
            slope * (m + 1) * c for m, c in enumerate(result)
        ]  # t C(t, m) = m C(t, m) + (m + 1) C(t, m + 1)
        kept = [(value + slope * m) * c for m, c in enumerate(result)]
        result = [a + b for a, b in zip([*kept, 0], [0, *raised], strict=True)]
    return result


def weights(coefficients: Sequence[int], q: int) -> list[int]:
    """Return the arms' weights c_m * q**m / (1 - q)**(m + 1), times the common (2**64 - Q)**n / 2**64."""
    rest, top = ONE - q, len(coefficients) - 1
    return [c * q**m * rest ** (top - m) for m, c in enumerate(coefficients)]


def total(coefficients: Sequence[int], q: int) -> Fraction:
    """Return the sum over t >= 0 of p(t) * q**t, p given in the basis C(t, m)."""
    return Fraction(sum(weights(coefficients, q)) * ONE, (ONE - q) ** len(coefficients))


class Geometric:
    """P(g) = (1 - q) * q**g, drawn digit by digit: the low digit in base 256 and the rest are independent.

    The last digit's table ends in a cell for everything beyond it, where drawing starts anew (no memory):
    nothing is cut off.
    """

    __slots__ = ("_digits", "_last", "_q")

    def __init__(self, q: int) -> None:
        self._q = q
        scales = [1]
        while power_bounds(q, scales[-1] * DIGIT, FIRST_PRECISION)[1] >> (FIRST_PRECISION - 20):
            scales.append(scales[-1] * DIGIT)  # more than a millionth would start anew
        self._digits = tuple((scale, self._digit(scale)) for scale in scales[:-1])
        self._last = (scales[-1], self._end(scales[-1]))

    def draw(self, count: int, words: Words) -> NDArray[np.int64]:
        """Draw ``count`` independent variables."""
        result = self._draw_last(count, words) * self._last[0]
        for scale, table in self._digits:
            result += table.draw(count, words) * scale
        return result

    def _draw_last(self, count: int, words: Words) -> NDArray[np.int64]:
        result = self._last[1].draw(count, words)
        beyond = np.flatnonzero(result == DIGIT)
        if beyond.size:
            result[beyond] += self._draw_last(beyond.size, words)
        return result

    def _digit(self, scale: int) -> LawTable:
        """Table of the digit at ``scale``: P(i) proportional to q**(scale * i) on 0..255."""

        def boundary(index: int, precision: int) -> tuple[int, int]:
            one = 1 << precision
            low, high = power_bounds(self._q, scale * (index + 1), precision)
            all_low, all_high = power_bounds(self._q, scale * DIGIT, precision)
            return (one - high << precision) // (one - all_low), -(
                -(one - low << precision) // (one - all_high)
            )

        return LawTable(DIGIT - 1, boundary)

    def _end(self, scale: int) -> LawTable:
        """Table of the last digit: P(i) = (1 - q**scale) * q**(scale * i), 256 standing for 256 and more."""

        def boundary(index: int, precision: int) -> tuple[int, int]:
            low, high = power_bounds(self._q, scale * (index + 1), precision)
            return (1 << precision) - high, (1 << precision) - low

        return LawTable(DIGIT, boundary)


class Levels:
    """The law P(t) proportional to the product of ``factors`` at t, times q**t, for t = 0, 1, 2, ..."""

    __slots__ = ("_arms", "_geometric", "_parts", "_sums")

    def __init__(self, factors: Iterable[Factor], q: int) -> None:
        arms = weights(binomial(factors), q)
        self._sums = [sum(arms[: m + 1]) for m in range(len(arms))]
        self._arms = LawTable(len(arms) - 1, self._boundary)
        self._parts = np.arange(len(arms))
        self._geometric = geometric(q)

    def _boundary(self, index: int, precision: int) -> tuple[int, int]:
        scaled, whole = self._sums[index] << precision, self._sums[-1]
        return scaled // whole, -(-scaled // whole)

    def draw(self, count: int, words: Words) -> NDArray[np.int64]:
        """Draw ``count`` independent levels."""
        if not count:
            return np.zeros(0, dtype=np.int64)
        arm = self._arms.draw(count, words)
        # As many parts for each arm: how long a draw takes does not tell which arm it was.
        parts = self._geometric.draw(count * self._parts.size, words).reshape(count, -1)
        levels: NDArray[np.int64] = arm + np.sum(parts, axis=1, where=self._parts <= arm[:, None])
        return levels


@lru_cache(maxsize=256)
def geometric(q: int) -> Geometric:
    """Return the geometric law with ratio q / 2**64, its tables built once."""
    return Geometric(q)
