"""Window functions over released values: OVER with its partition, order and frame, and the functions that need it."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.comparison import unify
from dpproxy.analysis.expressions import compile_expression, compile_shown, whole_constant
from dpproxy.analysis.intervals import moved_sql, read_interval
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed
from dpproxy.values.errors import (
    InvalidParameter,
    SyntaxRefused,
    TypeMismatch,
    UndefinedObject,
    Unsupported,
    WindowMisplaced,
)
from dpproxy.values.pgtypes import FLOAT8, INT4, INT8

Over = Callable[[nodes.Call], nodes.Expr]
"""Puts OVER (...) behind a call."""

_PARTS = ("partition_by", "order", "spec")


def inline_windows(tree: exp.Expr) -> None:
    """Write the windows that WINDOW names where OVER names them, in place on a fresh tree.

    Errors: ``UndefinedObject`` for a name that WINDOW does not have, ``SyntaxRefused`` for a part given twice.
    """
    for select in list(tree.find_all(exp.Select)):
        named: dict[str, exp.Window] = {}
        for window in select.args.get("windows") or ():
            _inherit(window, named)
            named[window.name] = window
        for window in list(select.find_all(exp.Window)):
            is_own = window.parent_select is select and window.arg_key != "windows"
            if is_own and window.args.get("alias") is not None:
                _inherit(window, named)
        select.set("windows", None)


def _inherit(window: exp.Window, named: dict[str, exp.Window]) -> None:
    alias = window.args.get("alias")
    if alias is None:
        return
    if alias.name not in named:
        raise UndefinedObject(f'window "{alias.name}" does not exist', position=position(window))
    window.set("alias", None)
    for part in _PARTS:
        given = named[alias.name].args.get(part)
        if not given:
            continue
        if window.args.get(part):
            raise SyntaxRefused(
                f'cannot override the {part.split("_")[0]} of window "{alias.name}"',
                position=position(window),
            )
        window.set(part, [g.copy() for g in given] if isinstance(given, list) else given.copy())


def refuse_windows(clause: exp.Expr | None, name: str) -> None:
    """Window functions are computed after WHERE, GROUP BY and HAVING. Raises ``WindowMisplaced``."""
    if clause is None:
        return
    for found in clause.find_all(exp.Window):
        if found.parent_select is not clause.parent_select:
            continue
        raise WindowMisplaced(
            f"window functions are not allowed in {name}",
            hint="Compute it in a subquery in FROM, and compare its column outside.",
            position=position(found),
        )


def over(node: exp.Window, scope: Scope) -> Over:
    """Compile what stands behind OVER. Raises a ``Refusal``."""
    if any(w is not node and w.parent_select is node.parent_select for w in node.find_all(exp.Window)):
        raise WindowMisplaced("window function calls cannot be nested", position=position(node))
    keys = [compile_expression(p, scope) for p in node.args.get("partition_by") or ()]
    partition = [k.sql for k in keys if not k.is_constant]
    order = node.args.get("order")
    entries = [
        (e, compile_expression(e.this, scope)) for e in (order.expressions if order is not None else ())
    ]
    frame, last = _frame(node.args.get("spec"), entries, node, scope)
    held = [v.sql for _, v in entries[:-1]] + [last] if entries else []
    ordered = [
        nodes.Ordered(sql, descending=bool(e.args.get("desc")), nulls_first=bool(e.args.get("nulls_first")))
        for (e, v), sql in zip(entries, held, strict=True)
        if not v.is_constant
    ]

    def behind(call: nodes.Call) -> nodes.Expr:
        return nodes.Window(call, tuple(partition), tuple(ordered), frame)

    return behind


_ENDS = frozenset({"UNBOUNDED", "CURRENT ROW"})


def _frame(
    spec: exp.WindowSpec | None, entries: list[tuple[exp.Expr, Typed]], node: exp.Expr, scope: Scope
) -> tuple[str, nodes.Expr]:
    """The frame, and the last order expression in the form that the frame's distances are in."""
    last: nodes.Expr = entries[-1][1].sql if entries else nodes.Null()
    if spec is None:
        return "", last
    kind = str(spec.args["kind"])
    ends: dict[str, Any] = {}
    for end in ("start", "end"):
        given = spec.args.get(end)
        if isinstance(given, str) or given is None:
            if given is not None and given not in _ENDS:
                raise Unsupported(f"a frame from {given} is not supported", position=position(node))
            ends[end] = given
        elif kind == "RANGE":
            ends[end], last = _distance(given, entries, node, scope)
        else:
            ends[end] = duck.integer(_whole(given, scope, f"{kind} frame"))
    start, end = (_end(ends[end], spec.args.get(f"{end}_side")) for end in ("start", "end"))
    return f"{kind} BETWEEN {start} AND {end}", last


def _end(distance: object, side: object) -> str:
    if distance is None:
        return "CURRENT ROW"
    written = duck.text(distance) if isinstance(distance, nodes.Expr) else str(distance)
    return f"{written} {side}" if side else written


def _whole(node: exp.Expr, scope: Scope, place: str) -> int:
    """A constant number of rows; 0 while a parameter is still open."""
    takes = f"a {place} takes a constant whole number"
    return whole_constant(node, scope, takes, f"a {place} must not begin or end at a negative number")


def _distance(
    given: exp.Expr, entries: list[tuple[exp.Expr, Typed]], node: exp.Expr, scope: Scope
) -> tuple[nodes.Expr, nodes.Expr]:
    """How far a RANGE frame reaches, and the order expression in the same form."""
    if len(entries) != 1:
        raise WindowMisplaced(
            "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
            position=position(node),
        )
    key = entries[0][1]
    if isinstance(given, exp.Interval):
        by = read_interval(given)
        if not key.is_moment:
            raise TypeMismatch(
                "an INTERVAL frame needs ORDER BY a date or timestamp", position=position(node)
            )
        if min(by.months, by.days, by.microseconds) < 0:
            raise InvalidParameter(
                "a RANGE frame must not begin or end at a negative number", position=position(node)
            )
        none = duck.call("to_days", duck.integer(0))
        return moved_sql(none, by), key.sql
    reach = settle(compile_expression(given, scope), key.type, scope, given)
    if not (key.is_number and reach.is_number and (reach.is_constant or reach.parameter is not None)):
        raise TypeMismatch(
            "a RANGE frame takes a constant of the type that it is ordered by",
            hint="Order by a number and give a number, or by a date and give an INTERVAL.",
            position=position(node),
        )
    if reach.low is not None and reach.low < 0:
        raise InvalidParameter(
            "a RANGE frame must not begin or end at a negative number", position=position(node)
        )
    wide = replace(key, sql=duck.cast(key.sql, "HUGEINT")) if key.scale is not None else key
    forms, _ = unify(node, [wide, replace(reach, is_constant=False)], scope)
    return forms[1], forms[0]


Rule = Callable[[Any, Scope], Typed]


def _ranking(name: str, fraction: bool = False) -> Rule:  # noqa: FBT001, FBT002 - one word
    def apply(node: exp.Expr, scope: Scope) -> Typed:
        del scope
        if node.args.get("expressions"):
            raise Unsupported(f"{name}() takes no argument here", position=position(node))
        kind, scale = (FLOAT8, None) if fraction else (INT8, 0)
        return Typed(duck.call(name), kind, scale, nullable=False)

    return apply


def _ntile(node: exp.Ntile, scope: Scope) -> Typed:
    return Typed(duck.call("ntile", duck.integer(_positive(node.this, scope, node, "ntile"))), INT4, 0)


def _positive(given: exp.Expr, scope: Scope, node: exp.Expr, name: str) -> int:
    """A whole number from 1; a parameter that is not bound yet counts as 1."""
    number = _whole(given, scope, f"{name}()")
    if number == 0 and not isinstance(given, exp.Parameter):
        raise InvalidParameter(f"argument of {name} must be greater than zero", position=position(node))
    return max(number, 1)


def _value(node: exp.Expr, scope: Scope) -> Typed:
    value = compile_shown(node.this, scope)
    return replace(value, nullable=True, is_constant=False, constant=None, presence=None, is_unit=False)


def _picked(name: str) -> Rule:
    def apply(node: exp.Expr, scope: Scope) -> Typed:
        value = _value(node, scope)
        return replace(value, sql=duck.call(name, value.sql))

    return apply


def _nth(node: exp.NthValue, scope: Scope) -> Typed:
    value = _value(node, scope)
    place = _positive(node.args["offset"], scope, node, "nth_value")
    return replace(value, sql=duck.call("nth_value", value.sql, duck.integer(place)))


def _shifted(name: str) -> Rule:
    """LAG and LEAD: by a constant number of rows, 1 unless given; a default, or NULL, beyond the partition."""

    def apply(node: exp.Expr, scope: Scope) -> Typed:
        value = compile_expression(node.this, scope)
        offset, default = node.args.get("offset"), node.args.get("default")
        count = _shift(offset, scope, name)
        if default is None:
            value = _value(node, scope)
            return replace(value, sql=duck.call(name, value.sql, duck.integer(count)))
        forms, shape = unify(node, [value, compile_expression(default, scope)], scope)
        return replace(shape, sql=duck.call(name, forms[0], duck.integer(count), forms[1]), nullable=True)

    return apply


def _shift(offset: exp.Expr | None, scope: Scope, name: str) -> int:
    if offset is None:
        return 1
    if isinstance(offset, exp.Neg):
        return -_whole(offset.this, scope, f"{name}()")
    return _whole(offset, scope, f"{name}()")


WINDOWS: dict[type[exp.Expr], Rule] = {
    exp.RowNumber: _ranking("row_number"),
    exp.Rank: _ranking("rank"),
    exp.DenseRank: _ranking("dense_rank"),
    exp.PercentRank: _ranking("percent_rank", fraction=True),
    exp.CumeDist: _ranking("cume_dist", fraction=True),
    exp.Ntile: _ntile,
    exp.Lag: _shifted("lag"),
    exp.Lead: _shifted("lead"),
    exp.FirstValue: _picked("first_value"),
    exp.LastValue: _picked("last_value"),
    exp.NthValue: _nth,
}
"""The functions that are nothing without OVER."""
