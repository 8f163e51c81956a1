"""Aggregates over open relations: the engine's own, exact."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.errors import TypeMismatch
from dpproxy.pgtypes import FLOATS, INT8, NUMERIC, TEXT, UNKNOWN


def aggregate(node: Any, rows: Scope) -> Typed:  # noqa: ANN401 - one of AGGREGATES
    """Compile one call. Raises a ``Refusal``."""
    if type(node) is exp.Count and isinstance(node.this, exp.Star):
        return Typed(exp.Count(this=exp.Star()), INT8, 0)
    value = compile_expression(node.this, rows)
    value = settle(value, TEXT, rows, node) if value.type is UNKNOWN else value
    return AGGREGATES[type(node)](node, value)


def _count(_: exp.Expr, value: Typed) -> Typed:
    return Typed(exp.Count(this=value.sql), INT8, 0)


def _sum(node: exp.Expr, value: Typed) -> Typed:
    if not value.is_number:
        raise TypeMismatch(f"sum of type {value.type.name} does not exist", position=position(node))
    if value.scale is None:
        return Typed(exp.Sum(this=value.sql), value.type, None)
    kind = INT8 if value.type.size in (2, 4) else NUMERIC
    return Typed(exp.Sum(this=duck.cast(value.sql, "HUGEINT")), kind, value.scale)


def _average(node: exp.Expr, value: Typed) -> Typed:
    if not value.is_number:
        raise TypeMismatch(f"avg of type {value.type.name} does not exist", position=position(node))
    kind = value.type if value.type.oid in FLOATS else NUMERIC
    return Typed(exp.Avg(this=as_double(value)), kind, None)


def _extreme(node: exp.Expr, value: Typed) -> Typed:
    return replace(value, sql=type(node)(this=value.sql), nullable=True, is_constant=False, presence=None)


AGGREGATES: dict[type[exp.Expr], Callable[[exp.Expr, Typed], Typed]] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Min: _extreme,
    exp.Max: _extreme,
}
