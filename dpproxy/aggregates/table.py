"""Every aggregate that is answered: the parser's node, and how a call becomes an ``Aggregate``."""

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from dpproxy.aggregates.argument import argument
from dpproxy.aggregates.average import Average
from dpproxy.aggregates.count import Count
from dpproxy.aggregates.model import Aggregate
from dpproxy.aggregates.sum import Sum
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.errors import UndefinedFunction, Unsupported
from dpproxy.pgtypes import NUMERIC

Averaged = frozenset[exp.Expr]
"""The arguments that an average of the same statement reads."""
Builder = Callable[[Any, Scope, Averaged], Aggregate]


def _count(node: exp.Count, scope: Scope, _: Averaged) -> Aggregate:
    if isinstance(node.this, exp.Distinct):
        raise Unsupported(
            "count(DISTINCT ...) is not supported yet",
            hint="Write count(*) or count(x).",
            position=position(node),
        )
    if node.this is None:
        raise UndefinedFunction("count() takes an argument", hint="Write count(*) or count(x).")
    if isinstance(node.this, exp.Star):
        return Count(None)
    return Count(compile_expression(node.this, scope))


def _operand(node: exp.Expr, scope: Scope) -> Any:  # noqa: ANN401
    this = node.this
    if isinstance(this, exp.Distinct):
        name = type(node).__name__.lower()
        raise Unsupported(
            f"{name}(DISTINCT ...) is not supported yet", hint=f"Write {name}(x).", position=position(node)
        )
    if isinstance(this, exp.Star):
        raise UndefinedFunction(
            f"{type(node).__name__.lower()}(*) does not exist",
            hint="Only count takes *.",
            position=position(node),
        )
    return argument(this, settle(compile_expression(this, scope), NUMERIC, scope, this))


def _sum(node: exp.Sum, scope: Scope, averaged: Averaged) -> Aggregate:
    return Sum(_operand(node, scope), node.this in averaged)


def _average(node: exp.Avg, scope: Scope, _: Averaged) -> Aggregate:
    return Average(_operand(node, scope))


AGGREGATES: dict[type[exp.Expr], Builder] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _average,
}


def averaged_arguments(nodes: list[exp.Expr]) -> Averaged:
    """The arguments of every AVG among the calls."""
    return frozenset(n.this for n in nodes if type(n) is exp.Avg)
