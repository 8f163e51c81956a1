"""A SELECT over open relations: nothing in it is private any more, so it is compiled as it is written."""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.table import is_aggregate, opened
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean, compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.analysis.windows import refuse_windows
from dpproxy.config import settings as session
from dpproxy.planner.answer import limits, ordering, row_number
from dpproxy.planner.keys.declarations import lists_keys, refuse_counted
from dpproxy.planner.open.accuracies import Accuracies, different, with_distances
from dpproxy.planner.open.from_items import OpenRows, open_rows
from dpproxy.planner.open.grouping import Grouping, grouping
from dpproxy.planner.open.growth import copies
from dpproxy.planner.open.place import reads_release
from dpproxy.planner.open.relations import Open, OpenColumn
from dpproxy.planner.open.row_numbers import numbered
from dpproxy.planner.open.sizes import size_of_groups
from dpproxy.planner.open.subqueries import AggregateAround, Known, Subqueries
from dpproxy.planner.open.windows import window
from dpproxy.planner.planning import Planning
from dpproxy.planner.rewrites.empty import has_no_rows, has_one_row
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.planner.rows.sources import Env, FromEntry
from dpproxy.planner.select_list import SelectItem, is_star, items, unnamed
from dpproxy.planner.unique import OF_ONE_ROW, Unique, of_distinct, of_groups, of_rows
from dpproxy.values.errors import GroupingError, SyntaxRefused, UndefinedTable
from dpproxy.values.pgtypes import TEXT, UNKNOWN


class _Place(Struct, frozen=True):
    """A clause of the SELECT, and what may stand in it."""

    rows: OpenRows
    planning: Planning
    env: Env
    clause: str
    grouping: Grouping | None = None
    """None where rows are not grouped, or not yet."""
    known: Known = field(default_factory=dict)

    def scope(self) -> Scope:
        """The leaves for the expression compiler."""
        return Scope(ExpressionLevel.RELEASED, self._leaf, self.planning.parameters)

    def _leaf(self, node: exp.Expr) -> Typed | None:
        grouped = self.grouping
        if grouped is not None and node in grouped.keys:
            return replace(grouped.keys[node], nullable=True) if grouped.has_sets else grouped.keys[node]
        if type(node) is exp.Window:
            return window(node, self.scope())
        if type(node) is exp.Grouping and grouped is not None:
            return grouped.bits(node)
        if is_aggregate(node):
            return self._aggregate(node)
        if type(node) is exp.Column:
            return self._column(node)
        return Subqueries(self.planning, self.env, self._column, self.known).compiled(node, self.scope)

    def _aggregate(self, node: exp.Expr) -> Typed:
        if self.grouping is None:
            where = f"in {self.clause}" if self.clause else "inside each other"
            raise GroupingError(f"aggregate function calls are not allowed {where}")
        columns = list(node.find_all(exp.Column))
        if self.rows.around is not None and columns and all(self.rows.find(c) is None for c in columns):
            raise AggregateAround(
                "an aggregate of columns of the query around is not answered in a subquery",
                hint="Write the aggregate in the query around, or aggregate in a subquery in FROM.",
            )
        return opened(node, replace(self, grouping=None, clause="").scope())

    def _column(self, node: exp.Column) -> Typed:
        if self.grouping is None:
            return self.rows.column(node)
        found = self.rows.find(node)
        if found is None:
            return self.rows.column(node)
        if node in self.grouping.keys:  # from inside a subquery
            return self.grouping.keys[node]
        key = next(
            (
                t
                for n, t in self.grouping.keys.items()
                if type(n) is exp.Column and self.rows.find(n) is found
            ),
            None,
        )
        if key is None:
            raise GroupingError(
                f'column "{node.name}" must appear in the GROUP BY clause or be used in an aggregate function'
            )
        return key


def open_select(
    select: exp.Select, found: Sequence[FromEntry], planning: Planning, env: Env, *, top: bool = False
) -> Open:
    """Plan one SELECT over open relations. Raises a ``Refusal``.

    ``top`` where its columns are what is shown: ``dp.intervals`` adds some there.
    """
    for clause, words in (("where", "WHERE"), ("group", "GROUP BY"), ("having", "HAVING")):
        refuse_windows(select.args.get(clause), words)
    refuse_counted(select, found, env)
    inner = replace(env, around=None)

    def scope_of(rows: OpenRows) -> Scope:
        return _Place(rows, planning, inner, "JOIN conditions").scope()

    rows = open_rows(select, found, planning, scope_of, env.around)
    listed, select = _normal(select, rows)
    before = _Place(rows, planning, inner, "WHERE")
    keys = _Place(rows, planning, inner, "GROUP BY").scope()
    grouped = grouping(select, listed, rows.knows, lambda node: compile_expression(node, keys))
    scope = _Place(rows, planning, inner, "this place", grouped).scope()
    raw = [compile_expression(i.node, scope) for i in listed]
    values = [settle(v, TEXT, scope, i.node) for i, v in zip(listed, raw, strict=True)]
    where, having = select.args.get("where"), select.args.get("having")
    query = nodes.Select(
        items=tuple(duck.named(v.sql, f"c{i}") for i, v in enumerate(values)),
        source=rows.sources[0].item if rows.sources else None,
        joins=rows.joins,
        where=None if where is None else compile_boolean(where.this, before.scope()).sql,
        group=(grouped.clause or ()) if grouped is not None else (),
        having=None if having is None else compile_boolean(having.this, scope).sql,
    )
    query = replace(query, order=tuple(ordering(select, listed, values, scope)))
    query = limits(select, _distinct(select, query, listed, values, scope), scope)
    most, is_single = _bounds(select, rows, grouped, scope, planning)
    unique = OF_ONE_ROW if is_single else _unique(listed, rows, grouped)
    if unique is None and query.distinct:
        unique = of_distinct(len(values))
    further = _further([item.node.unnest() for item in listed], rows, grouped)
    is_chosen = _is_chosen(select, listed, rows, grouped, planning) or _selects(query)
    accuracies = Accuracies(
        rows,
        scope,
        planning,
        session.confidence(planning.context.settings),
        tuple(item.bare for item in listed),
        is_chosen,
        grouped is not None and grouped.clause is not None,
        most,
        top,
    )
    accuracies.note()
    found_columns = [
        _column(n, i, v, r, accuracies) for n, (i, v, r) in enumerate(zip(listed, values, raw, strict=True))
    ]
    is_bounded = top and session.intervals(planning.context.settings)
    query, values, reaches = different(query, values, [reach for _, reach in found_columns])
    held = [(column, reach) for (column, _), reach in zip(found_columns, reaches, strict=True)]
    query, columns = with_distances(query, values, held, bounded=is_bounded)
    planning.selected |= any(c.has_distance for c in columns)
    return Open(
        query, columns, reads_release(query), most, has_no_rows(select), unique, further, lists_keys(found),
        is_chosen,
    )  # fmt: skip


def _bounds(
    select: exp.Select, rows: OpenRows, grouped: Grouping | None, scope: Scope, planning: Planning
) -> tuple[int, bool]:
    """The most rows, and whether there is one at most."""
    limit = select.args.get("limit")
    if (grouped is not None and grouped.clause is None) or has_one_row(select) or not rows.sources:
        return 1, True
    sets = 2 ** min(len(grouped.keys), 6) if grouped is not None and grouped.has_sets else 1
    most = rows.rows
    if grouped is not None:
        keys = [rows.find(k) if type(k) is exp.Column else None for k in grouped.keys]
        most = size_of_groups(rows.sources, keys, most, planning)
    most *= sets
    return (most if limit is None else min(most, row_number(limit, scope))), False


def _unique(listed: Sequence[SelectItem], rows: OpenRows, grouped: Grouping | None) -> Unique:
    written = [item.node.unnest() for item in listed]
    if grouped is not None:
        return None if grouped.has_sets else of_groups(grouped.keys, written)
    return _of_one(rows, written, rows.sources[0].unique) if len(rows.sources) == 1 else None


def _of_one(rows: OpenRows, written: Sequence[exp.Expr], unique: Unique) -> Unique:
    """What is unique in the only entry of FROM, where it is written here."""
    shown = [rows.find(n) if type(n) is exp.Column else None for n in written]
    return of_rows(unique, rows.sources[0].columns, shown)


def _further(written: Sequence[exp.Expr], rows: OpenRows, grouped: Grouping | None) -> Unique:
    """What a window numbers here, or in the only entry of FROM."""
    only = rows.sources[0] if grouped is None and len(rows.sources) == 1 else None

    def are_unique(told: Sequence[exp.Expr]) -> bool:
        if grouped is not None:
            return not grouped.has_sets and all(key in told for key in grouped.keys)
        return only is not None and _of_one(rows, told, only.unique) is not None

    def place_of(part: exp.Expr) -> int | None:
        column = rows.find(part) if type(part) is exp.Column else None
        for place, node in enumerate(written):
            is_named = column is not None and type(node) is exp.Column and rows.find(node) is column
            if is_named or node == part:
                return place
        return None

    found = numbered(written, place_of, are_unique)
    return _of_one(rows, written, only.further) if found is None and only is not None else found


def _selects(query: nodes.Select) -> bool:
    """Whether a subquery over released values may decide which rows there are, or which are in one group."""
    is_cut = query.limit is not None or query.offset is not None or bool(query.distinct_on)
    clauses = [
        query.where,
        query.having,
        *(join.on for join in query.joins),
        *query.distinct_on,
        *query.group,
    ]
    clauses += [entry.value for entry in query.order] if is_cut else []
    clauses += query.items if query.distinct else ()
    return any(clause is not None and clause.has(nodes.Release) for clause in clauses)


def _is_chosen(
    select: exp.Select,
    listed: Sequence[SelectItem],
    rows: OpenRows,
    grouped: Grouping | None,
    planning: Planning,
) -> bool:
    """Whether noise may decide which rows there are, or which are in one group.

    Values of a query around it may be released, and the order of a relation, which LIMIT cuts, may follow from them.
    """
    if any(source.chosen for source in rows.sources):
        return True
    noisy = {c.name for source in rows.sources for c in source.columns if c.accuracy is not None}
    distinct = select.args.get("distinct")
    is_cut = any(select.args.get(a) is not None for a in ("limit", "offset")) or bool(
        distinct is not None and distinct.args.get("on")
    )
    names = ("where", "group", "having", *(("order",) if is_cut else ()))
    joins = _parts(select.args.get("joins"))
    parts = [part for name in names for part in _parts(select.args.get(name))]
    parts += [part for join in joins for part in _of_join(join)]
    parts += [item.node for item in listed] if distinct else []
    parts += list(grouped.keys) if grouped is not None else []
    is_natural = any(join.args.get("method") for join in joins)
    is_inside = rows.around is not None and bool(planning.drafts)
    sees_around = is_inside and any(
        type(n) is exp.Column and rows.find(n) is None for part in parts for n in own_nodes(part)
    )
    return (
        sees_around
        or ((is_natural or is_cut) and bool(noisy))
        or any(n.name in noisy for part in parts for n in part.find_all(exp.Column, exp.Identifier))
    )


def _of_join(join: exp.Expr) -> list[exp.Expr]:
    """What of a join may see rows beside it: its condition, and what is no relation by itself."""
    is_alone = type(join.this) in (exp.Subquery, exp.Table)
    return [*_parts(join.args.get("on")), *_parts(join.args.get("using")), *([] if is_alone else [join.this])]


def _parts(clause: exp.Expr | list[exp.Expr] | None) -> list[exp.Expr]:
    return clause if isinstance(clause, list) else [clause] if clause is not None else []


def _column(
    index: int, item: SelectItem, value: Typed, raw: Typed, accuracies: Accuracies
) -> tuple[OpenColumn, nodes.Expr | None]:
    """A released count stays a count where it is passed on as it is. With the distance of each row, if it has one."""
    held = replace(value, sql=duck.column(f"c{index}"), is_constant=False, constant=None, presence=None)
    literal = raw if raw.type is UNKNOWN and raw.parameter is None else None
    node = item.bare
    rows = accuracies.rows
    most = copies(node, held, rows.find)
    if type(node) is exp.Column:
        origin = rows.find(node)
        if origin is not None:
            accuracy = origin.accuracy
            if accuracy is not None:
                noise = accuracy.noise if len(rows.sources) == 1 else None  # a join may repeat a row
                accuracy = replace(accuracy, chosen=accuracy.chosen or accuracies.chosen, noise=noise)
            column = OpenColumn(
                item.name,
                held,
                origin.floor,
                origin.error,
                ceiling=origin.ceiling,
                accuracy=accuracy,
                within=origin.within,
                copies=most,
            )
            return column, None if accuracies.grouped else origin.reach
    accuracy, reach = accuracies.of(node, value)
    within = accuracies.within(node)
    return OpenColumn(item.name, held, literal=literal, accuracy=accuracy, within=within, copies=most), reach


def _normal(select: exp.Select, rows: OpenRows) -> tuple[tuple[SelectItem, ...], exp.Select]:
    """The SELECT list without stars, and a copy of the SELECT in which one column is written one way.

    A bare name in ORDER BY is a column of the SELECT list first.
    """
    copy = select.copy()
    named = items(select)
    names = {item.name for item in named}
    order = copy.args.get("order")
    kept = [
        e for e in (order.expressions if order is not None else ())
        if type(e.this) is exp.Column and not e.this.table and e.this.name in names
    ]  # fmt: skip
    bare = [(e, e.this.copy()) for e in kept]
    rows.normal(copy)
    for entry, name in bare:
        entry.set("this", name)
    listed: list[SelectItem] = []
    for item, entry in zip(named, copy.expressions, strict=True):
        if is_star(item.node):
            listed += _star(item.node, rows)
        else:
            listed.append(SelectItem(unnamed(entry), item.name))
    return tuple(listed), copy


def _star(node: exp.Expr, rows: OpenRows) -> list[SelectItem]:
    table = node.table if isinstance(node, exp.Column) else ""
    if table and all(s.alias != table for s in rows.sources):
        raise UndefinedTable(f'missing FROM-clause entry for table "{table}"', position=position(node))
    if not rows.sources:
        raise SyntaxRefused("SELECT * with no tables specified is not valid", position=position(node))
    return [SelectItem(written, column.name) for written, column in rows.listed(table)]


def _distinct(
    select: exp.Select,
    query: nodes.Select,
    listed: Sequence[SelectItem],
    values: Sequence[Typed],
    scope: Scope,
) -> nodes.Select:
    distinct = select.args.get("distinct")
    if distinct is None:
        return query
    on = distinct.args.get("on")
    if on is None:
        shown = {v.sql for v in values}
        if any(e.value not in shown for e in query.order):
            raise SyntaxRefused(
                "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                position=position(select),
            )
        return replace(query, distinct=True)
    keys = exp.Select(
        expressions=[], order=exp.Order(expressions=[exp.Ordered(this=e) for e in on.expressions])
    )
    chosen = [e.value for e in ordering(keys, listed, values, scope)]
    if query.order and {e.value for e in query.order[: len(chosen)]} != set(chosen):
        raise SyntaxRefused(
            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions", position=position(on)
        )
    return replace(query, distinct_on=tuple(chosen))
