"""Every aggregate that is answered: the parser's node, and how a call becomes an ``Aggregate``."""

from typing import Any, NamedTuple, Protocol

from sqlglot import exp

from dpproxy.aggregates import covariance, geometric, order, variance
from dpproxy.aggregates.average import Average
from dpproxy.aggregates.count import Count, count_measure, distinct_measure
from dpproxy.aggregates.filter import kept, rows_where
from dpproxy.aggregates.joint import COUNT, XX, XY, YY, X, Y
from dpproxy.aggregates.logical import Decided
from dpproxy.aggregates.mode import mode
from dpproxy.aggregates.model import Aggregate
from dpproxy.aggregates.operands import (
    Condition,
    compiled,
    condition_of,
    distinct_operand,
    multiple,
    name_of,
    operand,
    pair,
    plain_operand,
)
from dpproxy.aggregates.side import Side
from dpproxy.aggregates.statistic import MomentFunction, Statistic
from dpproxy.aggregates.sum import Sum
from dpproxy.algebra import nodes
from dpproxy.analysis.expressions import compile_boolean, compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.values.errors import UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import FLOAT8, TEXT

Averaged = frozenset[tuple[exp.Expr, exp.Expr | None]]
"""The arguments that an average of the same statement reads, each with the condition of its FILTER."""


class Builder(Protocol):
    """Makes an aggregate of a call; the condition of its FILTER comes with it."""

    def __call__(
        self,
        node: Any,  # noqa: ANN401
        scope: Scope,
        averaged: Averaged,
        condition: Condition | None = None,
        /,
    ) -> Aggregate:
        """Compile the call's arguments. Raises a ``Refusal``."""


def is_call(node: exp.Expr) -> bool:
    """A whole call: a FILTER with the aggregate inside, or an aggregate without one; not what a prior stands before."""
    if type(node.parent) is exp.AnonymousAggFunc:
        return False
    return type(node) in AGGREGATES and not (type(node.parent) is exp.Filter and node.arg_key == "this")


def averaged_arguments(nodes: list[exp.Expr]) -> Averaged:
    """The arguments of every AVG, variance and standard deviation among the calls."""
    parts = [(n.this, n.expression.this) if type(n) is exp.Filter else (n, None) for n in nodes]
    return frozenset((call.this, written) for call, written in parts if type(call) in _AVERAGES)


def _count(node: exp.Count, scope: Scope, _: Averaged, condition: Condition | None = None) -> Aggregate:
    this = distinct_operand(node)
    if this is not None:
        value = settle(compile_expression(this, scope), TEXT, scope, this)
        is_unit = value.is_unit and isinstance(this.unnest(), exp.Column)
        return Count(distinct_measure(kept(value, compiled(condition)), is_unit=is_unit))
    if node.this is None:
        raise UndefinedFunction("count() takes an argument", hint="Write count(*) or count(x).")
    if isinstance(node.this, exp.Star):
        return Count(count_measure(None if condition is None else rows_where(condition.sql)))
    return Count(count_measure(kept(compile_expression(node.this, scope), compiled(condition))))


def _sum(node: exp.Sum, scope: Scope, averaged: Averaged, condition: Condition | None = None) -> Aggregate:
    written = None if condition is None else condition.written
    return Sum(multiple(node, scope, condition), (node.this, written) in averaged)


def _average(node: exp.Avg, scope: Scope, _: Averaged, condition: Condition | None = None) -> Aggregate:
    return Average(multiple(node, scope, condition))


def _spread(function: MomentFunction) -> Builder:
    def build(node: Any, scope: Scope, _: Averaged, condition: Condition | None = None) -> Aggregate:  # noqa: ANN401
        found = operand(node, scope, condition)
        if found.distinct and Side(found).shift:  # values of one step would be counted apart and added once
            raise Unsupported(
                f"{name_of(node)}(DISTINCT ...) of so wide a range is not supported",
                hint=f"Write {name_of(node)}(x), or round the value.",
                position=position(node),
            )
        return variance.spread(function, found)

    return build


def _pair(function: MomentFunction) -> Builder:
    def build(node: Any, scope: Scope, _: Averaged, condition: Condition | None = None) -> Aggregate:  # noqa: ANN401
        found = pair(node, scope, condition)
        x, y = Side(found.x), Side(found.y)
        named = {COUNT: found.count, X: x.total, Y: y.total, XX: x.squares, YY: y.squares, XY: found.product}
        return Statistic(function, {X: x, Y: y}, named, FLOAT8)

    return build


def _pair_count(node: Any, scope: Scope, _: Averaged, condition: Condition | None = None) -> Aggregate:  # noqa: ANN401
    return Count(pair(node, scope, condition).count)


def _pair_average(side: str) -> Builder:
    def build(node: Any, scope: Scope, _: Averaged, condition: Condition | None = None) -> Aggregate:  # noqa: ANN401
        found = pair(node, scope, condition)
        return Average(found.x if side == X else found.y, found.count)

    return build


def _decided(*, is_all: bool) -> Builder:
    def build(node: Any, scope: Scope, _: Averaged, condition: Condition | None = None) -> Aggregate:  # noqa: ANN401
        value = compile_boolean(plain_operand(node, node.this), scope)
        decides = nodes.Not(value.sql) if is_all else value.sql
        return Decided(rows_where(compiled(condition), decides), is_all)

    return build


def _count_if(node: exp.CountIf, scope: Scope, _: Averaged, condition: Condition | None = None) -> Aggregate:
    value = compile_boolean(plain_operand(node, node.this), scope)
    return Count(count_measure(rows_where(compiled(condition), value.sql)))


def _filter(node: exp.Filter, scope: Scope, averaged: Averaged, _: Condition | None = None) -> Aggregate:
    build = AGGREGATES.get(type(node.this))
    if build is None or type(node.this) is exp.Filter:
        raise Unsupported(
            "FILTER stands after an aggregate that is answered",
            hint="count(*) FILTER (WHERE x > 1) and the like are answered.",
            position=position(node),
        )
    return build(node.this, scope, averaged, condition_of(node.expression, scope))


def _own(node: Any, scope: Scope, averaged: Averaged, condition: Condition | None = None) -> Aggregate:  # noqa: ANN401
    return OWN[node.name].build(node, scope, averaged, condition)


def _ordered_set(node: exp.WithinGroup, *call: Any) -> Aggregate:  # noqa: ANN401
    if node.expression is None:
        raise UndefinedFunction("WITHIN GROUP is of one ORDER BY expression", position=position(node))
    return mode(node, *call) if type(node.this) is exp.Mode else order.percentile(node, *call)


class Own(NamedTuple):
    """An aggregate of one number, in double precision, that the parser does not have.

    ``written`` is the same in other words, for where no row is anybody's.
    """

    build: Builder
    written: str


OWN: dict[str, Own] = {
    "geometric_mean": Own(geometric.build, "exp(avg(ln(x)))"),
}
"""Each is called by its name, and listed, accepted and described from here."""
AGGREGATES: dict[type[exp.Expr], Builder] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Variance: _spread(variance.VAR_SAMP),
    exp.VariancePop: _spread(variance.VAR_POP),
    exp.Stddev: _spread(variance.STDDEV_SAMP),
    exp.StddevSamp: _spread(variance.STDDEV_SAMP),
    exp.StddevPop: _spread(variance.STDDEV_POP),
    exp.CovarPop: _pair(covariance.COVAR_POP),
    exp.CovarSamp: _pair(covariance.COVAR_SAMP),
    exp.Corr: _pair(covariance.CORR),
    exp.RegrSlope: _pair(covariance.REGR_SLOPE),
    exp.RegrIntercept: _pair(covariance.REGR_INTERCEPT),
    exp.RegrR2: _pair(covariance.REGR_R2),
    exp.RegrCount: _pair_count,
    exp.RegrAvgx: _pair_average(X),
    exp.RegrAvgy: _pair_average(Y),
    exp.LogicalAnd: _decided(is_all=True),
    exp.LogicalOr: _decided(is_all=False),
    exp.CountIf: _count_if,
    exp.CombinedAggFunc: _own,
    exp.Min: order.extreme,
    exp.Max: order.extreme,
    exp.Median: order.median,
    exp.WithinGroup: _ordered_set,
    exp.Filter: _filter,
}
_AVERAGES = (exp.Avg, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevSamp, exp.StddevPop)
