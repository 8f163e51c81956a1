"""Between which moments WHERE leaves a timestamp: what is grouped by its month has no rows of other months.

The ends are the analyst's own constants, so they tell nothing; rows with other values fail the condition.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.analysis import instants
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed
from dpproxy.values.days import midnight
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import TIMESTAMP, TIMESTAMPTZ, SqlType

_STEP = timedelta(microseconds=1)
_ABOVE: dict[type[exp.Expr], timedelta] = {exp.GTE: timedelta(0), exp.GT: _STEP, exp.EQ: timedelta(0)}
_BELOW: dict[type[exp.Expr], timedelta] = {exp.LTE: timedelta(0), exp.LT: -_STEP, exp.EQ: timedelta(0)}
_TURNED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.GTE: exp.LTE, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.LT: exp.GT, exp.EQ: exp.EQ,
}  # fmt: skip


def during(column: exp.Column, typed: Typed, conditions: Sequence[exp.Expr], scope: Scope) -> Typed:
    """The column with the ends that the conditions, all of which hold, leave to it."""
    if typed.type.oid not in (TIMESTAMP.oid, TIMESTAMPTZ.oid) or typed.first is None or typed.last is None:
        return typed
    first, last = midnight(typed.first), midnight(typed.last)
    for condition in conditions:
        for kind, constant in _comparisons(condition, column):
            moment = _moment(constant, typed.type, scope)
            if moment is None:
                continue
            try:
                first = max(first, moment + _ABOVE[kind]) if kind in _ABOVE else first
                last = min(last, moment + _BELOW[kind]) if kind in _BELOW else last
            except OverflowError:  # at the end of all time: it leaves nothing out
                continue
    return replace(typed, first=first, last=last) if first <= last else typed


def _comparisons(condition: exp.Expr, column: exp.Column) -> list[tuple[type[exp.Expr], exp.Expr]]:
    """What the condition says of the column, which stands on the left."""
    condition = condition.unnest()
    if isinstance(condition, exp.Between) and condition.this.unnest() == column:
        return [(exp.GTE, condition.args["low"]), (exp.LTE, condition.args["high"])]
    kind = type(condition)
    if not isinstance(condition, exp.Binary) or kind not in _TURNED:
        return []
    if condition.this.unnest() == column:
        return [(kind, condition.expression)]
    return [(_TURNED[kind], condition.this)] if condition.expression.unnest() == column else []


def _moment(node: exp.Expr, kind: SqlType, scope: Scope) -> datetime | None:
    """A constant as a timestamp; beside moments with a time zone, as that of UTC."""
    if node.find(exp.Column, exp.Query) is not None:
        return None
    try:
        typed = settle(compile_expression(node, replace(scope, leaf=lambda _: None)), kind, scope, node)
        if kind.oid == TIMESTAMPTZ.oid and typed.is_constant and typed.is_moment:
            typed = instants.to_instant(typed, scope.parameters.zone, node, scope)
    except Refusal:
        return None
    is_beside = instants.is_instant(typed) if kind.oid == TIMESTAMPTZ.oid else typed.is_moment
    return midnight(typed.first) if typed.is_constant and is_beside and typed.first is not None else None
