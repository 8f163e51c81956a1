"""Subqueries grouped by the privacy key: a table of people, one row for each, as long as nothing else is grouped by.

A person's value is computed from that person's rows alone. Sums and counts are put inside what MAX ROWS rows can reach
instead of cutting the rows first: nobody's value leaves its bounds, and those who have no more rows lose nothing.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.argument import Argument, argument
from dpproxy.aggregates.average import mean_type
from dpproxy.aggregates.sum import sum_type
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean, compile_expression, compile_shown
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.spoken import construct
from dpproxy.analysis.typed import Typed
from dpproxy.planner.keys.computation import ExpressionPart, Keys, image_of, picked
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.derive import derived_field, derived_scan, refuse_cut, rows_select
from dpproxy.planner.rows.fields import Computed, Field
from dpproxy.planner.rows.relation import JoinedRows, Scan
from dpproxy.planner.select_list import SelectItem, grouped, items
from dpproxy.values.errors import GroupingError, TypeMismatch, Unsupported
from dpproxy.values.pgtypes import BOOL, INT8, NUMERIC, Column


def group_nodes(select: exp.Select, rows: JoinedRows) -> list[exp.Expr]:
    """What is grouped by: places in the SELECT list and aliases resolved; the list itself under DISTINCT."""
    listed = items(select)
    if select.args.get("distinct") is not None:
        return [item.node.unnest() for item in listed]
    group = select.args.get("group")
    return [grouped(node, listed, rows.knows) for node in (group.expressions if group is not None else ())]


def key_columns(keys: Sequence[exp.Expr], rows: JoinedRows) -> list[exp.Column]:
    """The nodes that are key columns of protected items: each has the rows of one unit only."""
    found = []
    for node in keys:
        if type(node) is not exp.Column:
            continue
        candidates = list(rows.candidates(node))
        if len(candidates) == 1 and candidates[0][1].link is not None and candidates[0][0].unit is not None:
            found.append(node)
    return found


def people(rows: JoinedRows, select: exp.Select, alias: str, planning: Planning) -> Scan:
    """GROUP BY with the privacy key, or a reference, among the keys: groups of one unit each."""
    refuse_cut(select)
    if rows.unit is None:
        raise AssertionError("rows with a key have a unit")
    groups, inside = _group_columns(group_nodes(select, rows), rows, planning)
    unit = duck.named(rows.unit, planning.reserve("unit"))
    calls = _Calls(rows, planning, groups)
    listed = [_item(item, calls, planning) for item in items(select)]
    having = select.args.get("having")
    condition = compile_boolean(having.this, calls.scope()).sql if having is not None else None
    inner = rows_select(rows, [*inside, unit, *calls.expressions])
    places = tuple(nodes.Number(str(i + 1)) for i in range(len(inside) + 1))
    outer = nodes.Select(
        tuple(duck.named(held, field.column.name) for held, field in listed),
        nodes.Subquery(replace(inner, group=places), planning.reserve("t")),
        where=condition,
    )
    # Where an outer join fills the key with NULL, one unit has two groups.
    direct = len(groups) == 1 and all(_is_unit(f) and f.column.not_null for _, f in groups.values())
    alone = replace(rows, unit=duck.column(unit.name))
    alone = replace(alone, most=1, groups=1, held=True) if direct else alone
    return derived_scan(alone, outer, [field for _, field in listed], alias, planning)


def one_person(rows: JoinedRows, select: exp.Select, planning: Planning) -> Typed:
    """The value of a subquery over the rows of one unit, which its conditions equate with a row around it."""
    refuse_cut(select)
    listed = items(select)
    if len(listed) != 1 or select.args.get("group") is not None:
        raise Unsupported(
            "a subquery about one person needs one aggregate, without GROUP BY", position=position(select)
        )
    calls = _Calls(rows, planning, {})
    typed = compile_expression(listed[0].node, calls.scope())
    if not calls.expressions:
        raise Unsupported(
            "a subquery for one value needs an aggregate",
            hint="Write max(x) instead of x.",
            position=position(listed[0].node),
        )
    inner = nodes.Subquery(rows_select(rows, calls.expressions), planning.reserve("t"))
    outer = nodes.Select((typed.sql,), inner)
    return replace(typed, sql=nodes.Scalar(outer), nullable=True, presence=None, is_constant=False)


def _is_unit(field: Field) -> bool:
    return bool(getattr(field, "is_unit", False))


Groups = dict[exp.Expr, tuple[nodes.ColumnRef, Field]]


def _group_columns(
    keys: Sequence[exp.Expr], rows: JoinedRows, planning: Planning
) -> tuple[Groups, list[nodes.Expr]]:
    """By node: the column of the inner SELECT that holds it and the field; and these columns."""
    groups: Groups = {}
    inside: list[nodes.Expr] = []
    for node in keys:
        if isinstance(node, exp.AggFunc):
            raise GroupingError("aggregate functions are not allowed in GROUP BY", position=position(node))
        if node in groups:
            continue
        name = node.name if type(node) is exp.Column else "key"
        held, field = derived_field(SelectItem(node, name), rows, planning)
        inside.append(duck.named(held, field.column.name))
        groups[node] = (duck.column(field.column.name), field)
    return groups, inside


class _Calls:
    """The aggregate calls of a per-person SELECT, each a column of the inner one."""

    def __init__(self, rows: JoinedRows, planning: Planning, groups: Groups) -> None:
        self.rows = rows
        self.planning = planning
        self.groups = groups
        self.expressions: list[nodes.Expr] = []
        self._known: dict[exp.Expr, Typed] = {}

    def scope(self) -> Scope:
        """Group columns and calls; nothing else of a row is left."""
        return Scope(ExpressionLevel.ROW, self._leaf, self.planning.parameters)

    def _leaf(self, node: exp.Expr) -> Typed | None:
        if node in self.groups:
            held, field = self.groups[node]
            del held
            return field.read(_as_column(node, field))
        if type(node) in CALLS or type(node) is exp.Filter:
            if node not in self._known:
                self._known[node] = self._call(node)
            return self._known[node]
        if isinstance(node, exp.AggFunc):
            raise Unsupported(
                f"{construct(node)} of one person's rows is not answered",
                hint="Per person: count, sum, avg, min, max, bool_and and bool_or.",
                position=position(node),
            )
        if type(node) is exp.Column:
            self.rows.field(node)
            raise GroupingError(
                f'column "{node.name}" must appear in the GROUP BY clause or be used in an aggregate function',
                position=position(node),
            )
        return self._subquery(node)

    def _subquery(self, node: exp.Expr) -> Typed | None:
        """A subquery beside the aggregates: the row around it is there no more."""
        found = self.rows.inner(node, self.rows)
        own = {c.name for s in self.rows.scans for c in (*s.content, s.unit) if c is not None}
        if found is not None and any(c.name in own for c in found.sql.find_all(nodes.ColumnRef)):
            raise Unsupported(
                "a subquery beside one person's aggregates does not see the rows they are of",
                hint="Put the condition into WHERE, or into the query around this one.",
                position=position(node),
            )
        return found

    def _call(self, node: exp.Expr) -> Typed:
        call = person_call(node, self.rows.scope(self.planning.parameters), self.rows.most)
        rule = CALLS.get(type(call.node))
        if rule is None:
            raise Unsupported(
                f"{construct(call.node)} of one person's rows is not answered", position=position(call.node)
            )
        name = self.planning.reserve("a")
        typed = rule(call)
        self.expressions.append(duck.named(typed.sql, name))
        return replace(typed, sql=duck.column(name), presence=None)

    def keys(self, node: exp.Expr, name: str, typed: Typed) -> Keys:
        """What an expression over group columns and calls can be."""
        return image_of(node, name, typed, self._part, self.scope())

    def _part(self, node: exp.Expr) -> ExpressionPart | None:
        if node in self.groups:
            _, field = self.groups[node]
            return ExpressionPart(field.read(_as_column(node, field)), lambda at: field.key(at).values)
        if node not in self._known:
            return None
        typed, call = self._known[node], node.this if type(node) is exp.Filter else node
        if type(call) in (exp.Min, exp.Max):
            return ExpressionPart(
                typed, picked(call.this, self.rows, self.planning, may_miss=call is not node)
            )
        return ExpressionPart(typed)


def _as_column(node: exp.Expr, field: Field) -> exp.Column:
    return node if type(node) is exp.Column else exp.column(field.name)


def _item(item: SelectItem, calls: _Calls, planning: Planning) -> tuple[nodes.Expr, Field]:
    node = item.node.unnest()
    if node in calls.groups:
        held, field = calls.groups[node]
        column = Column(planning.reserve(item.name), field.column.type, field.column.not_null)
        return held, field.moved(item.name, column)
    typed = compile_shown(item.node, calls.scope())
    name = planning.reserve(item.name.replace("?", "") or "c")
    column = Column(name, typed.type, not typed.nullable)
    return typed.sql, Computed(item.name, column, typed, calls.keys(node, item.name, typed))


Over = Callable[[nodes.Call], nodes.Expr]
"""Puts OVER behind a call."""


class PersonCall(Struct, frozen=True):
    """An aggregate of the rows of one person: of all, or ``over`` those of a window, which are ``most`` at most."""

    node: Any
    scope: Scope
    most: int
    over: Over | None = None
    condition: nodes.Expr | None = None
    """That of its FILTER."""

    def value(self) -> Typed:
        """The compiled operand."""
        return compile_shown(self.node.this, self.scope)

    def made(self, name: str, value: nodes.Expr, *, distinct: bool = False) -> nodes.Expr:
        """The engine's call, of the rows that the condition leaves."""
        kept = value if self.condition is None else duck.case([(self.condition, value)], None)
        call = nodes.Call(name, (kept,), distinct)
        return call if self.over is None else self.over(call)

    def may_miss(self, value: Typed) -> bool:
        """Whether it can be NULL, for want of a value."""
        return value.nullable or self.condition is not None or self.over is not None


def person_call(node: Any, scope: Scope, most: int, over: Over | None = None) -> PersonCall:  # noqa: ANN401
    """A call with its FILTER."""
    if type(node) is not exp.Filter:
        return PersonCall(node, scope, most, over)
    return PersonCall(node.this, scope, most, over, compile_boolean(node.expression.this, scope).sql)


def _count(call: PersonCall) -> Typed:
    this, is_distinct = call.node.this, isinstance(call.node.this, exp.Distinct)
    if is_distinct:
        if len(this.expressions) != 1:
            raise Unsupported("count(DISTINCT ...) takes one expression here", position=position(call.node))
        value = compile_shown(this.expressions[0], call.scope).sql
    elif this is None or isinstance(this, exp.Star):
        is_plain = call.condition is None and call.over is None
        value = nodes.Star() if is_plain else duck.integer(1)
    else:
        typed = call.value()
        value = typed.presence or typed.sql
    count = call.made("count", value, distinct=is_distinct)
    if call.over is None:
        count = duck.cast(duck.call("least", count, duck.integer(call.most)), "BIGINT")
    return Typed(count, INT8, 0, Fraction(0), Fraction(call.most), nullable=False)


def _steps(call: PersonCall) -> Argument:
    if isinstance(call.node.this, exp.Distinct):
        raise Unsupported("DISTINCT is answered in count() only, per person", position=position(call.node))
    return argument(call.node.this, settle(call.value(), NUMERIC, call.scope, call.node.this))


def _sum(call: PersonCall) -> Typed:
    found, most = _steps(call), call.most
    total = call.made("sum", found.sql)
    low, high = min(0, found.low * most), max(0, found.high * most)
    if call.over is None:
        total = duck.clamp(total, duck.integer(low), duck.integer(high))
    total, kind = duck.cast(total, "HUGEINT"), sum_type(found.typed.type)
    ends = low * found.unit, high * found.unit, call.may_miss(found.typed)
    if found.typed.scale is not None:
        return Typed(total, kind, found.typed.scale, *ends)
    value = duck.binary("*", duck.cast(total, "DOUBLE"), duck.double(float(found.unit)))
    return Typed(value, kind, None, *ends)


def _average(call: PersonCall) -> Typed:
    found = _steps(call)
    total, count = (duck.cast(call.made(name, found.sql), "DOUBLE") for name in ("sum", "count"))
    mean = duck.binary("/", total, duck.call("nullif", count, duck.double(0.0)))
    low, high = found.low * found.unit, found.high * found.unit
    value = duck.binary("*", mean, duck.double(float(found.unit)))
    inside = duck.clamp(value, duck.double(float(low)), duck.double(float(high)))
    kind = mean_type(found.typed.type)
    return Typed(nodes.Paren(inside), kind, None, low, high, call.may_miss(found.typed))


def _extreme(call: PersonCall) -> Typed:
    typed = call.value()
    sql = call.made("min" if type(call.node) is exp.Min else "max", typed.sql)
    nullable = call.may_miss(typed)
    return replace(typed, sql=sql, nullable=nullable, is_constant=False, constant=None, presence=None)


def _logical(name: str) -> Callable[[PersonCall], Typed]:
    def build(call: PersonCall) -> Typed:
        typed = call.value()
        if typed.type.oid != BOOL.oid:
            raise TypeMismatch(f"{name} takes a truth value", position=position(call.node))
        return Typed(call.made(name, typed.sql), BOOL, nullable=True)

    return build


CALLS: dict[type[exp.Expr], Callable[[PersonCall], Typed]] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Min: _extreme,
    exp.Max: _extreme,
    exp.LogicalAnd: _logical("bool_and"),
    exp.LogicalOr: _logical("bool_or"),
}
"""The aggregates of one person's rows."""
