"""Every aggregate that is answered: the parser's node, and what a call is over rows of each kind."""

from collections.abc import Callable

from sqlglot import exp

from dpproxy.aggregates import covariance, lists, order, pairs, variance
from dpproxy.aggregates.average import AVG
from dpproxy.aggregates.calls import (
    AggregateFunction,
    Averaged,
    OpenCall,
    PersonCall,
    PrivateCall,
    name_of,
    without_filter,
)
from dpproxy.aggregates.count import COUNT, COUNT_IF
from dpproxy.aggregates.geometric import GEOMETRIC_MEAN
from dpproxy.aggregates.logical import BOOL_AND, BOOL_OR
from dpproxy.aggregates.mode import MODE
from dpproxy.aggregates.model import Aggregate
from dpproxy.aggregates.sum import SUM
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.spoken import construct
from dpproxy.analysis.typed import Typed
from dpproxy.analysis.windows import Over
from dpproxy.values.errors import UndefinedFunction, Unsupported

AGGREGATES: dict[type[exp.Expr] | str, AggregateFunction] = {
    exp.Count: COUNT,
    exp.Sum: SUM,
    exp.Avg: AVG,
    exp.Min: order.MIN,
    exp.Max: order.MAX,
    exp.LogicalAnd: BOOL_AND,
    exp.LogicalOr: BOOL_OR,
    exp.Variance: variance.VAR_SAMP,
    exp.VariancePop: variance.VAR_POP,
    exp.Stddev: variance.STDDEV_SAMP,
    exp.StddevSamp: variance.STDDEV_SAMP,
    exp.StddevPop: variance.STDDEV_POP,
    exp.CovarPop: covariance.COVAR_POP,
    exp.CovarSamp: covariance.COVAR_SAMP,
    exp.Corr: covariance.CORR,
    exp.RegrSlope: covariance.REGR_SLOPE,
    exp.RegrIntercept: covariance.REGR_INTERCEPT,
    exp.RegrR2: covariance.REGR_R2,
    exp.RegrCount: pairs.REGR_COUNT,
    exp.RegrAvgx: pairs.REGR_AVGX,
    exp.RegrAvgy: pairs.REGR_AVGY,
    exp.Median: order.MEDIAN,
    exp.PercentileCont: order.PERCENTILE_CONT,
    exp.PercentileDisc: order.PERCENTILE_DISC,
    exp.Mode: MODE,
    exp.CountIf: COUNT_IF,
    "geometric_mean": GEOMETRIC_MEAN,
    exp.GroupConcat: lists.STRING_AGG,
    exp.ArrayAgg: lists.ARRAY_AGG,
    exp.JSONArrayAgg: lists.JSON_AGG,
}
"""By the parser's node; what the parser does not have is called by its name, with one number, as any other function."""
PRIVATE: frozenset[type[exp.Expr]] = frozenset(
    {exp.Filter, exp.WithinGroup, exp.CombinedAggFunc}
    | {k for k, f in AGGREGATES.items() if not isinstance(k, str) and f.private is not None and not f.ordered}
)
"""The nodes of whole calls over protected rows."""


def listed(chosen: Callable[[AggregateFunction], object]) -> str:
    """The names of some in words: ``count, sum and avg``."""
    found = (kind() for kind, f in AGGREGATES.items() if not isinstance(kind, str) and chosen(f))
    *names, last = (construct(call).removesuffix("()") for call in found)
    return f"{', '.join(names)} and {last}"


def function_of(call: exp.Expr) -> AggregateFunction | None:
    """That of a call without its FILTER."""
    is_ordered = type(call) is exp.WithinGroup
    named = call.this if is_ordered else call
    found = AGGREGATES.get(named.name if type(named) is exp.CombinedAggFunc else type(named))
    return found if found is not None and found.ordered is is_ordered else None


def is_call(node: exp.Expr) -> bool:
    """A whole call: a FILTER with the aggregate inside, or an aggregate without one; not what a prior stands before."""
    if type(node.parent) is exp.AnonymousAggFunc:
        return False
    return type(node) in PRIVATE and not (type(node.parent) is exp.Filter and node.arg_key == "this")


def is_aggregate(node: exp.Expr) -> bool:
    """A call over rows of whatever kind, answered or not, with the FILTER or WITHIN GROUP around it."""
    return type(node) in AGGREGATES or isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup)


def averaged_arguments(nodes: list[exp.Expr]) -> Averaged:
    """The arguments of every AVG, variance and standard deviation among the calls."""
    parts = [(n.this, n.expression.this) if type(n) is exp.Filter else (n, None) for n in nodes]
    return frozenset(
        (call.this, written)
        for call, written in parts
        if (found := function_of(call)) is not None and found.averages
    )


def private(node: exp.Expr, scope: Scope, averaged: Averaged = frozenset()) -> Aggregate:
    """Compile a whole call over protected rows. Raises a ``Refusal``."""
    called, filtered = (node.this, node.expression.this) if type(node) is exp.Filter else (node, None)
    found, is_ordered = function_of(called), type(called) is exp.WithinGroup
    rule = None if found is None else found.private
    if rule is None and not is_ordered:
        raise Unsupported(
            "FILTER stands after an aggregate that is answered",
            hint="count(*) FILTER (WHERE x > 1) and the like are answered.",
            position=position(node),
        )
    call, condition = without_filter(node, scope)
    if is_ordered and call.expression is None:
        raise UndefinedFunction("WITHIN GROUP is of one ORDER BY expression", position=position(call))
    if rule is None:
        raise order.misplaced(call)
    return rule(PrivateCall(call, scope, condition, averaged=averaged, filtered=filtered))


def opened(node: exp.Expr, scope: Scope, over: Over | None = None) -> Typed:
    """Compile a call over open rows, with its FILTER, and with OVER where given. Raises a ``Refusal``."""
    call, condition = without_filter(node, scope)
    found, is_ordered = function_of(call), type(call) is exp.WithinGroup
    if is_ordered and over is not None:
        raise Unsupported("OVER is not supported for ordered-set aggregates")
    if is_ordered and (found is None or len(call.expression.expressions) != 1):
        raise Unsupported("this WITHIN GROUP is not answered", position=position(call))
    if found is None or found.open is None:
        hint = None if found is None or found.instead is None else f"Write {found.instead}."
        raise Unsupported(f"{name_of(call)}() is not answered here", hint=hint)
    return found.open(OpenCall(call, scope, condition, over))


def of_person(node: exp.Expr, scope: Scope, most: int, over: Over | None = None) -> Typed:
    """Compile a call over the rows of one person, ``most`` at most, with OVER where given. Raises a ``Refusal``."""
    call, condition = without_filter(node, scope)
    found = function_of(call)
    rule = None if found is None else found.person
    if over is not None and (found is None or not found.windowed or isinstance(call.this, exp.Distinct)):
        raise Unsupported(
            f"{construct(call)} is not answered over the rows of one person",
            hint="Over rows: row_number, rank, dense_rank, lag, lead, first_value, last_value, nth_value, "
            f"{listed(lambda f: f.windowed)}.",
            position=position(call),
        )
    if rule is None:
        raise Unsupported(f"{construct(call)} of one person's rows is not answered", position=position(call))
    return rule(PersonCall(call, scope, condition, over, most=most))


def is_of_person(node: exp.Expr) -> bool:
    """Whether a node is one for ``of_person``, or a FILTER, which says what is wrong there."""
    found = function_of(node)
    return type(node) is exp.Filter or (found is not None and found.person is not None)
