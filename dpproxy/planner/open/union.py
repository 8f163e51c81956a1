"""Set operations over open relations, and ORDER BY, LIMIT and OFFSET of a query as a whole."""

from collections.abc import Sequence

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.figures import later
from dpproxy.algebra.plan import Accuracy, Error
from dpproxy.analysis import duck
from dpproxy.analysis.comparison import unify
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.config import settings as session
from dpproxy.planner.answer import UNPROVED, limits, row_number
from dpproxy.planner.open.accuracies import merged, with_distances
from dpproxy.planner.open.relations import Open, OpenColumn, farther
from dpproxy.planner.open.row_numbers import tagged
from dpproxy.planner.planning import Planning
from dpproxy.planner.rewrites.empty import has_no_rows
from dpproxy.planner.select_list import ordinal
from dpproxy.planner.unique import of_copies, of_distinct
from dpproxy.values.errors import SyntaxRefused, UndefinedColumn, Unsupported


def open_union(
    query: exp.SetOperation, left: Open, right: Open, planning: Planning, *, top: bool = False
) -> Open:
    """UNION, INTERSECT and EXCEPT of open relations; bounded where they are what is shown. Raises 42601, 42804."""
    if len(left.columns) != len(right.columns):
        raise SyntaxRefused(
            f"each {type(query).__name__.upper()} query must have the same number of columns",
            position=position(query.expression),
        )
    scope = _scope(planning)
    first: list[nodes.Expr] = []
    second: list[nodes.Expr] = []
    columns: list[OpenColumn] = []
    distinct, is_union = bool(query.args.get("distinct")), type(query) is exp.Union
    for place, (a, b) in enumerate(zip(left.columns, right.columns, strict=True)):
        forms, shape = unify(query, [a.literal or a.typed, b.literal or b.typed], scope)
        shown = replace(_plain(shape), sql=duck.column(f"c{place}"))
        columns.append(_of_both(a, b, shown, chosen=distinct or not is_union))
        first.append(forms[0])
        second.append(forms[1])
    changed = [
        at
        for at, (column, form) in enumerate(zip(left.columns, first, strict=True))
        if form != column.typed.sql
    ]
    for place, (a, b) in enumerate(zip(left.columns, right.columns, strict=True)):
        if _differs(a, b) and not is_union:
            columns[place] = replace(columns[place], accuracy=_of_all(columns[place].accuracy))
        elif _differs(a, b):
            columns[place] = replace(columns[place], reach=duck.column(f"c{len(first)}"))
            first.append(_reach(a))
            second.append(_reach(b))
    reaches = [f"c{n}" for n in range(len(columns), len(first))]
    word = f"{type(query).__name__.upper()}{'' if distinct and not reaches else ' ALL'}"
    combined: nodes.Query = nodes.Combined(word, _side(left, first), _side(right, second))
    combined = merged(combined, len(columns), reaches) if distinct and reaches else combined
    rows = left.rows + right.rows if is_union else left.rows
    unique = of_distinct(len(columns)) if distinct else None if is_union else of_copies(left.unique, changed)
    further = tagged(query, left, right) if is_union and not distinct else None
    released = left.released or right.released
    empty = left.empty and (right.empty or not is_union)
    declared = released and all(side.declared or not side.released for side in (left, right))
    is_noisy = any(c.accuracy is not None for c in columns)
    found = Open(
        combined,
        tuple(columns),
        released,
        rows,
        empty,
        unique=unique,
        further=further,
        declared=declared,
        chosen=left.chosen or right.chosen or (is_noisy and (distinct or not is_union)),
    )
    planning.selected |= top and any(c.has_distance for c in columns)
    return arranged(query, found, planning, top=top)


def _of_both(a: OpenColumn, b: OpenColumn, shown: Typed, *, chosen: bool) -> OpenColumn:
    """A column of rows of either side; ``chosen`` where their values decide which are shown."""
    accuracy = farther(a.accuracy, b.accuracy)
    return OpenColumn(
        a.name,
        shown,
        _floor(a, b),
        _error(a, b),
        ceiling=_ceiling(a, b),
        accuracy=replace(accuracy, chosen=True) if accuracy is not None and chosen else accuracy,
        within=_within(a, b),
        copies=max(a.copies, b.copies),
    )


def _error(a: OpenColumn, b: OpenColumn) -> Error | None:
    """That of both sides, or of the only one that has noise; where they differ the distance of the farther says it."""
    return later(_told, tuple(c.error for c in (a, b) if c.accuracy is not None or c.error is not None))


def _told(errors: Sequence[Error | None]) -> Error | None:
    return errors[0] if errors and all(error == errors[0] for error in errors) else None


def _differs(a: OpenColumn, b: OpenColumn) -> bool:
    """Whether rows of a column are off by distances that are known of each, and differ."""
    are_known = all(c.accuracy is None or c.has_distance for c in (a, b))
    return are_known and (a.reach is not None or b.reach is not None or _half(a) != _half(b))


def _half(column: OpenColumn) -> float | None:
    return 0.0 if column.accuracy is None else column.accuracy.half


def _reach(column: OpenColumn) -> nodes.Expr:
    half = _half(column)
    return column.reach or duck.double(0.0 if half is None else half)


def _of_all(accuracy: Accuracy | None) -> Accuracy | None:
    """Where rows are not told apart by their distances."""
    return UNPROVED if accuracy is not None and accuracy.half is None else accuracy


def _scope(planning: Planning) -> Scope:
    return Scope(ExpressionLevel.RELEASED, lambda _: None, planning.parameters)


def _plain(shape: Typed) -> Typed:
    return replace(shape, is_constant=False, constant=None, presence=None, is_unit=False)


def _floor(a: OpenColumn, b: OpenColumn) -> int | None:
    """0 where one side is a released count and the other cannot be negative."""
    kept = all(c.floor == 0 or (c.typed.low is not None and c.typed.low >= 0) for c in (a, b))
    return 0 if kept and 0 in (a.floor, b.floor) else None


def _within(a: OpenColumn, b: OpenColumn) -> tuple[float, float] | None:
    """What both sides are within."""
    if a.within is None or b.within is None:
        return None
    return min(a.within[0], b.within[0]), max(a.within[1], b.within[1])


def _ceiling(a: OpenColumn, b: OpenColumn) -> int | None:
    """The larger one, where both sides have one."""
    return None if a.ceiling is None or b.ceiling is None else max(a.ceiling, b.ceiling)


def _side(relation: Open, forms: Sequence[nodes.Expr]) -> nodes.Select:
    items = tuple(duck.named(form, f"c{i}") for i, form in enumerate(forms))
    return nodes.Select(items, nodes.Subquery(relation.query, nodes.Bare("side")))


def arranged(node: exp.Expr, found: Open, planning: Planning, *, top: bool = False) -> Open:
    """The relation under the ORDER BY, LIMIT and OFFSET that stand behind it. Raises 0A000, 42703, 42601.

    With the bounds of its columns where they are what is shown, and bounds are asked for.
    """
    bounded = top and session.intervals(planning.context.settings)
    bounded = bounded and any(c.accuracy is not None for c in found.columns)
    if not bounded and not any(node.args.get(a) is not None for a in ("order", "limit", "offset")):
        return found
    names = [duck.column(f"c{i}", "whole") for i in range(len(found.columns))]
    order, scope = node.args.get("order"), _scope(planning)
    query = nodes.Select(
        tuple(duck.named(n, f"c{i}") for i, n in enumerate(names)),
        nodes.Subquery(found.query, nodes.Bare("whole")),
        order=tuple(_entry(e, found, names) for e in (order.expressions if order is not None else ())),
    )
    values = [replace(c.typed, sql=name) for c, name in zip(found.columns, names, strict=True)]
    reaches = [None if c.reach is None else replace(c.reach, table="whole") for c in found.columns]
    query, columns = with_distances(
        query, values, list(zip(found.columns, reaches, strict=True)), bounded=bounded
    )
    limit = node.args.get("limit")
    is_cut = limit is not None or node.args.get("offset") is not None
    rows = found.rows if limit is None else min(found.rows, row_number(limit, scope))
    return replace(
        found,
        query=limits(node, query, scope),
        columns=columns,
        rows=rows,
        empty=found.empty or has_no_rows(node),
        chosen=found.chosen or (is_cut and any(c.accuracy is not None for c in found.columns)),
    )


def _entry(entry: exp.Ordered, found: Open, names: Sequence[nodes.ColumnRef]) -> nodes.Ordered:
    node = entry.this.unnest()
    place = None
    if isinstance(node, exp.Literal) and not node.is_string:
        place = ordinal(node, len(names), "ORDER BY")
    elif type(node) is exp.Column and not node.table:
        place = next((i for i, c in enumerate(found.columns) if c.name == node.name), None)
        if place is None:
            raise UndefinedColumn(f'column "{node.name}" does not exist', position=position(node))
    if place is None:
        raise Unsupported(
            "ORDER BY of a set operation takes names of its columns, not expressions",
            hint="Put the set operation into FROM, and ORDER BY around it.",
            position=position(node),
        )
    return nodes.Ordered(
        names[place], descending=bool(entry.args.get("desc")), nulls_first=bool(entry.args.get("nulls_first"))
    )
