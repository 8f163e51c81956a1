"""The discrete Gaussian of least noise that is (epsilon, delta)-DP by itself: tighter than by way of its rho.

A discrete Gaussian of parameter sigma**2 is, but for a factor near 1, a continuous one of variance sigma**2 - tau**2
rounded at random. So it is as private as that one, whose delta is known exactly: with eta the unit's shift over the
standard deviation, delta = Phi(eta / 2 - epsilon / eta) - e**epsilon Phi(-eta / 2 - epsilon / eta). Sources: Balle and
Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018, Theorem 8; Peikert, "An efficient and
parallel Gaussian sampler for lattices", CRYPTO 2010, Theorem 3.1, for the rounding. Proof: ``calibration.md``.
"""

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final

from udfs.conversion import as_decimal, within
from udfs.privacy import NANO, Loss

_DIGITS: Final = Context(prec=60)
_SLACK: Final = Decimal("1e-25")
"""More than the Mills ratios below, none above 2, can be wrong by: they lose at most 15 of 60 digits."""
_ROUNDINGS: Final = ((4, Decimal("5e-34")), (2, Decimal("6e-17")), (1, Decimal("2.2e-8")))
"""tau**2, the variance that random rounding adds, and more than four times what it is off by."""
_HALF_PI: Final = Decimal("1.57079632679489661923132169163975144209858469968755291")
_FINE: Final = 1 << 20
"""The search ends where the loss is known to this part of itself."""
_FRACTION_FROM: Final = 8
"""From this argument on the continued fraction of the Mills ratio is used, below a series."""


def calibrate(widths: tuple[int, ...], limit: Loss, delta: Fraction, boxes: int = 1) -> int:
    """Return the greatest nano-rho, but for a millionth, at which ``Gaussian.best(widths, nano)`` keeps to the limit.

    The promise, (epsilon, delta)-DP with the epsilon of ``limit``, is for a joint release of any number of groups in
    which one unit moves at most ``boxes`` groups, and where the squares of its moves, each over its width, add up to at
    most ``boxes`` times the number of positive widths. 0 where no loss keeps to it.

    Errors: InvalidMechanism unless 0 < delta < 1.

    >>> from udfs.conversion import as_decimal, within
    >>> calibrate((1,), Loss(10**8), Fraction(1, 10**6)) / within(Loss(10**8), Fraction(1, 10**6)).nano > 1.1
    True
    """
    by_rho = within(limit, delta).nano // boxes
    moving = [width for width in widths if width]
    if not moving or not by_rho:
        return by_rho
    return _greatest(limit, delta, len(moving) * min(moving) ** 2, boxes, len(moving) * boxes, by_rho)


@lru_cache(maxsize=4096)
def _greatest(limit: Loss, delta: Fraction, narrow: int, boxes: int, moved: int, least: int) -> int:
    """Nano-rho of a box; ``narrow`` over twice rho is the least variance, ``least`` is known to be within the limit."""

    def fits(nano: int, rounding: int, factor: Decimal) -> bool:
        variance = Fraction(narrow * NANO, 2 * nano)
        if variance <= rounding or factor * moved >= as_decimal(limit.epsilon):
            return False
        square = Fraction(2 * nano * boxes, NANO) * variance / (variance - rounding)
        return _delta(square, limit.epsilon, factor * moved) <= delta

    for rounding, factor in _ROUNDINGS:
        least = _last(partial(fits, rounding=rounding, factor=factor), least)
    return least


def _last(fits: Callable[[int], bool], low: int) -> int:
    """The last number from ``low`` on that fits, but for one part in ``_FINE``; ``low`` where none does."""
    step = max(low // _FINE, 1)
    while fits(low + step):
        low += step
        step *= 8
    high = low + step
    while high - low > max(low // _FINE, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _delta(square: Fraction, epsilon: Fraction, factor: Decimal) -> Decimal:
    """At least the delta at ``epsilon`` of noise within e**``factor`` of a Gaussian's, where ``square`` is eta**2."""
    with localcontext(_DIGITS):
        most = as_decimal(epsilon) - factor
        eta = as_decimal(square).sqrt() * (1 + _SLACK)
        upper, lower = eta / 2 - most / eta, eta / 2 + most / eta
        if upper > _FRACTION_FROM:
            return Decimal(1)
        density = (-upper * upper / 2).exp() / (4 * _HALF_PI).sqrt()
        inner = _mills(abs(upper))
        tail = inner + _SLACK if upper <= 0 else 1 / density - inner + _SLACK * (1 + 1 / density)
        return density * (1 + _SLACK) * (tail - _mills(lower) + _SLACK) * factor.exp()


def _mills(x: Decimal) -> Decimal:
    """P(N > x) over the density at x, of the standard normal N, for x >= 0."""
    if x >= _FRACTION_FROM:
        value = x
        for k in range(120, 0, -1):
            value = x + k / value
        return 1 / value
    square = x * x
    term = total = x
    n = 1
    while term > _SLACK * _SLACK:
        n += 2
        term = term * square / n
        total += term
    return _HALF_PI.sqrt() * (square / 2).exp() - total
