"""The quotient of two numerics with PostgreSQL's number of digits."""

from decimal import Decimal

from dpproxy.values.errors import DivisionByZero

_SIGNIFICANT = 16
"""NUMERIC_MIN_SIG_DIGITS of numeric.h."""
_GROUP = 4
"""DEC_DIGITS: decimal digits of one digit in numeric.c."""


def quotient(left: str, right: str) -> str:
    """The quotient of two numerics with PostgreSQL's number of digits (numeric.c: select_div_scale).

    Example:
        >>> quotient("1", "3"), quotient("7.0", "2"), quotient("10", "4.0")
        ('0.33333333333333333333', '3.5000000000000000', '2.5000000000000000')

    Errors: ``DivisionByZero``.
    """
    one, other = Decimal(left), Decimal(right)
    if not other:
        raise DivisionByZero("division by zero")
    (weight, first), (below, divisor) = _weight(one), _weight(other)
    down = weight - below - (first <= divisor)
    scale = max(_SIGNIFICANT - down * _GROUP, _scale(one), _scale(other), 0)
    numerator, denominator = one.as_integer_ratio()
    times, over = other.as_integer_ratio()
    scaled, rest = divmod(abs(numerator) * over * 10**scale, denominator * abs(times))
    rounded = scaled + (2 * rest >= denominator * abs(times))
    sign = 1 if (one < 0) != (other < 0) and rounded else 0
    return format(Decimal((sign, tuple(map(int, str(rounded))), -scale)), "f")


def _weight(number: Decimal) -> tuple[int, int]:
    """The weight of the first group of digits, and its value."""
    if not number:
        return 0, 0
    place = number.adjusted() // _GROUP
    return place, int(abs(number).scaleb(-place * _GROUP))


def _scale(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
