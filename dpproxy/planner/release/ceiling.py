"""The most that a count of different values can be, by what is declared: a released one is shown as no more.

Only what is shown is held to it: noise is as likely above as below, and totals of many counts need both.
"""

from fractions import Fraction
from math import ceil, floor, prod

from sqlglot import exp

from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.values.days import midnight
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import BOOL, DATE, TEXT


def most_distinct(call: exp.Expr, rows: JoinedRows, planning: Planning) -> int | None:
    """The most different values of a call of count(DISTINCT x), with a FILTER or without; None for what is not known.

    Whatever rows hold, a column reads as one of its declared values or as NULL, which is not counted.
    """
    count = call.this if isinstance(call, exp.Filter) else call
    if not isinstance(count, exp.Count) or not isinstance(count.this, exp.Distinct):
        return None
    return _most(count.this.expressions[0].unnest(), rows, rows.scope(planning.parameters))


def _most(operand: exp.Expr, rows: JoinedRows, scope: Scope) -> int | None:
    try:
        typed = settle(compile_expression(operand, scope), TEXT, scope, operand)
    except Refusal:
        return None
    known = (_by_type(typed), _by_columns(operand, rows), _by_results(operand, rows, scope))
    return min((n for n in known if n is not None), default=None)


def _by_results(operand: exp.Expr, rows: JoinedRows, scope: Scope) -> int | None:
    """Of CASE, as many as its different results have together; conditions make no values."""
    if not isinstance(operand, exp.Case):
        return None
    results = [branch.args["true"] for branch in operand.args["ifs"]] + [operand.args.get("default")]
    bare = {result.unnest() for result in results if result is not None} - {exp.Null()}
    found = [1 if isinstance(one, exp.Literal) else _most(one, rows, scope) for one in bare]
    return None if None in found else sum(n for n in found if n is not None)


def _by_type(typed: Typed) -> int | None:
    """How many values a type has between the bounds."""
    if typed.type.oid == BOOL.oid:
        return 2
    if typed.is_number and typed.scale is not None and typed.low is not None and typed.high is not None:
        steps = Fraction(10) ** typed.scale
        return floor(typed.high * steps) - ceil(typed.low * steps) + 1
    if typed.type.oid == DATE.oid and typed.first is not None and typed.last is not None:
        first, last = (midnight(d).date() for d in (typed.first, typed.last))
        return (last - first).days + 1
    return None


def _by_columns(operand: exp.Expr, rows: JoinedRows) -> int | None:
    """As many as the columns have values together: NULL is one more for what is made of them."""
    columns = list(dict.fromkeys(operand.find_all(exp.Column)))
    if operand.find(exp.Query) is not None:
        return None
    try:
        keys = [rows.field(column).key(None) for column in columns]
    except Refusal:
        return None
    if any(key.is_discovered for key in keys):
        return None
    values = [sum(v is not None for v in key.values) for key in keys]
    return values[0] if type(operand) is exp.Column else prod(n + 1 for n in values)
