"""The exact stage: bounded integers by group, as SQL for the backend."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.keys import GroupKey, declared, inside
from dpproxy.analysis.totality import check_total
from dpproxy.planner.rows.owners import all_of
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.planner.rows.truncation import bounded, truncated
from dpproxy.values.errors import TooComplex

_ANY = nodes.ColumnRef(nodes.Bare("#"))
"""In the place of a number."""

_SUBQUERIES = frozenset((nodes.Exists, nodes.InQuery, nodes.Scalar))
MOST_SUBQUERIES = 48
"""In the conditions of one exact stage: the time in which an engine plans them grows with the cube of their number."""


class ExactQuery(Struct, frozen=True):
    """The statement and the numbers of its parameters: 1 is the truncation secret, others are released values."""

    query: nodes.Select
    parameters: frozenset[int]


def ordered(conditions: Sequence[nodes.Expr]) -> list[nodes.Expr]:
    """Each condition once, in an order of our own: the same question in another order is the same statement.

    By everything but their numbers first. Raises ``Looked`` where that leaves it to a number that nobody may look at.
    """
    if len(conditions) < 2:
        return list(conditions)
    alike: dict[str, list[nodes.Expr]] = {}
    for condition in conditions:
        others = alike.setdefault(duck.text(condition.transform(_without_number)), [])
        others += [] if condition in others else [condition]
    return [c for words in sorted(alike) for c in _by_numbers(alike[words])]


def _without_number(node: nodes.Node) -> nodes.Node | None:
    return _ANY if type(node) in (nodes.Number, nodes.Hole) else None


def _by_numbers(conditions: list[nodes.Expr]) -> list[nodes.Expr]:
    return conditions if len(conditions) == 1 else sorted(conditions, key=duck.text)


def source_of(rows: JoinedRows, further: Sequence[nodes.Expr] = ()) -> nodes.Select:
    """SELECT without a list over the joined rows that satisfy every condition and belong to somebody."""
    where = [*rows.present, *ordered(rows.conditions), *further]
    return nodes.Select(source=rows.scans[0].item, joins=rows.joins, where=all_of(where) if where else None)


def exact_sql(
    rows: JoinedRows,
    keys: Sequence[GroupKey],
    columns: Sequence[nodes.Named],
    groups: int | None,
    cell: nodes.Expr | None = None,
) -> ExactQuery:
    """SELECT keys, measures FROM the bounded rows GROUP BY keys.

    ``columns`` are the measures with their names. ``groups`` is the most groups a unit may touch, None for any. A
    ``cell`` is grouped by besides, and is the first of the columns.
    """
    rows = rows.where([k.present for k in keys if k.present is not None])
    if cell is not None:
        rows = rows.where([nodes.Not(nodes.IsNull(cell))])
    select, filtered = _bounded(rows, keys, groups)
    shown = [duck.named(key.raw, f"k{index}") for index, key in enumerate(keys)]
    places = tuple(duck.integer(i + 1) for i in range(len(keys) + (cell is not None)))
    select = replace(select, items=(*select.items, *shown, *columns), group=places)
    public = {c for s in rows.scans if s.owner is None and s.stage is None for c in s.content}
    unlisted = [k.is_raw and (k.in_utc or k.raw not in public) for k in keys]
    if not filtered and any(unlisted):
        select = _declared_only(select, keys, unlisted, len(columns))
    return ExactQuery(select, _parameters(select))


def rows_sql(rows: JoinedRows, columns: Sequence[tuple[nodes.Expr, str]]) -> ExactQuery:
    """SELECT columns, under names, FROM the bounded rows: what only a protected view is made of."""
    select, _ = _bounded(rows, [], None)
    named = tuple(duck.named(expression, name) for expression, name in columns)
    select = replace(select, items=(*select.items, *named))
    return ExactQuery(select, _parameters(select))


def _parameters(select: nodes.Select) -> frozenset[int]:
    """The numbers of its parameters, if engines can plan it. Raises ``TooComplex``."""
    kinds = Counter(map(type, select.walk()))
    if sum(kinds[kind] for kind in _SUBQUERIES) > MOST_SUBQUERIES:
        raise TooComplex(
            f"the conditions have more than {MOST_SUBQUERIES} subqueries",
            hint="Put several conditions into one subquery, join a table once, or write NOT EXISTS in place of NOT IN, "
            "which is up to three.",
        )
    return check_total(select)


def measured(measures: Sequence[nodes.Expr]) -> list[nodes.Named]:
    """The columns of whole numbers."""
    return [nodes.Named(duck.cast(m, "INT128"), nodes.Bare(f"m{index}")) for index, m in enumerate(measures)]


def _bounded(rows: JoinedRows, keys: Sequence[GroupKey], groups: int | None) -> tuple[nodes.Select, bool]:
    """The rows of which no unit has more than it may; and whether only declared keys are left."""
    if rows.unit is None and groups is not None:
        raise AssertionError("without a key nothing is cut")
    if rows.unit is None or (rows.held and groups is None):
        return source_of(rows), False
    limited = source_of(rows, [inside(k) for k in keys if not k.is_discovered])
    limited = replace(limited, items=(nodes.Star(),))
    if groups is not None:
        limited = truncated(limited, rows.unit, [k.raw for k in keys], groups, "dense_rank")
    if not rows.held:
        limited = truncated(
            limited if groups is None else bounded(limited), rows.unit, rows.content, rows.most
        )
    return nodes.Select(source=bounded(limited)), True


def _declared_only(
    groups: nodes.Select, keys: Sequence[GroupKey], unlisted: Sequence[bool], measures: int
) -> nodes.Select:
    """The groups of declared keys, under the declared values: what a row holds beside them never leaves the engine.

    A public column holds none such: it is not looked up. Joined after the grouping, which costs nothing; a condition on
    every row would more than double the time.
    """
    g = nodes.Bare("g")
    shown, joins = [], []
    for index, key in enumerate(keys):
        name, origin = nodes.Bare(f"k{index}"), nodes.Bare(f"d{index}") if unlisted[index] else g
        shown.append(nodes.ColumnRef(name, origin))
        if unlisted[index]:
            same = nodes.Binary(
                "IS NOT DISTINCT FROM", nodes.ColumnRef(name, g), nodes.ColumnRef(name, origin)
            )
            joins.append(nodes.Join(declared(key, name, origin), on=same))
    shown += [nodes.ColumnRef(nodes.Bare(f"m{index}"), g) for index in range(measures)]
    return nodes.Select(tuple(shown), nodes.Subquery(groups, g), tuple(joins))
