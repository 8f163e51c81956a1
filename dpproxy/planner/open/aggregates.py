"""Aggregates over open relations: the engine's own, exact, with PostgreSQL's types."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.average import mean_type
from dpproxy.aggregates.operands import distinct_operand, name_of
from dpproxy.aggregates.sum import sum_type
from dpproxy.aggregates.table import OWN
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.casts import as_text
from dpproxy.analysis.expressions import compile_boolean, compile_expression, compile_shown
from dpproxy.analysis.lists import element
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.texts import check_length
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.analysis.windows import Over
from dpproxy.values.errors import InvalidParameter, TypeMismatch, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import (
    BOOL,
    BYTEA,
    FLOAT8,
    INT8,
    JSON,
    NUMERIC,
    TEXT,
    TEXTS,
    UUID,
    array_of,
)


class _Call(Struct, frozen=True):
    """One call being compiled; ``finish`` puts FILTER and OVER behind the engine's call."""

    node: Any
    scope: Scope
    finish: Over
    is_window: bool

    @property
    def name(self) -> str:
        return name_of(self.node)

    def value(self) -> Typed:
        """The argument; DISTINCT is around its SQL."""
        distinct = distinct_operand(self.node)
        if distinct is not None and self.is_window:
            raise Unsupported("DISTINCT is not implemented for window functions")
        value = self.operand(self.node.this if distinct is None else distinct)
        return value if distinct is None else replace(value, is_constant=False)

    def made(self, name: str, *arguments: nodes.Expr) -> nodes.Expr:
        """The engine's call, of different values where DISTINCT is written, with FILTER and OVER."""
        return self.finish(nodes.Call(name, arguments, isinstance(self.node.this, exp.Distinct)))

    def operand(self, node: exp.Expr) -> Typed:
        """A compiled argument; a quoted literal is text."""
        if isinstance(node, exp.Star):
            raise UndefinedFunction(f"{self.name}(*) does not exist", hint="Only count takes *.")
        return compile_shown(node, self.scope)

    def number(self) -> Typed:
        """The argument, which must be a number."""
        value = self.value()
        return value if value.is_number else self._refuse(value)

    def double(self, node: exp.Expr) -> nodes.Expr:
        value = self.operand(node)
        return as_double(value if value.is_number else self._refuse(value))

    def _refuse(self, value: Typed) -> Typed:
        raise TypeMismatch(
            f"function {self.name}({value.type.shown}) does not exist", hint="It takes a number."
        )


Rule = Callable[[_Call], Typed]


def aggregate(node: exp.Expr, scope: Scope, over: Over | None = None) -> Typed:
    """Compile one call, with its FILTER, and with OVER where given. Raises a ``Refusal``."""
    behind = over if over is not None else _as_is
    call = node
    if type(node) is exp.Filter:
        call = node.this
        behind = _filtered(compile_boolean(node.expression.this, scope).sql, behind)
    rule = AGGREGATES.get(type(call))
    if rule is None:
        own = OWN.get(name_of(call))
        hint = None if own is None else f"Write {own.written}."
        raise Unsupported(f"{name_of(call)}() is not answered here", hint=hint)
    return rule(_Call(call, scope, behind, over is not None))


def _as_is(call: nodes.Call) -> nodes.Expr:
    return call


def _filtered(condition: nodes.Expr, behind: Over) -> Over:
    return lambda call: behind(replace(call, where=condition))


def is_aggregate(node: exp.Expr) -> bool:
    """A call, with the FILTER or WITHIN GROUP around it."""
    return type(node) in AGGREGATES or type(node) is exp.Filter or isinstance(node, exp.AggFunc)


def _count(call: _Call) -> Typed:
    node = call.node
    if node.this is None:
        raise UndefinedFunction(
            "count() takes an argument", hint="Write count(*) or count(x).", position=position(node)
        )
    sql = nodes.Star() if isinstance(node.this, exp.Star) else call.value().sql
    return Typed(call.made("count", sql), INT8, 0, Fraction(0), nullable=False)


def _sum(call: _Call) -> Typed:
    value = call.number()
    exact = value.scale is not None
    sql = duck.cast(value.sql, "HUGEINT") if exact else value.sql
    return Typed(call.made("sum", sql), sum_type(value.type), value.scale)


def _average(call: _Call) -> Typed:
    value = call.number()
    return Typed(call.made("avg", as_double(value)), mean_type(value.type), None)


_UNORDERED = frozenset({BOOL.oid, UUID.oid, BYTEA.oid, JSON.oid, array_of(JSON).oid})
"""Types without a least and a greatest value."""


def _extreme(call: _Call) -> Typed:
    value = call.value()
    if value.type.oid in _UNORDERED:
        raise UndefinedFunction(
            f"function {call.name}({value.type.shown}) does not exist",
            hint="Use bool_and or bool_or." if value.type.oid == BOOL.oid else None,
        )
    sql = call.made(call.name, value.sql)
    return replace(value, sql=sql, nullable=True, is_constant=False, constant=None, presence=None)


def _spread(name: str) -> Rule:
    def apply(call: _Call) -> Typed:
        value = call.number()
        return Typed(call.made(name, as_double(value)), mean_type(value.type), None)

    return apply


def _pair(name: str) -> Rule:
    """Of two numbers; what the engine calls not a number is NULL in PostgreSQL."""

    def apply(call: _Call) -> Typed:
        y, x = call.double(call.node.this), call.double(call.node.expression)
        value = call.finish(duck.call(name, y, x))
        return Typed(duck.call("nullif", value, duck.cast(nodes.Text("nan"), "DOUBLE")), FLOAT8, None)

    return apply


def _pair_count(call: _Call) -> Typed:
    y, x = call.double(call.node.this), call.double(call.node.expression)
    return Typed(call.finish(duck.call("regr_count", y, x)), INT8, 0, Fraction(0), nullable=False)


def _decided(name: str) -> Rule:
    def apply(call: _Call) -> Typed:
        value = compile_boolean(distinct_operand(call.node) or call.node.this, call.scope)
        return Typed(call.finish(duck.call(name, value.sql)), BOOL)

    return apply


def _count_if(call: _Call) -> Typed:
    value = compile_boolean(call.node.this, call.scope)
    return Typed(call.finish(duck.call("count_if", value.sql)), INT8, 0, Fraction(0), nullable=False)


def _median(call: _Call) -> Typed:
    return Typed(call.finish(duck.call("median", as_double(call.number()))), FLOAT8, None)


def _percentile(call: _Call) -> Typed:
    """PERCENTILE_CONT and PERCENTILE_DISC (p) WITHIN GROUP (ORDER BY x)."""
    node = call.node
    if call.is_window:
        raise Unsupported("OVER is not supported for ordered-set aggregates")
    kind, entries = node.this, node.expression.expressions
    if type(kind) is exp.Mode and len(entries) == 1:
        return _mode(call, entries[0])
    if type(kind) not in (exp.PercentileCont, exp.PercentileDisc) or len(entries) != 1:
        raise Unsupported("this WITHIN GROUP is not answered", position=position(node))
    fraction = _fraction(kind.this, call.scope)
    value = call.operand(entries[0].this)
    descending, place = bool(entries[0].args.get("desc")), duck.double(float(fraction))
    if type(kind) is exp.PercentileCont:
        number = call.double(entries[0].this)
        return Typed(call.finish(_quantile("quantile_cont", number, place, descending)), FLOAT8, None)
    sql = call.finish(_quantile("quantile_disc", value.sql, place, descending))
    return replace(value, sql=sql, nullable=True, is_constant=False, constant=None, presence=None)


def _mode(call: _Call, entry: exp.Ordered) -> Typed:
    """MODE() WITHIN GROUP (ORDER BY x): of values that are as frequent, the first one."""
    value = call.operand(entry.this)
    order = nodes.Ordered(value.sql, descending=bool(entry.args.get("desc")))
    sql = call.finish(nodes.Call("mode", (value.sql,), order=(order,)))
    return replace(value, sql=sql, nullable=True, is_constant=False, constant=None, presence=None)


def _quantile(name: str, value: nodes.Expr, place: nodes.Expr, descending: bool) -> nodes.Call:  # noqa: FBT001
    return nodes.Call(name, (value, place), order=(nodes.Ordered(value, descending),))


def _fraction(node: exp.Expr, scope: Scope) -> Fraction:
    value = settle(compile_expression(node, scope), NUMERIC, scope, node)
    if value.parameter is not None:
        return Fraction(1, 2)
    if isinstance(value.constant, bool) or not isinstance(value.constant, int | Fraction):
        raise Unsupported("a percentile is a constant between 0 and 1", position=position(node))
    if not 0 <= value.constant <= 1:
        raise InvalidParameter("a percentile is between 0 and 1", position=position(node))
    return Fraction(value.constant)


_VARIES = (exp.Column, exp.Query, exp.Window, exp.AggFunc)
"""What may have another value in each row."""


def _joined(call: _Call) -> Typed:
    """STRING_AGG(x, separator [ORDER BY ...])."""
    node, scope = call.node, call.scope
    value, is_distinct, order = _gathered(call)
    separator = node.args.get("separator")
    between = (
        settle(compile_expression(separator, scope), TEXT, scope, node) if separator is not None else None
    )
    if between is None or value.type.oid not in TEXTS or between.type.oid not in TEXTS:
        raise UndefinedFunction("string_agg takes a text and a separator", hint="Write string_agg(x, ', ').")
    check_length(between.longest)
    if separator is None or separator.find(*_VARIES) is not None:
        raise Unsupported(
            "the separator of string_agg is a constant text",
            hint="Put what differs by row into the text: string_agg(x || separator, '').",
            position=position(separator),
        )
    last = nodes.Text("") if between.is_null else between.sql
    found = nodes.Call("string_agg", (value.sql, last), is_distinct, order)
    return Typed(call.finish(found), TEXT)


def _gathered(call: _Call) -> tuple[Typed, bool, tuple[nodes.Ordered, ...]]:
    """What is put together of all rows, whether each value once, and in which order."""
    node = call.node
    ordered = node.this if isinstance(node.this, exp.Order) else None
    this = node.this if ordered is None else ordered.this
    is_distinct = isinstance(this, exp.Distinct)
    if call.is_window:  # all rows in each row: as much as there are rows, squared
        raise Unsupported(f"{call.name}() is not answered before OVER")
    if is_distinct and len(this.expressions) != 1:
        raise Unsupported("DISTINCT is not supported here", position=position(node))
    value = call.operand(this.expressions[0] if is_distinct else this)
    order = () if ordered is None else tuple(_entry(e, call) for e in ordered.expressions)
    if is_distinct and any(entry.value != value.sql for entry in order):
        raise Unsupported(
            "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
            hint="Order by what is gathered.",
        )
    return value, is_distinct, order


def _array(call: _Call) -> Typed:
    """ARRAY_AGG(x [ORDER BY ...])."""
    value, is_distinct, order = _gathered(call)
    held = element(value)
    if is_distinct:  # which is ordered by itself alone
        order = tuple(replace(entry, value=held) for entry in order)
    found = nodes.Call("list", (held,), is_distinct, order)
    return Typed(call.finish(found), array_of(value.type))


def _json(call: _Call) -> Typed:
    """JSON_AGG(x [ORDER BY ...]) of texts, numbers, truth values and dates."""
    value, is_distinct, order = _gathered(call)
    text = as_text(value, call.scope)
    if text is None or is_distinct:
        raise Unsupported("json_agg of this is not answered")
    sql = text.sql if value.is_number or value.type.oid == BOOL.oid else nodes.Formula(_QUOTED, (text.sql,))
    parts = (duck.call("coalesce", sql, nodes.Text("null")), nodes.Text(", "))
    found = nodes.Call("string_agg", parts, order=order)
    return Typed(nodes.Formula(("'[' || ", " || ']'"), (call.finish(found),)), JSON)


_QUOTED = ("CAST(to_json(", ") AS VARCHAR)")


def _entry(entry: exp.Ordered, call: _Call) -> nodes.Ordered:
    return nodes.Ordered(
        call.operand(entry.this).sql,
        descending=bool(entry.args.get("desc")),
        nulls_first=bool(entry.args.get("nulls_first")),
    )


AGGREGATES: dict[type[exp.Expr], Rule] = {
    exp.Count: _count,
    exp.CountIf: _count_if,
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Min: _extreme,
    exp.Max: _extreme,
    exp.Variance: _spread("var_samp"),
    exp.VariancePop: _spread("var_pop"),
    exp.Stddev: _spread("stddev_samp"),
    exp.StddevSamp: _spread("stddev_samp"),
    exp.StddevPop: _spread("stddev_pop"),
    exp.CovarPop: _pair("covar_pop"),
    exp.CovarSamp: _pair("covar_samp"),
    exp.Corr: _pair("corr"),
    exp.RegrSlope: _pair("regr_slope"),
    exp.RegrIntercept: _pair("regr_intercept"),
    exp.RegrR2: _pair("regr_r2"),
    exp.RegrAvgx: _pair("regr_avgx"),
    exp.RegrAvgy: _pair("regr_avgy"),
    exp.RegrCount: _pair_count,
    exp.LogicalAnd: _decided("bool_and"),
    exp.LogicalOr: _decided("bool_or"),
    exp.Median: _median,
    exp.WithinGroup: _percentile,
    exp.GroupConcat: _joined,
    exp.ArrayAgg: _array,
    exp.JSONArrayAgg: _json,
}
