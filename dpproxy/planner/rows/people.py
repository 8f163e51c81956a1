"""Subqueries grouped by the privacy key: a table of people, one row for each, as long as nothing else is grouped by.

A person's value is computed from that person's rows alone. Sums and counts are put inside what MAX ROWS rows can reach
instead of cutting the rows first: nobody's value leaves its bounds, and those who have no more rows lose nothing.
"""

from collections.abc import Sequence

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.table import is_of_person, listed, of_person
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean, compile_expression, compile_shown
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
from dpproxy.values.errors import GroupingError, Unsupported
from dpproxy.values.pgtypes import Column


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
        if is_of_person(node):
            if node not in self._known:
                self._known[node] = self._call(node)
            return self._known[node]
        if isinstance(node, exp.AggFunc):
            raise Unsupported(
                f"{construct(node)} of one person's rows is not answered",
                hint=f"Per person: {listed(lambda f: f.person)}.",
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
        name = self.planning.reserve("a")
        typed = of_person(node, self.rows.scope(self.planning.parameters), self.rows.most)
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
