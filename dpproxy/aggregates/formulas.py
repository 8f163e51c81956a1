"""Small pieces of DOUBLE arithmetic over released values, and the same for intervals.

An interval is its two ends as SQL. Whoever writes a rule says why the ends hold every value in between.
"""

from collections.abc import Callable, Sequence
from math import hypot

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from udfs.mechanisms.averaged import ROUNDING
from udfs.mechanisms.linear import Linear

Interval = tuple[nodes.Expr, nodes.Expr]
TINIEST = 1e-300
"""Keeps a divisor that is not negative from being zero."""


def plus(*terms: nodes.Expr) -> nodes.Expr:
    """A sum."""
    result = terms[0]
    for term in terms[1:]:
        result = duck.binary("+", result, term)
    return result


def minus(a: nodes.Expr, b: nodes.Expr) -> nodes.Expr:
    """A difference."""
    return duck.binary("-", a, b)


def times(*factors: nodes.Expr) -> nodes.Expr:
    """A product."""
    result = factors[0]
    for factor in factors[1:]:
        result = duck.binary("*", result, factor)
    return result


def over(a: nodes.Expr, b: nodes.Expr) -> nodes.Expr:
    """A quotient; the divisor is above zero."""
    return duck.binary("/", a, b)


def scaled(a: nodes.Expr, factor: float) -> nodes.Expr:
    """A constant multiple."""
    return a if factor == 1.0 else times(a, duck.double(factor))


def least(*values: nodes.Expr) -> nodes.Expr:
    """The smallest."""
    return duck.call("least", *values)


def greatest(*values: nodes.Expr) -> nodes.Expr:
    """The largest."""
    return duck.call("greatest", *values)


def inside(a: nodes.Expr, low: float, high: float) -> nodes.Expr:
    """Kept within two constants."""
    return least(greatest(a, duck.double(low)), duck.double(high))


def positive(a: nodes.Expr) -> nodes.Expr:
    """A divisor that is not negative, made one that is above zero."""
    return greatest(a, duck.double(TINIEST))


def square(a: nodes.Expr) -> nodes.Expr:
    """A square; the operand is written once."""
    return duck.call("pow", a, duck.double(2.0))


def root(a: nodes.Expr) -> nodes.Expr:
    """The square root of what is not negative."""
    return duck.call("sqrt", a)


def size(a: nodes.Expr) -> nodes.Expr:
    """The absolute value."""
    return duck.call("abs", a)


def clipped(ends: Interval, low: float, high: float) -> Interval:
    """Both ends kept within two constants, which the values keep as well."""
    return inside(ends[0], low, high), inside(ends[1], low, high)


def difference(a: Interval, b: Interval) -> Interval:
    """All a - b."""
    return minus(a[0], b[1]), minus(a[1], b[0])


def product(a: Interval, b: Interval) -> Interval:
    """All a * b: linear in each, so that the extremes are among the corners."""
    corners = [times(x, y) for x in a for y in b]
    return least(*corners), greatest(*corners)


def quotient(a: Interval, b: Interval) -> Interval:
    """All a / b for b above zero: what is above zero is smallest over the largest, what is below the reverse."""
    zero = duck.double(0.0)
    low = over(a[0], duck.case([(nodes.Binary(">=", a[0], zero), b[1])], b[0]))
    return low, over(a[1], duck.case([(nodes.Binary(">=", a[1], zero), b[0])], b[1]))


def multiple(a: Interval, b: Interval) -> Interval:
    """All a * b for b above zero, by the same rule."""
    zero = duck.double(0.0)
    low = times(a[0], duck.case([(nodes.Binary(">=", a[0], zero), b[0])], b[1]))
    return low, times(a[1], duck.case([(nodes.Binary(">=", a[1], zero), b[1])], b[0]))


def stretched(a: Interval, b: Interval) -> Interval:
    """All a * b where neither is below zero."""
    return times(a[0], b[0]), times(a[1], b[1])


def squares(a: Interval) -> Interval:
    """All squares: the nearest to zero and the farthest."""
    nearest = greatest(a[0], nodes.Paren(nodes.Negative(a[1])), duck.double(0.0))
    return square(nearest), square(greatest(size(a[0]), size(a[1])))


def roots(a: Interval) -> Interval:
    """All square roots of what is not negative."""
    return root(a[0]), root(a[1])


def named(
    name: str, values: Sequence[nodes.Expr], made: Callable[[Sequence[nodes.Expr]], nodes.Expr]
) -> nodes.Expr:
    """``made`` of values that are each written once, under a name that nothing around has."""
    return nodes.Let(name, tuple(values), made([nodes.Local(name, n) for n in range(len(values))]))


def reach(linear: Linear, sizes: Sequence[float | nodes.Expr]) -> nodes.Expr:
    """``Linear.reach`` for absolute values of weights, some of which differ by row."""
    known = 0.0
    squares, halves = list[nodes.Expr](), list[nodes.Expr]()
    for size, scale, half in zip(sizes, linear.scales, linear.halves, strict=True):
        if isinstance(size, float):
            known = hypot(known, size * scale)
            halves.append(duck.double(size * half))
        elif scale:
            squares.append(square(scaled(size, scale)))
            halves.append(scaled(size, half))
    found = (
        scaled(root(plus(duck.double(known**2), *squares)), 1 + ROUNDING) if squares else duck.double(known)
    )
    return plus(found, *halves)
