"""Keys that the statement itself lists: under WHERE x IN ('a', 'b'), no other group of x has rows."""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.keys import GroupKey, held, of_moments
from dpproxy.analysis.literals import settle
from dpproxy.analysis.scopes import Scope
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.conditions import conjuncts
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.policy.model import Scalar
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import FLOATS, TIMESTAMPTZ, SqlType


def conditions_of(select: exp.Select, rows: JoinedRows, keys: Sequence[exp.Expr]) -> list[exp.Expr]:
    """What WHERE says, here and in a subquery that stands alone in FROM: there of columns as ``keys`` are written."""
    written = {n.name: n for n in keys if type(n) is exp.Column}
    known = [
        c.transform(lambda n: written.get(n.name, n).copy() if type(n) is exp.Column else n)
        for c in (rows.scans[0].known if len(rows.scans) == 1 else ())
    ]
    return [*conjuncts(select.args.get("where")), *known]


def asked_key(
    node: exp.Expr, rows: JoinedRows, planning: Planning, conditions: Sequence[exp.Expr]
) -> GroupKey | None:
    """The key with the constants that a condition compares it with; None where no condition lists any.

    The constants are the analyst's own, so they tell nothing; rows with other values fail the condition.
    """
    constants = next((found for c in conditions if (found := list(_listed(c, node)))), None)
    if constants is None:
        return None
    scope = rows.scope(planning.parameters)
    try:
        typed = compile_expression(node, scope)
        values = [_constant(c, typed.type, scope) for c in constants]
    except Refusal:
        return None
    if typed.type.oid in FLOATS or typed.scale is None or any(v is None for v in values):
        return None
    physical = tuple(dict.fromkeys(held(v, typed) for v in values))
    name = node.name if type(node) is exp.Column else duck.words(node).lower()
    return of_moments(
        GroupKey(name, typed, typed.sql, tuple(v for v in physical if not isinstance(v, float)))
    )


def _listed(condition: exp.Expr, node: exp.Expr) -> Iterator[exp.Expr]:
    if type(condition) is exp.In and condition.this.unnest() == node and condition.args.get("query") is None:
        yield from condition.expressions
    elif type(condition) is exp.EQ and condition.this.unnest() == node:
        yield condition.expression
    elif type(condition) is exp.EQ and condition.expression.unnest() == node:
        yield condition.this


def _constant(node: exp.Expr, kind: SqlType, scope: Scope) -> Scalar | None:
    typed = compile_expression(node, Scope(scope.level, lambda _: None, scope.parameters))
    typed = settle(typed, kind, scope, node)
    if kind.oid == TIMESTAMPTZ.oid and typed.type.oid != kind.oid:
        return None  # a day or a clock is a moment by the session's zone, which the comparison goes by
    return typed.constant if typed.is_constant else None
