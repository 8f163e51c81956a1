"""Powers of a rational number just above e**-x, bounded from both sides by integers.

q = top / 2**bits has 64 significant bits whatever x is: its relative difference from e**-x is below x / 2**62. Proof:
``powers.md``.
"""

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from typing import Final

from msgspec import Struct

from udfs.randomness import FIRST_PRECISION, WORD

_GUARD: Final = 16


class Ratio(Struct, frozen=True):
    """The number top / 2**bits, between 0 and 1.

    >>> Ratio.above(Fraction(1)).fraction > Fraction(1, 3)
    True
    """

    top: int
    bits: int

    @staticmethod
    def above(x: Fraction) -> "Ratio":
        """Return a ratio q >= e**-x, for x > 0."""
        return _above(x)

    @property
    def fraction(self) -> Fraction:
        """Return q."""
        return Fraction(self.top, 1 << self.bits)

    @property
    def scale(self) -> int:
        """Return floor(1 / (1 - q)), which is about 1 / x."""
        one = 1 << self.bits
        return one // (one - self.top)

    def power(self, exponent: int, precision: int) -> tuple[int, int]:
        """Bound 2**precision * q**exponent from below and above, at most 2 apart; exact for the exponent 0."""
        guard = exponent.bit_length() + _GUARD
        start = self.top << (precision + guard)
        low, high = start >> self.bits, -(-start >> self.bits)
        low, high = power_between(low, high, exponent, precision + guard)
        return low >> guard, -(-high >> guard)

    def least_exponent(self, limit: Fraction) -> int:
        """Return the least n >= 0 with q**n <= limit, for 0 < limit."""
        top = 1
        while not self._at_most(top, limit):
            top *= 2
        bottom = top // 2 if top > 1 else 0
        return bottom + bisect_left(range(bottom, top), 1, key=lambda n: int(self._at_most(n, limit)))

    def _at_most(self, exponent: int, limit: Fraction) -> bool:
        precision = FIRST_PRECISION
        while True:
            low, high = self.power(exponent, precision)
            if high * limit.denominator <= limit.numerator << precision:
                return True
            if low * limit.denominator > limit.numerator << precision:
                return False
            precision *= 2


@lru_cache(maxsize=1024)
def _above(x: Fraction) -> Ratio:
    if x >= 45:  # 45 > 64 ln 2
        return Ratio(1, WORD)
    bits = WORD + (x.denominator // x.numerator).bit_length()
    _, high = exp_bounds(x, bits + WORD)
    return Ratio(-(-high >> WORD), bits)


def exp_bounds(x: Fraction, precision: int) -> tuple[int, int]:
    """Bound 2**precision * e**-x for x > 0: an alternating Taylor series on (0, 1], then a power."""
    pieces = -(-x.numerator // x.denominator)
    guard = pieces.bit_length() + _GUARD
    step, term, total, index = x / pieces, Fraction(1), Fraction(1), 0
    while index % 2 == 0 or term.numerator << (precision + guard) >= term.denominator:
        index += 1
        term = term * step / index
        total += -term if index % 2 else term
    # After an odd index the partial sum is too small, by less than a unit in the last place.
    low = (total.numerator << (precision + guard)) // total.denominator
    low, high = power_between(low, low + 2, pieces, precision + guard)
    return low >> guard, -(-high >> guard)


def power_between(low: int, high: int, exponent: int, precision: int) -> tuple[int, int]:
    """Bound a power of a number in [0, 1] that lies between ``low`` and ``high``; all scaled by 2**precision."""
    result_low = result_high = 1 << precision
    while exponent:
        if exponent & 1:
            result_low = result_low * low >> precision
            result_high = -(-(result_high * high) >> precision)
        low, high = low * low >> precision, -(-(high * high) >> precision)
        exponent >>= 1
    return result_low, result_high
