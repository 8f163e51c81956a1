"""Small pieces of DOUBLE arithmetic over released values, and the same for intervals.

An interval is its two ends as SQL. Whoever writes a rule says why the ends hold every value in between.
"""

from sqlglot import exp

from dpproxy.analysis import duck

Interval = tuple[exp.Expr, exp.Expr]
TINIEST = 1e-300
"""Keeps a divisor that is not negative from being zero."""


def plus(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """A sum."""
    return duck.binary(exp.Add, a, b)


def minus(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """A difference."""
    return duck.binary(exp.Sub, a, b)


def times(*factors: exp.Expr) -> exp.Expr:
    """A product."""
    result = factors[0]
    for factor in factors[1:]:
        result = duck.binary(exp.Mul, result, factor)
    return result


def over(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """A quotient; the divisor is above zero."""
    return duck.binary(exp.Div, a, b)


def scaled(a: exp.Expr, factor: float) -> exp.Expr:
    """A constant multiple."""
    return a if factor == 1.0 else times(a, duck.double(factor))


def least(*values: exp.Expr) -> exp.Expr:
    """The smallest."""
    return duck.call("least", *values)


def greatest(*values: exp.Expr) -> exp.Expr:
    """The largest."""
    return duck.call("greatest", *values)


def inside(a: exp.Expr, low: float, high: float) -> exp.Expr:
    """Kept within two constants."""
    return least(greatest(a, duck.double(low)), duck.double(high))


def positive(a: exp.Expr) -> exp.Expr:
    """A divisor that is not negative, made one that is above zero."""
    return greatest(a, duck.double(TINIEST))


def square(a: exp.Expr) -> exp.Expr:
    """A square; the operand is written once."""
    return duck.call("pow", a, duck.double(2.0))


def root(a: exp.Expr) -> exp.Expr:
    """The square root of what is not negative."""
    return duck.call("sqrt", a)


def size(a: exp.Expr) -> exp.Expr:
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
    low = over(a[0], duck.case([(exp.GTE(this=a[0], expression=zero), b[1])], b[0]))
    return low, over(a[1], duck.case([(exp.GTE(this=a[1], expression=zero), b[0])], b[1]))


def multiple(a: Interval, b: Interval) -> Interval:
    """All a * b for b above zero, by the same rule."""
    zero = duck.double(0.0)
    low = times(a[0], duck.case([(exp.GTE(this=a[0], expression=zero), b[0])], b[1]))
    return low, times(a[1], duck.case([(exp.GTE(this=a[1], expression=zero), b[1])], b[0]))


def squares(a: Interval) -> Interval:
    """All squares: the nearest to zero and the farthest."""
    nearest = greatest(a[0], exp.Paren(this=exp.Neg(this=a[1])), duck.double(0.0))
    return square(nearest), square(greatest(size(a[0]), size(a[1])))


def roots(a: Interval) -> Interval:
    """All square roots of what is not negative."""
    return root(a[0]), root(a[1])
