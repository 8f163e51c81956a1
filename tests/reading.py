"""DuckDB's SQL as nodes, for tests that say in a text what the planner would make."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import sqlglot
from msgspec.structs import replace
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
    """A query; raises ``Internal`` for what nobody plans."""
    return _query(sqlglot.parse_one(sql, read="duckdb"))


def words(sql: str) -> Any:  # noqa: ANN401 - it stands for a query of any form
    """A text as it is, for an engine of ours: whatever is in it."""
    return nodes.Formula((sql,))


def _name(node: exp.Expr) -> str:
    return str(node.name) if node.args.get("quoted") else nodes.Bare(node.name)


_CLAUSES: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        ("expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit", "offset", "distinct")
    ),
    exp.Join: frozenset(("this", "side", "kind", "on")),
    exp.Table: frozenset(("this", "db", "catalog", "alias")),
    exp.Star: frozenset(),
    exp.Column: frozenset(("this", "table")),
    exp.Case: frozenset(("ifs", "default")),
    exp.Cast: frozenset(("this", "to")),
    exp.In: frozenset(("this", "expressions", "query")),
    exp.Subquery: frozenset(("this", "alias")),
    exp.Group: frozenset(("expressions", "rollup", "cube", "grouping_sets")),
    exp.Ordered: frozenset(("this", "desc", "nulls_first")),
    **dict.fromkeys(
        (exp.Union, exp.Intersect, exp.Except),
        frozenset(("this", "expression", "distinct", "order", "limit", "offset")),
    ),
    exp.Window: frozenset(("this", "partition_by", "order", "spec", "over")),
}  # fmt: skip
"""What may be said in these: nothing is left out in silence."""


def _check(node: exp.Expr) -> None:
    known = _CLAUSES.get(type(node))
    if known is not None and any(value and name not in known for name, value in node.args.items()):
        raise Internal("a text of ours has an unknown clause")


def _query(node: exp.Expr) -> nodes.Query:
    _check(node)
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
    _check(node)
    nulls = bool(node.args.get("nulls_first"))
    is_all = type(node.this) is exp.Var and node.this.name.upper() == "ALL"
    value = nodes.ColumnRef(nodes.Bare("ALL")) if is_all else expression(node.this)
    return nodes.Ordered(value, bool(node.args.get("desc")), nulls)


def _maybe(node: exp.Expr | None) -> nodes.Expr | None:
    return None if node is None else expression(node.this)


def _select(node: exp.Select) -> nodes.Select:
    args, distinct = node.args, node.args.get("distinct")
    on = distinct.args.get("on") if distinct is not None else None
    order, limit, offset = _ending(node)
    group = args.get("group")
    sets: list[Any] = []
    if group is not None:
        _check(group)
        rest = [each for name in ("rollup", "cube", "grouping_sets") for each in group.args.get(name) or ()]
        sets = [_grouping(each) for each in (*group.expressions, *rest)]
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


_SETS: dict[type[exp.Expr], str] = {exp.Rollup: "ROLLUP", exp.Cube: "CUBE", exp.GroupingSets: "GROUPING SETS"}


def _grouping(node: exp.Expr) -> nodes.Expr | nodes.Sets:
    kind = _SETS.get(type(node))
    return expression(node) if kind is None else nodes.Sets(kind, tuple(map(_grouping, node.expressions)))


def _join(node: exp.Join) -> nodes.Join:
    _check(node)
    kind = " ".join(str(node.args[n]) for n in ("side", "kind") if node.args.get(n)).upper()
    on = node.args.get("on")
    return nodes.Join(_item(node.this), None if on is None else expression(on), kind)


def _alias(node: exp.Expr) -> tuple[str | None, tuple[str, ...]]:
    alias = node.args.get("alias")
    if alias is None:
        return None, ()
    return _name(alias.this), tuple(_name(c) for c in alias.args.get("columns") or ())


def _item(node: exp.Expr) -> nodes.Item:
    _check(node)
    alias, columns = _alias(node)
    match node:
        case exp.Table() if isinstance(node.this, exp.Identifier):
            path = tuple(_name(node.args[n]) for n in ("catalog", "db") if node.args.get(n))
            return nodes.Table(_name(node.this), alias, path)
        case exp.Table():
            call = expression(node.this)
            if isinstance(call, nodes.Call):
                return nodes.TableFunction(call, alias or "", columns)
        case exp.Subquery():
            return nodes.Subquery(_query(node.this), alias, columns)
        case exp.Values():
            rows = tuple(tuple(map(expression, row.expressions)) for row in node.expressions)
            return nodes.Values(rows, alias or "", columns)
        case _:
            pass
    raise Internal("a text of ours has an unknown item")


_NAMES = {
    "str_position": "strpos",
    "timestamp_trunc": "date_trunc",
    "group_concat": "string_agg",
    "percentile_cont": "quantile_cont",
    "percentile_disc": "quantile_disc",
    "logical_and": "bool_and",
    "logical_or": "bool_or",
}
"""Where the parser calls a function otherwise than the engine."""
_FLAGS = ("safe", "coalesce", "ignore_nulls", "big_int", "position")


def _call(node: exp.Func) -> nodes.Expr:
    """A function by the engine's name."""
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        name, arguments = node.name.lower(), node.expressions
    else:
        name, arguments = _NAMES.get(node.sql_name().lower(), node.sql_name().lower()), _arguments(node)
        if isinstance(node, exp.Trim) and node.args.get("position"):
            name = "ltrim" if str(node.args["position"]).upper() == "LEADING" else "rtrim"
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = arguments[0].expressions
    order = tuple(_ordered(e) for a in arguments if isinstance(a, exp.Order) for e in a.expressions)
    arguments = [a.this if isinstance(a, exp.Order) else a for a in arguments]
    return nodes.Call(name, tuple(map(expression, arguments)), distinct, order)


def _arguments(node: exp.Func) -> list[exp.Expr]:
    if isinstance(node, exp.TimestampTrunc):
        return [exp.Literal.string(str(node.args["unit"].name).lower()), node.this]
    given = [node.args.get(key) for key in type(node).arg_types if key not in _FLAGS]
    return [e for v in given for e in (v if isinstance(v, list) else [v]) if isinstance(e, exp.Expr)]


def _window(node: exp.Window) -> nodes.Expr:
    call, order, spec = expression(node.this), node.args.get("order"), node.args.get("spec")
    if not isinstance(call, nodes.Call):
        raise Internal("a text of ours has an unknown window")
    entries = () if order is None else tuple(map(_ordered, order.expressions))
    partition = tuple(map(expression, node.args.get("partition_by") or ()))
    return nodes.Window(call, partition, entries, "" if spec is None else spec.sql("duckdb"))


def _filter(node: exp.Filter) -> nodes.Expr:
    call = expression(node.this)
    if not isinstance(call, nodes.Call):
        raise Internal("a text of ours has an unknown filter")
    return replace(call, where=expression(node.expression.this))


def _column(node: exp.Column) -> nodes.Expr:
    table = node.args.get("table")
    if isinstance(node.this, exp.Star):
        return nodes.Star()
    return nodes.ColumnRef(_name(node.this), None if table is None else _name(table))


def _case(node: exp.Case) -> nodes.Expr:
    branches = tuple((expression(e.this), expression(e.args["true"])) for e in node.args["ifs"])
    default = node.args.get("default")
    return nodes.Case(branches, None if default is None else expression(default))


def _in(node: exp.In) -> nodes.Expr:
    if node.args.get("query") is not None:
        return nodes.InQuery(expression(node.this), _query(node.args["query"]))
    return nodes.InList(expression(node.this), tuple(map(expression, node.expressions)))


def _is(node: exp.Is) -> nodes.Expr:
    if not isinstance(node.expression, exp.Null):
        raise Internal("a text of ours has an unknown test")
    found = nodes.IsNull(expression(node.this))
    return nodes.Not(found) if node.args.get("negate") else found


def _binary(node: exp.Expr) -> nodes.Expr:
    word = ("NOT " if node.args.get("negate") else "") + _BINARY[type(node)]
    return nodes.Binary(word, expression(node.this), expression(node.expression))


_EXPRESSIONS: dict[type[exp.Expr], Callable[[Any], nodes.Expr]] = {
    **dict.fromkeys(_BINARY, _binary),
    exp.Column: _column,
    exp.Identifier: lambda node: nodes.ColumnRef(_name(node)),
    exp.Star: lambda _: nodes.Star(),
    exp.Null: lambda _: nodes.Null(),
    exp.Boolean: lambda node: nodes.Truth(bool(node.this)),
    exp.Literal: lambda node: nodes.Text(str(node.this)) if node.is_string else nodes.Number(str(node.this)),
    exp.Parameter: lambda node: nodes.Parameter(int(node.this.name)),
    exp.Placeholder: lambda node: nodes.Parameter(int(node.name)),
    exp.Paren: lambda node: nodes.Paren(expression(node.this)),
    exp.Neg: lambda node: nodes.Negative(expression(node.this)),
    exp.And: lambda node: nodes.And(tuple(map(expression, node.flatten(unnest=False)))),
    exp.Or: lambda node: nodes.Or(tuple(map(expression, node.flatten(unnest=False)))),
    exp.Not: lambda node: nodes.Not(expression(node.this)),
    exp.Is: _is,
    exp.Case: _case,
    exp.Cast: lambda node: nodes.Cast(expression(node.this), node.to.sql("duckdb")),
    exp.TryCast: lambda node: nodes.Cast(expression(node.this), node.to.sql("duckdb"), tries=True),
    exp.In: _in,
    exp.Exists: lambda node: nodes.Exists(_query(node.this)),
    exp.Subquery: lambda node: nodes.Scalar(_query(node)),
    exp.Select: lambda node: nodes.Scalar(_query(node)),
    exp.Alias: lambda node: nodes.Named(expression(node.this), _name(node.args["alias"])),
    exp.Tuple: lambda node: nodes.Tuple(tuple(map(expression, node.expressions))),
    exp.Array: lambda node: nodes.Array(tuple(map(expression, node.expressions))),
    exp.Window: _window,
    exp.Filter: _filter,
    exp.UnixToTime: lambda node: nodes.Call("make_timestamp", (expression(node.this),)),
    exp.Log: lambda node: nodes.Call(
        "log", tuple(map(expression, filter(None, (node.this, node.expression))))
    ),
}


def expression(node: exp.Expr) -> nodes.Expr:
    """One expression."""
    _check(node)
    rule = _EXPRESSIONS.get(type(node))
    if rule is not None:
        return rule(node)
    if isinstance(node, exp.Func):
        return _call(node)
    raise Internal(f"a text of ours has an unknown construct {type(node).__name__}")
