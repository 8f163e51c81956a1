"""Our own DuckDB text as nodes again: the bridge for what still passes text on."""

from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.values.errors import Internal

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%", exp.DPipe: "||",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM", exp.Like: "LIKE", exp.ILike: "ILIKE",
}  # fmt: skip


@lru_cache(maxsize=32)
def read(sql: str) -> nodes.Query:
    """A query of ours."""
    return _query(sqlglot.parse_one(sql, read="duckdb"))


def _name(node: exp.Expr) -> str:
    return str(node.name) if node.args.get("quoted") else nodes.Bare(node.name)


def _query(node: exp.Expr) -> nodes.Query:
    match node:
        case exp.Select():
            return _select(node)
        case exp.Subquery():
            return _query(node.this)
        case exp.SetOperation():
            word = type(node).__name__.upper() + ("" if node.args.get("distinct") else " ALL")
            return nodes.Combined(word, _query(node.this), _query(node.expression), *_ending(node))
        case _:
            raise Internal("a text of ours is no query")


def _ending(node: exp.Expr) -> tuple[Any, Any, Any]:
    order, limit, offset = (node.args.get(name) for name in ("order", "limit", "offset"))
    return (
        () if order is None else tuple(map(_ordered, order.expressions)),
        None if limit is None else expression(limit.expression),
        None if offset is None else expression(offset.expression),
    )


def _ordered(node: exp.Expr) -> nodes.Ordered:
    nulls = bool(node.args.get("nulls_first"))
    return nodes.Ordered(expression(node.this), bool(node.args.get("desc")), nulls)


def _maybe(node: exp.Expr | None) -> nodes.Expr | None:
    return None if node is None else expression(node.this)


def _select(node: exp.Select) -> nodes.Select:
    args, distinct = node.args, node.args.get("distinct")
    on = distinct.args.get("on") if distinct is not None else None
    order, limit, offset = _ending(node)
    group = args.get("group")
    sets: list[Any] = []
    if group is not None:
        sets = [expression(e) for e in group.expressions]
        for name, kind in (("rollup", "ROLLUP"), ("cube", "CUBE"), ("grouping_sets", "GROUPING SETS")):
            for each in group.args.get(name) or ():
                sets.append(nodes.Sets(kind, tuple(map(expression, each.expressions))))
    return nodes.Select(
        tuple(map(expression, node.expressions)),
        None if args.get("from_") is None else _item(args["from_"].this),
        tuple(map(_join, args.get("joins") or ())),
        _maybe(args.get("where")),
        tuple(sets),
        _maybe(args.get("having")),
        _maybe(args.get("qualify")),
        order,
        limit,
        offset,
        distinct is not None and on is None,
        () if on is None else tuple(map(expression, on.expressions)),
    )


def _join(node: exp.Join) -> nodes.Join:
    kind = " ".join(str(node.args[n]) for n in ("side", "kind") if node.args.get(n)).upper()
    on = node.args.get("on")
    return nodes.Join(_item(node.this), None if on is None else expression(on), kind)


def _alias(node: exp.Expr) -> tuple[str | None, tuple[str, ...]]:
    alias = node.args.get("alias")
    if alias is None:
        return None, ()
    return _name(alias.this), tuple(_name(c) for c in alias.args.get("columns") or ())


def _item(node: exp.Expr) -> nodes.Item:
    alias, columns = _alias(node)
    match node:
        case exp.Table() if isinstance(node.this, exp.Identifier):
            path = tuple(_name(node.args[n]) for n in ("catalog", "db") if node.args.get(n))
            return nodes.Table(_name(node.this), alias, path)
        case exp.Table():
            call = expression(node.this)
            if isinstance(call, nodes.Call):
                return nodes.Function(call, alias or "", columns)
        case exp.Subquery():
            return nodes.Subquery(_query(node.this), alias, columns)
        case exp.Values():
            rows = tuple(tuple(map(expression, row.expressions)) for row in node.expressions)
            return nodes.Values(rows, alias or "", columns)
    raise Internal("a text of ours has an unknown item")


def _call(node: exp.Expr) -> nodes.Expr:
    """A function by its printed name."""
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        arguments, name = node.expressions, node.name.lower()
    else:
        name = {"str_position": "strpos", "timestamp_trunc": "date_trunc", "logical_and": "bool_and"}.get(
            node.sql_name().lower(),
            node.sql_name().lower(),  # type: ignore[attr-defined]
        )
        name = {"logical_or": "bool_or", "power": "power", "pow": "power"}.get(name, name)
        if type(node) is exp.UnixToTime:
            name = "make_timestamp"
        if isinstance(node, exp.Trim) and node.args.get("position"):
            name = "ltrim" if str(node.args["position"]).upper() == "LEADING" else "rtrim"
        keys = list(type(node).arg_types)
        found = [
            node.args.get(k)
            for k in keys
            if k not in ("safe", "coalesce", "ignore_nulls", "big_int", "position")
        ]
        if isinstance(node, exp.TimestampTrunc):
            found = [exp.Literal.string(str(node.args["unit"].name).lower()), node.this]
        if type(node) is exp.UnixToTime:
            found = [node.this]
        if isinstance(node, exp.Log) and node.args.get("expression") is None:
            found = [node.this]
        arguments = [e for v in found for e in (v if isinstance(v, list) else [v]) if isinstance(e, exp.Expr)]
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = arguments[0].expressions
    return nodes.Call(name, tuple(map(expression, arguments)), distinct)


def expression(node: exp.Expr) -> nodes.Expr:
    """One expression."""
    kind = type(node)
    if kind in _BINARY:
        word = ("NOT " if node.args.get("negate") else "") + _BINARY[kind]
        return nodes.Binary(word, expression(node.this), expression(node.expression))
    match node:
        case exp.Column() if isinstance(node.this, exp.Star):
            return nodes.Star()
        case exp.Column():
            table = node.args.get("table")
            return nodes.Column(_name(node.this), None if table is None else _name(table))
        case exp.Identifier():
            return nodes.Column(_name(node))
        case exp.Star():
            return nodes.Star()
        case exp.Null():
            return nodes.Null()
        case exp.Boolean():
            return nodes.Truth(bool(node.this))
        case exp.Literal():
            return nodes.Text(str(node.this)) if node.is_string else nodes.Number(str(node.this))
        case exp.Parameter():
            return nodes.Parameter(int(node.this.name))
        case exp.Placeholder():
            return nodes.Parameter(int(node.name))
        case exp.Paren():
            return nodes.Paren(expression(node.this))
        case exp.Neg():
            return nodes.Negative(expression(node.this))
        case exp.And():
            return nodes.And(tuple(map(expression, node.flatten(unnest=False))))
        case exp.Or():
            return nodes.Or(tuple(map(expression, node.flatten(unnest=False))))
        case exp.Not():
            return nodes.Not(expression(node.this))
        case exp.Is() if isinstance(node.expression, exp.Null):
            found: nodes.Expr = nodes.IsNull(expression(node.this))
            return nodes.Not(found) if node.args.get("negate") else found
        case exp.Case():
            ifs = tuple((expression(e.this), expression(e.args["true"])) for e in node.args["ifs"])
            default = node.args.get("default")
            return nodes.Case(ifs, None if default is None else expression(default))
        case exp.Cast():
            return nodes.Cast(expression(node.this), node.to.sql("duckdb"), isinstance(node, exp.TryCast))
        case exp.In() if node.args.get("query") is not None:
            return nodes.InQuery(expression(node.this), _query(node.args["query"]))
        case exp.In():
            return nodes.InList(expression(node.this), tuple(map(expression, node.expressions)))
        case exp.Exists():
            return nodes.Exists(_query(node.this))
        case exp.Query() | exp.Subquery():
            return nodes.Scalar(_query(node))
        case exp.Alias():
            return nodes.Named(expression(node.this), _name(node.args["alias"]))
        case exp.Tuple():
            return nodes.Tuple(tuple(map(expression, node.expressions)))
        case exp.Array():
            return nodes.Array(tuple(map(expression, node.expressions)))
        case exp.Window():
            call = expression(node.this)
            order = node.args.get("order")
            spec = node.args.get("spec")
            if isinstance(call, nodes.Call):
                return nodes.Window(
                    call,
                    tuple(map(expression, node.args.get("partition_by") or ())),
                    () if order is None else tuple(map(_ordered, order.expressions)),
                    "" if spec is None else spec.sql("duckdb"),
                )
        case exp.Filter():
            call = expression(node.this)
            if isinstance(call, nodes.Call):
                return nodes.Call(
                    call.name, call.arguments, call.distinct, call.order, expression(node.expression.this)
                )
        case exp.Func():
            return _call(node)
    raise Internal(f"a text of ours has an unknown construct {kind.__name__}")
