"""Exact quantiles of the absolute value of a component of the staircase noise.

With T the least level whose box B_T covers h in component j, no box of a lower level exceeds h, and
P(abs(Z_j) > h) * mass = q**T * (sum over s of A(T+s) * q**s - (2h+1) * sum over s of A_j(T+s) * q**s),
where A(t) is the number of points of B_t, and A_j(t) that number without component j. The sums are rational; the power
is bounded to as many bits as the comparison needs.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from udfs.mechanisms.levels import Factor, binomial, power_bounds, total
from udfs.randomness import FIRST_PRECISION


def least(factors: Sequence[Factor], q: int, allowed: Fraction) -> tuple[int, ...]:
    """Return for each component the least h >= 0 with P(abs(Z_j) > h) * mass <= ``allowed``."""
    found: dict[Factor, int] = {}
    level = 1
    for index, factor in enumerate(factors):
        if factor not in found:
            # The levels of the components are about equal, so each search starts where the last one ended.
            level = _level(factors, index, q, allowed, level) if factor[1] else level
            found[factor] = _within(factors, index, q, allowed, level) if factor[1] else 0
    return tuple(found[factor] for factor in factors)


def _within(factors: Sequence[Factor], index: int, q: int, allowed: Fraction, level: int) -> int:
    """The least h of component ``index``, whose level T is known to be ``level``."""
    constant, slope = factors[index]
    floor = (
        (constant - 1 + (level - 1) * slope) // 2 + 1 if level else 0
    )  # one more than the box before covers
    others = [*factors[:index], *factors[index + 1 :]]
    covered, per_step = total(binomial(factors, level), q), total(binomial(others, level), q)
    precision = FIRST_PRECISION
    while True:
        # The tail condition solved for h: 2h + 1 >= (covered - allowed / q**level) / per_step.
        low, high = power_bounds(q, level, precision)
        if low:
            ends = ((covered - allowed * 2**precision / power) / per_step for power in (low, high))
            first, second = (max(-(-(end - 1) // 2), floor) for end in ends)
            if first == second:
                return int(first)
        precision *= 2


def _level(factors: Sequence[Factor], index: int, q: int, allowed: Fraction, start: int) -> int:
    """The least level T at whose half-width the tail is small enough."""
    others = [*factors[:index], *factors[index + 1 :]]
    slope = factors[index][1]

    def small(level: int) -> bool:
        # At that half-width the tail is q**T times the sum of A_j(T+s) * slope * s * q**s.
        beyond = total(binomial([(o[0] + o[1] * level, o[1]) for o in others] + [(0, slope)]), q)
        precision = FIRST_PRECISION
        while True:
            low, high = power_bounds(q, level, precision)
            if beyond * high <= allowed * 2**precision:
                return True
            if beyond * low > allowed * 2**precision:
                return False
            precision *= 2

    return _first(small, start)


def _first(holds: Callable[[int], bool], start: int) -> int:
    """The least natural number where the monotone ``holds`` is true, searched outwards from ``start``."""
    step = 1
    if holds(start):
        top = start
        while top and holds(max(top - step, 0)):
            top, step = max(top - step, 0), 2 * step
        bottom = max(top - step, -1)
    else:
        bottom = start
        while not holds(bottom + step):
            bottom, step = bottom + step, 2 * step
        top = bottom + step
    while top - bottom > 1:
        middle = (top + bottom) // 2
        bottom, top = (bottom, middle) if holds(middle) else (middle, top)
    return top
