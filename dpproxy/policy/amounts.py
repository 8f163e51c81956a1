"""Checks of the numbers in clauses of privacy statements."""

from fractions import Fraction

from dpproxy.policy.statements import Amount
from dpproxy.values.errors import InvalidParameter

LEAST_EPSILON = Fraction(1, 1000)
MOST_EPSILON = Fraction(10**9)
"""Losses are counted in billionths by 64-bit integers."""
_UNIT = 10**9
MOST_ROWS = 10**9
MOST_EXPECTED = 10**15


def epsilon(amount: Amount) -> Fraction:
    """A loss in nats.

    Raises:
        InvalidParameter: not between 0.001 and a billion, or finer than a billionth.
    """
    value = Fraction(amount.value)
    _within(amount, value, LEAST_EPSILON, MOST_EPSILON, "0.001", "1000000000")
    if (value * _UNIT).denominator != 1:
        raise InvalidParameter(
            f"{amount.clause} has more than 9 digits after the point", position=amount.position
        )
    return value


def delta(amount: Amount | None) -> Fraction:
    """A probability, 0 where none is given.

    Raises:
        InvalidParameter: negative, or 1 and more.
    """
    if amount is None:
        return Fraction(0)
    if not 0 <= amount.value < 1:
        message = f"{amount.clause} must be at least 0 and below 1"
        raise InvalidParameter(message, hint="A usual value is 1e-6.", position=amount.position)
    return Fraction(amount.value)


def count(amount: Amount, most: int = MOST_ROWS) -> int:
    """A number of rows or groups, at least 1.

    Raises:
        InvalidParameter: not whole, or out of range.
    """
    if not isinstance(amount.value, int):
        raise InvalidParameter(f"{amount.clause} must be a whole number", position=amount.position)
    _within(amount, amount.value, 1, most, "1", str(most))
    return amount.value


def _within(
    amount: Amount, value: int | Fraction, low: int | Fraction, high: int | Fraction, least: str, most: str
) -> None:
    if not low <= value <= high:
        message = f"{amount.clause} must be between {least} and {most}"
        raise InvalidParameter(message, position=amount.position)
