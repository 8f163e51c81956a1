"""Window functions over the rows of one privacy unit: a transformation of each person's rows, apart from all others.

PARTITION BY holds the privacy key, so that no row decides about rows of others; the resolved unit is added to it. The
rows are those that MAX ROWS keeps. Each has a place among the rows of its unit, by a keyed hash of what it holds, alike
rows one after the other: places complete every order that decides which row comes first. So the result follows from
what the rows hold alone, not from how they are stored.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.table import of_person
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression, compile_shown
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.totality import is_frame
from dpproxy.analysis.typed import Typed
from dpproxy.analysis.windows import WINDOWS, over
from dpproxy.planner.keys.computation import ExpressionPart, Keys, image_of, picked
from dpproxy.planner.planning import Planning
from dpproxy.planner.rewrites.ties import is_of_ties
from dpproxy.planner.rows.conditions import conjuncts
from dpproxy.planner.rows.derive import derived_field, derived_scan, expanded, refuse_cut, rows_select
from dpproxy.planner.rows.fields import Computed, Field, Identifier
from dpproxy.planner.rows.people import key_columns
from dpproxy.planner.rows.relation import JoinedRows, Scan, own_nodes
from dpproxy.planner.rows.truncation import places
from dpproxy.planner.select_list import SelectItem
from dpproxy.values.errors import Refusal, UnitLost, Unsupported
from dpproxy.values.pgtypes import Column

SEEN = "window functions see the rows that are kept: the first row of a person is the first of these"
_FARTHEST = 10**6
"""Rows that a frame reaches, or lag() goes back: no unit has more."""
_PEERS = (exp.Rank, exp.DenseRank)
"""Rows that the order leaves equal are equal to them: no place is added."""
_MAY_MISS = (exp.Lag, exp.Lead, exp.NthValue)
_OF_ONE = (*_MAY_MISS, exp.FirstValue, exp.LastValue, exp.Min, exp.Max)
"""Their value is that of one row."""
_PICKED = (exp.RowNumber, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)


def has_windows(select: exp.Select) -> bool:
    """Whether the SELECT list calls a window function."""
    return any(type(n) is exp.Window for e in select.expressions for n in own_nodes(e))


def derive_windows(rows: JoinedRows, select: exp.Select, alias: str, planning: Planning) -> Scan:
    """The rows under a SELECT list with window functions. Raises PD002 where one sees rows of several units."""
    refuse_cut(select)
    node = next(n for e in select.expressions for n in own_nodes(e) if type(n) is exp.Window)
    if rows.unit is None:
        raise UnitLost(
            "each row is a privacy unit of its own here: a window function would see rows of others",
            hint=f"SELECT count(*) FROM {rows.sources[0]};",  # noqa: S608 - a hint
            position=position(node),
        )
    place = planning.reserve("place")
    numbered = rows_select(rows, [nodes.Star(), duck.named(places(rows.unit, rows.content), place)])
    windows = _Windows(rows, planning, rows.unit, duck.column(place))
    expressions: list[nodes.Expr] = []
    fields: list[Field] = []
    for item in expanded(select, rows):
        held, shown = windows.field(item)
        expressions.append(duck.named(held, shown.column.name))
        fields.append(shown)
    kept = None if rows.held else nodes.Binary("<=", duck.column(place), duck.integer(rows.most))
    outer = nodes.Select(tuple(expressions), nodes.Subquery(numbered, planning.reserve("t")), where=kept)
    planning.cuts += [SEEN] if SEEN not in planning.cuts else []
    return derived_scan(replace(rows, held=True), outer, fields, alias, planning)


class _Windows(Struct):
    """The window functions of one SELECT list over rows of which no unit has more than it may."""

    rows: JoinedRows
    planning: Planning
    unit: nodes.Expr
    place: nodes.Expr
    parts: dict[exp.Expr, ExpressionPart] = field(default_factory=dict)

    def field(self, item: SelectItem) -> tuple[nodes.Expr, Field]:
        """What holds one entry of the list, and the column it becomes."""
        node = item.node.unnest()
        if not any(type(n) is exp.Window for n in own_nodes(node)):
            return derived_field(item, self.rows, self.planning)
        scope = Scope(ExpressionLevel.ROW, self._leaf, self.planning.parameters)
        typed = compile_shown(node, scope)
        column = Column(self.planning.reserve(item.name), typed.type, not typed.nullable)
        keys = image_of(node, item.name, typed, self._part, scope)
        shown = Computed(item.name, column, typed, keys, numbers=self._numbers(node))
        return typed.sql, shown

    def _numbers(self, node: exp.Expr) -> bool:
        """Whether it tells the rows of one unit apart: 1, 2 and so on."""
        is_number = type(node) is exp.Window and type(node.this) is exp.RowNumber
        return is_number and not self._further(node)

    def _further(self, node: exp.Expr) -> list[exp.Expr]:
        """What is partitioned by besides the privacy unit."""
        listed = node.args.get("partition_by") or []
        units = [n for n in key_columns(listed, self.rows) if getattr(self.rows.field(n), "is_unit", False)]
        return [n for n in listed if n not in units]

    def _part(self, node: exp.Expr) -> ExpressionPart | None:
        if type(node) is not exp.Column:
            return self.parts.get(node)
        found = self.rows.field(node)
        return ExpressionPart(found.read(node), lambda at: found.key(at).values)

    def _leaf(self, node: exp.Expr) -> Typed | None:
        if type(node) is not exp.Window:
            return self.rows.leaf(node)
        if node not in self.parts:
            typed = self._window(node)
            self.parts[node] = ExpressionPart(typed, self._keys(node))
        return self.parts[node].typed

    def _ordered_leaf(self, node: exp.Expr) -> Typed | None:
        """What stands in OVER: keys part and order the rows of one person like anything else that these hold."""
        if type(node) is exp.Column and isinstance(node.parent, exp.Ordered | exp.Window):
            shown = self.rows.field(node)
            if isinstance(shown, Identifier):
                return Typed(duck.column(shown.column.name), shown.column.type)
        return self.rows.leaf(node)

    def _keys(self, node: exp.Window) -> Keys | None:
        called = node.this
        if not isinstance(called, _OF_ONE) or called.args.get("default") is not None:
            return None
        may_miss = isinstance(called, _MAY_MISS) or node.args.get("spec") is not None
        return picked(called.this, self.rows, self.planning, may_miss=may_miss)

    def _window(self, node: exp.Window) -> Typed:
        listed = node.args.get("partition_by") or []
        keys = key_columns(listed, self.rows)
        if not keys and is_of_ties(node):
            raise UnitLost(
                "FETCH FIRST of protected rows would let one row decide about others",
                hint="Leave out FETCH FIRST.",
                position=position(node),
            )
        if not keys:
            key = self._key()
            raise UnitLost(
                "a window function over rows sees the rows of one privacy unit only",
                hint=f"Write OVER (PARTITION BY {key}): one window for each {key}."
                if key is not None and not key.startswith("#")  # of an aggregate's rows it has no name
                else "Put people into ranges of the value with CASE or width_bucket."
                if key is not None
                else "Release the rows first: window functions over released values see all of them.",
            )
        bare = node.copy()
        bare.set(
            "partition_by", [n.copy() for n in listed if n not in keys or not _is_plain_key(self.rows, n)]
        )
        scope = Scope(ExpressionLevel.ROW, self._ordered_leaf, self.planning.parameters)
        behind = over(bare, scope)
        function = bare.this
        if isinstance(function, (*_PICKED, *_PEERS)):
            typed = WINDOWS[type(function)](function, scope)
            call = _call(typed.sql, node)
            typed = replace(typed, **_range(self.rows.most)) if not function.args.get("this") else typed
            return replace(typed, sql=self._over(behind, call, function), presence=None, is_constant=False)
        return of_person(function, scope, self.rows.most, lambda call: self._over(behind, call, function))

    def _key(self) -> str | None:
        """The privacy key as it is written: the person's, before a row's own."""
        found = [f for s in self.rows.scans if s.unit is not None for f in s.fields if f.link is not None]
        return next((f.name for f in sorted(found, key=lambda f: not getattr(f, "is_unit", False))), None)

    def _over(
        self, behind: Callable[[nodes.Call], nodes.Expr], call: nodes.Call, function: exp.Expr
    ) -> nodes.Expr:
        """The call over the rows of one unit, in an order that is total where it decides."""
        made = behind(call)
        if not isinstance(made, nodes.Window) or not is_frame(made.frame):
            raise Unsupported(
                "a frame of this form is not answered over rows",
                hint="Write ROWS BETWEEN n PRECEDING AND CURRENT ROW, or leave the frame out.",
                position=position(function),
            )
        counts = made.frame.startswith("ROWS") or isinstance(function, _PICKED)
        order = (*made.order, nodes.Ordered(self.place)) if counts else made.order
        return replace(made, partition=(self.unit, *made.partition), order=order)


def _is_plain_key(rows: JoinedRows, node: exp.Expr) -> bool:
    return getattr(rows.field(node), "is_unit", False)  # type: ignore[arg-type]


def _call(sql: nodes.Expr, node: exp.Expr) -> nodes.Call:
    if not isinstance(sql, nodes.Call):
        raise TypeError("a window function is a call")
    numbers = [a for a in sql.arguments[1:2] if isinstance(duck.bare(a), nodes.Number | nodes.Negative)]
    if any(abs(int(duck.text(duck.bare(a)))) > _FARTHEST for a in numbers):
        raise Unsupported(
            f"a distance of more than {_FARTHEST} rows is not answered",
            hint="No unit has more rows than that: leave the function out, it is NULL.",
            position=position(node),
        )
    return sql


def _range(most: int) -> dict[str, Any]:
    return {"low": Fraction(1), "high": Fraction(most), "nullable": False}


def limited(rows: JoinedRows, select: exp.Select, planning: Planning) -> JoinedRows:
    """The rows of which WHERE leaves at most so many of one unit: ``rn = 1``, ``rn <= 3``.

    Only of numbers that were given to the rows of this very relation.
    """
    if len(rows.scans) != 1 or rows.unit is None:
        return rows
    known = [n for c in conjuncts(select.args.get("where")) if (n := _most(c, rows, planning)) is not None]
    most = min([rows.most, *known])
    return replace(rows, most=most, groups=min(rows.groups, most))


def _is_numbers(found: list[Field]) -> bool:
    return len(found) == 1 and isinstance(found[0], Computed) and found[0].numbers


def _most(condition: exp.Expr, rows: JoinedRows, planning: Planning) -> int | None:
    """How many rows of a unit a condition about their numbers leaves at most; None for other conditions."""
    if isinstance(condition, exp.Between):
        column, limit, less = condition.this.unnest(), condition.args["high"], 0
    elif isinstance(condition, exp.EQ | exp.LTE | exp.LT):
        column, limit, less = condition.this.unnest(), condition.expression, int(type(condition) is exp.LT)
    else:
        return None
    if type(column) is not exp.Column or not isinstance(limit.unnest(), exp.Literal | exp.Parameter):
        return None
    shown = [field for _, field in rows.candidates(column)]
    try:
        value = compile_expression(limit, rows.scope(planning.parameters))
    except Refusal:  # said where it is compiled
        return None
    if not (_is_numbers(shown) and value.is_constant and value.is_integer):
        return None
    if isinstance(condition, exp.EQ):
        return 1
    return max(1, int(value.constant) - less) if value.constant is not None else None  # type: ignore[arg-type]
