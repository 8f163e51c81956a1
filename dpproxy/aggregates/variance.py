"""VAR_POP, VAR_SAMP, STDDEV_POP and STDDEV_SAMP: from the sums of squares and of values, and the count.

The middle of a variance's range answers for no rows, as that of an average does; the sample forms take one row for two.
"""

from collections.abc import Mapping
from fractions import Fraction

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.average import mean_type, of_number
from dpproxy.aggregates.calls import AggregateFunction, PrivateCall
from dpproxy.aggregates.joint import COUNT, XX, X
from dpproxy.aggregates.moments import Moments
from dpproxy.aggregates.operands import operand
from dpproxy.aggregates.side import Side
from dpproxy.aggregates.statistic import MomentFunction, Sides, Statistic
from dpproxy.aggregates.sum import number_measure
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.values.errors import Unsupported

_PARTS = (COUNT, X, XX)


def _spread(name: str, function: MomentFunction) -> AggregateFunction:
    """Of one argument, by the engine's name; its sum and count are those of the argument's average."""

    def private(call: PrivateCall) -> Statistic:
        found = operand(call)
        side = Side(found)
        if found.distinct and side.shift:  # values of one step would be counted apart and added once
            raise Unsupported(
                f"{call.name}(DISTINCT ...) of so wide a range is not supported",
                hint=f"Write {call.name}(x), or round the value.",
                position=position(call.node),
            )
        named = {COUNT: number_measure(found), X: side.total, XX: side.squares}
        return Statistic(function, {X: side}, named, mean_type(found.typed.type))

    return AggregateFunction(private=private, open=of_number(name), averages=True)


def _sample(moments: Moments) -> nodes.Expr:
    return f.times(moments.variance(X), moments.correction)


def _samples(moments: Moments) -> f.Interval:
    return f.stretched(moments.variances(X), moments.corrections)


def _one(_: Moments) -> Mapping[str, nodes.Expr]:
    return {XX: duck.double(1.0)}


def _corrected(moments: Moments) -> Mapping[str, nodes.Expr]:
    return {XX: moments.correction}


def _root_pop(moments: Moments) -> Mapping[str, nodes.Expr]:
    """Of a square root: 1 / (2 s)."""
    return {XX: f.over(duck.double(0.5), f.positive(f.root(moments.variance(X))))}


def _root_sample(moments: Moments) -> Mapping[str, nodes.Expr]:
    corrected = f.root(_sample(moments))
    return {XX: f.over(f.times(duck.double(0.5), moments.correction), f.positive(corrected))}


def _squared(sides: Sides) -> Fraction:
    return sides[X].unit ** 2


def _plain(sides: Sides) -> Fraction:
    return sides[X].unit


def _about(errors: Mapping[str, float]) -> str:
    return f"about {errors[XX]:.6g} / count"


def _about_root(errors: Mapping[str, float]) -> str:
    return f"about {errors[XX]:.6g} / (2 * stddev * count)"


VAR_POP = _spread("var_pop", MomentFunction(
    _PARTS, lambda m: m.variance(X), lambda m: m.variances(X), _one,
    lambda s: (0.0, s[X].radius ** 2), _squared, _about,
))  # fmt: skip
VAR_SAMP = _spread("var_samp", MomentFunction(
    _PARTS, _sample, _samples, _corrected, lambda s: (0.0, 2 * s[X].radius ** 2), _squared, _about,
))  # fmt: skip
STDDEV_POP = _spread("stddev_pop", MomentFunction(
    _PARTS, lambda m: f.root(m.variance(X)), lambda m: f.roots(m.variances(X)), _root_pop,
    lambda s: (0.0, s[X].radius), _plain, _about_root,
))  # fmt: skip
STDDEV_SAMP = _spread("stddev_samp", MomentFunction(
    _PARTS, lambda m: f.root(_sample(m)), lambda m: f.roots(_samples(m)), _root_sample,
    lambda s: (0.0, 2**0.5 * s[X].radius), _plain, _about_root,
))  # fmt: skip
