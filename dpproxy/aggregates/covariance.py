"""COVAR_POP, COVAR_SAMP, CORR and the REGR_ functions: over the rows where neither argument is NULL.

PostgreSQL's order: the first argument is y, the second x. A correlation without spread is 0, a slope over equal x is
held at its limit. |slope| <= 2 r / u, r half the range of y and u the step of x: a slope is the mean of the slopes
between two points with different x, weighted by their squared distance, and each of those keeps that bound.
"""

from collections.abc import Mapping
from fractions import Fraction

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.joint import COUNT, XX, XY, YY, X, Y
from dpproxy.aggregates.moments import Moments
from dpproxy.aggregates.pairs import of_pair
from dpproxy.aggregates.statistic import MomentFunction, Sides
from dpproxy.algebra import nodes
from dpproxy.analysis import duck

_PARTS = (COUNT, X, Y, XY)


def _most(sides: Sides) -> float:
    return sides[X].radius * sides[Y].radius


def _both_units(sides: Sides) -> Fraction:
    return sides[X].unit * sides[Y].unit


def _about(errors: Mapping[str, float]) -> str:
    return f"about {errors[XY]:.6g} / count"


COVAR_POP = of_pair("covar_pop", MomentFunction(
    _PARTS, Moments.covariance, Moments.covariances, lambda _: {XY: duck.double(1.0)},
    lambda s: (-_most(s), _most(s)), _both_units, _about,
))  # fmt: skip
COVAR_SAMP = of_pair("covar_samp", MomentFunction(
    _PARTS,
    lambda m: f.times(m.covariance(), m.correction),
    lambda m: f.multiple(m.covariances(), m.corrections),
    lambda m: {XY: m.correction},
    lambda s: (-2 * _most(s), 2 * _most(s)),
    _both_units,
    _about,
))  # fmt: skip


def _spread(moments: Moments) -> nodes.Expr:
    """The product of both standard deviations."""
    return f.times(f.root(moments.variance(X)), f.root(moments.variance(Y)))


def _correlation(moments: Moments) -> nodes.Expr:
    return f.inside(f.over(moments.covariance(), f.positive(_spread(moments))), -1.0, 1.0)


def _drawn_correlation(moments: Moments) -> nodes.Expr:
    """Of moments that are not kept within their limits, as ``Known`` takes them."""
    spread = f.times(_divisor(moments.drawn(X, X)), _divisor(moments.drawn(Y, Y)))
    return f.over(moments.drawn(X, Y), f.root(spread))


def _correlations(moments: Moments) -> f.Interval:
    if moments.joint is not None:
        ends = (lambda known: known.correlation(1)), (lambda known: known.correlation(-1))
        return moments.around(_correlation(moments), (-1.0, 1.0), (), *ends, _drawn_correlation(moments))
    spreads = f.multiple(f.roots(moments.variances(X)), f.roots(moments.variances(Y)))
    low, high = spreads
    return f.clipped(f.quotient(moments.covariances(), (f.positive(low), f.positive(high))), -1.0, 1.0)


def _squares(moments: Moments) -> f.Interval:
    if moments.joint is not None:
        square = f.square(_correlation(moments))
        ends = (lambda known: known.correlation_squared(1)), (lambda known: known.correlation_squared(-1))
        return moments.around(square, (0.0, 1.0), (), *ends, f.square(_drawn_correlation(moments)))
    return f.squares(_correlations(moments))


def _correlation_weights(moments: Moments) -> dict[str, nodes.Expr]:
    """Of r = c / (s t): dc / (s t) - r dv / (2 v) - r dw / (2 w)."""
    half = f.times(duck.double(-0.5), _correlation(moments))
    return {
        XY: f.over(duck.double(1.0), _divisor(_spread(moments))),
        XX: f.over(half, _divisor(moments.variance(X))),
        YY: f.over(half, _divisor(moments.variance(Y))),
    }


def _divisor(a: nodes.Expr) -> nodes.Expr:
    """In steps, less than any variance of fewer than 2^60 rows that is not zero; its inverse is no infinity."""
    return f.greatest(a, duck.double(2.0**-62))


def _twice(moments: Moments) -> dict[str, nodes.Expr]:
    """Of a square: 2 r times the weights of r."""
    double = f.times(duck.double(2.0), _correlation(moments))
    return {name: f.times(double, weight) for name, weight in _correlation_weights(moments).items()}


def _correlation_words(errors: Mapping[str, float]) -> str:
    own, x, y = errors[XY], errors[XX], errors[YY]
    return (
        f"about ({own:.6g} / (sx * sy) + {x:.6g} / (2 * sx^2) + {y:.6g} / (2 * sy^2)) / count, "
        "sx and sy the standard deviations"
    )


CORR = of_pair("corr", MomentFunction(
    (*_PARTS, XX, YY), _correlation, _correlations, _correlation_weights,
    lambda _: (-1.0, 1.0), lambda _: Fraction(1), _correlation_words,
))  # fmt: skip
REGR_R2 = of_pair("regr_r2", MomentFunction(
    (*_PARTS, XX, YY),
    lambda m: f.square(_correlation(m)),
    _squares,
    _twice,
    lambda _: (0.0, 1.0),
    lambda _: Fraction(1),
    lambda errors: f"{_correlation_words(errors)}, times 2",
))  # fmt: skip


def _steepest(sides: Sides) -> float:
    """2 r / u above, in steps."""
    return 2 * sides[Y].radius


def _slope(moments: Moments) -> nodes.Expr:
    most = _steepest(moments.sides)
    return f.inside(f.over(moments.covariance(), f.positive(moments.variance(X))), -most, most)


def _drawn_slope(moments: Moments) -> nodes.Expr:
    return f.over(moments.drawn(X, Y), _divisor(moments.drawn(X, X)))


def _slopes(moments: Moments) -> f.Interval:
    most = _steepest(moments.sides)
    if moments.joint is not None:
        ends = (lambda known: known.slope(known.law.near, 1)), (lambda known: known.slope(known.law.near, -1))
        return moments.around(_slope(moments), (-most, most), (), *ends, _drawn_slope(moments))
    low, high = moments.variances(X)
    return f.clipped(f.quotient(moments.covariances(), (f.positive(low), f.positive(high))), -most, most)


def _slope_weights(moments: Moments) -> dict[str, nodes.Expr]:
    """Of b = c / v: (dc - b dv) / v."""
    divisor = _divisor(moments.variance(X))
    return {
        XY: f.over(duck.double(1.0), divisor),
        XX: f.over(f.times(duck.double(-1.0), _slope(moments)), divisor),
    }


def _slope_words(errors: Mapping[str, float]) -> str:
    return (
        f"about ({errors[XY]:.6g} + |slope| * {errors[XX]:.6g}) / (sx^2 * count), sx the standard deviation"
    )


REGR_SLOPE = of_pair("regr_slope", MomentFunction(
    (*_PARTS, XX), _slope, _slopes, _slope_weights, lambda s: (-_steepest(s), _steepest(s)),
    lambda s: s[Y].unit / s[X].unit, _slope_words,
))  # fmt: skip


def _at(moments: Moments, side: str) -> nodes.Expr:
    """The mean itself, in steps from zero."""
    return f.plus(duck.double(moments.sides[side].centre), moments.mean(side))


def _ats(moments: Moments, side: str) -> f.Interval:
    centre = duck.double(moments.sides[side].centre)
    low, high = moments.means(side)
    return f.plus(centre, low), f.plus(centre, high)


def _intercept(moments: Moments) -> nodes.Expr:
    return f.minus(_at(moments, Y), f.times(_slope(moments), _at(moments, X)))


def _intercepts(moments: Moments) -> f.Interval:
    if moments.joint is not None:
        centre, limits = moments.sides[X].centre, _intercept_limits(moments.sides)
        drawn = f.minus(_at(moments, Y), f.times(_drawn_slope(moments), _at(moments, X)))
        return moments.around(
            _intercept(moments), limits, (XX,), lambda known: known.line(centre), drawn=drawn
        )
    return f.difference(_ats(moments, Y), f.product(_slopes(moments), _ats(moments, X)))


def _intercept_weights(moments: Moments) -> dict[str, nodes.Expr]:
    """Of a = my - b mx: dmy - b dmx - mx db."""
    minus_x = f.times(duck.double(-1.0), _at(moments, X))
    found = {name: f.times(minus_x, weight) for name, weight in _slope_weights(moments).items()}
    return found | {X: f.times(duck.double(-1.0), _slope(moments)), Y: duck.double(1.0)}


def _intercept_limits(sides: Sides) -> tuple[float, float]:
    reach = {name: abs(side.centre) + side.reach for name, side in sides.items()}
    most = reach[Y] + _steepest(sides) * reach[X]
    return -most, most


def _intercept_words(errors: Mapping[str, float]) -> str:
    slope = f"({errors[XY]:.6g} + |slope| * {errors[XX]:.6g}) / sx^2"
    return (
        f"about ({errors[Y]:.6g} + |slope| * {errors[X]:.6g} + |mean x| * {slope}) / count, "
        "sx the standard deviation"
    )


REGR_INTERCEPT = of_pair("regr_intercept", MomentFunction(
    (*_PARTS, XX),
    _intercept,
    _intercepts,
    _intercept_weights,
    _intercept_limits,
    lambda s: s[Y].unit,
    _intercept_words,
))  # fmt: skip
