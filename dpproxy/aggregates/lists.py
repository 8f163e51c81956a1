"""STRING_AGG, ARRAY_AGG and JSON_AGG: the values of all rows in one, over rows that nothing is private in."""

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.calls import AggregateFunction, OpenCall
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.casts import as_text
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.lists import element
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.texts import check_length
from dpproxy.analysis.typed import Typed
from dpproxy.values.errors import UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import BOOL, JSON, TEXT, TEXTS, array_of

_VARIES = (exp.Column, exp.Query, exp.Window, exp.AggFunc)
"""What may have another value in each row."""


def _string(call: OpenCall) -> Typed:
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


def _gathered(call: OpenCall) -> tuple[Typed, bool, tuple[nodes.Ordered, ...]]:
    """What is put together of all rows, whether each value once, and in which order."""
    node = call.node
    ordered = node.this if isinstance(node.this, exp.Order) else None
    this = node.this if ordered is None else ordered.this
    is_distinct = isinstance(this, exp.Distinct)
    if call.over is not None:  # all rows in each row: as much as there are rows, squared
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


def _array(call: OpenCall) -> Typed:
    """ARRAY_AGG(x [ORDER BY ...])."""
    value, is_distinct, order = _gathered(call)
    held = element(value)
    if is_distinct:  # which is ordered by itself alone
        order = tuple(replace(entry, value=held) for entry in order)
    found = nodes.Call("list", (held,), is_distinct, order)
    return Typed(call.finish(found), array_of(value.type))


def _json(call: OpenCall) -> Typed:
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


def _entry(entry: exp.Ordered, call: OpenCall) -> nodes.Ordered:
    return nodes.Ordered(
        call.operand(entry.this).sql,
        descending=bool(entry.args.get("desc")),
        nulls_first=bool(entry.args.get("nulls_first")),
    )


STRING_AGG = AggregateFunction(open=_string)
ARRAY_AGG = AggregateFunction(open=_array)
JSON_AGG = AggregateFunction(open=_json)
