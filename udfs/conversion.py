"""Concentrated losses as (epsilon, delta) and back, always rounded to the safe side.

A loss of rho is (epsilon, delta) for every a > 1 with ln delta = (a - 1) (a rho - epsilon + ln(1 - 1/a)) - ln a.
The a with the least bound is searched for in floats, since any a is sound; the bound itself is computed to 60 digits.
Source: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, Corollary 13.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Final

from udfs.privacy import Concentrated, InvalidMechanism, Loss

_DIGITS: Final = Context(prec=60)
_SLACK: Final = Decimal("1e-25")
"""More than the relative error of a computation to 60 digits: no term is above 10**30."""
_LEAST_LOG: Final = Decimal(-1000)


@lru_cache(maxsize=4096)
def epsilon(loss: Concentrated, delta: Fraction) -> Loss:
    """Return the epsilon that ``loss`` has with ``delta``, rounded up.

    Errors: InvalidMechanism unless 0 < delta < 1.

    >>> float(epsilon(Concentrated(5_000_000), Fraction(1, 10**6)).epsilon)
    0.429941469
    """
    _check(delta)
    if not loss.nano:
        return Loss(0)
    rho, log = float(loss.rho), math.log(delta.numerator) - math.log(delta.denominator)

    def bound(a: float) -> float:
        return a * rho + math.log1p(-1 / a) - (log + math.log(a)) / (a - 1)

    a = Fraction(_least(bound))
    with localcontext(_DIGITS):
        found = as_decimal(a * loss.rho) + _ln(1 - 1 / a) - (_ln(delta) + _ln(a)) / as_decimal(a - 1)
        return Loss.of(max(Fraction(_above(found)), Fraction(0)))


@lru_cache(maxsize=4096)
def delta(loss: Concentrated, limit: Loss) -> Fraction:
    """Return the delta that ``loss`` has with the epsilon of ``limit``: rounded up to 20 digits, at most 1.

    >>> delta(Concentrated(5_000_000), Loss.of(Fraction(1, 2))) < Fraction(1, 10**6)
    True
    """
    rho, most = float(loss.rho), float(limit.epsilon)

    def bound(a: float) -> float:
        return (a - 1) * (a * rho - most + math.log1p(-1 / a)) - math.log(a)

    a = Fraction(_least(bound))
    with localcontext(_DIGITS):
        log = (
            as_decimal((a - 1) * (a * loss.rho - limit.epsilon)) + as_decimal(a - 1) * _ln(1 - 1 / a) - _ln(a)
        )
        found = max(_above(log), _LEAST_LOG).exp() * (1 + _SLACK)
    return min(Fraction(Context(prec=20, rounding=ROUND_CEILING).plus(found)), Fraction(1))


@lru_cache(maxsize=1024)
def within(limit: Loss, delta: Fraction) -> Concentrated:
    """Return the greatest loss whose ``epsilon`` is within ``limit``; a loss of zero if there is none."""
    low, high = 0, 1
    while epsilon(Concentrated(high), delta) <= limit:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if epsilon(Concentrated(middle), delta) <= limit else (low, middle)
    return Concentrated(low)


def _check(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise InvalidMechanism("delta must be between 0 and 1, both excluded")


def _least(bound: Callable[[float], float]) -> float:
    """A number a > 1 near the minimum of a unimodal function."""
    low, high = -20.0, 40.0  # of ln(a - 1)
    for _ in range(80):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, right) if bound(1 + math.exp(left)) <= bound(1 + math.exp(right)) else (left, high)
    return 1 + math.exp(low)


def as_decimal(value: Fraction) -> Decimal:
    """The quotient, to the digits of the context."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def _ln(value: Fraction) -> Decimal:
    return as_decimal(value).ln()


def _above(value: Decimal) -> Decimal:
    return value + _SLACK * (1 + abs(value))
