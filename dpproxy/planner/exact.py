"""The exact stage: bounded integers by group, as SQL for the backend."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpproxy.algebra import bridge
from dpproxy.analysis import duck
from dpproxy.analysis.keys import Key, declared, inside
from dpproxy.analysis.totality import check_total
from dpproxy.analysis.unseen import PLACE, Looked, is_written
from dpproxy.planner.owners import all_of
from dpproxy.planner.relation import Rows
from dpproxy.planner.truncation import bounded, truncated

_NUMBER = re.compile(rf"{PLACE}|(?<![\w.\"])\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Exact:
    """The statement and the numbers of its parameters: 1 is the truncation secret, others are released values."""

    sql: str
    parameters: frozenset[int]


def ordered(conditions: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Each condition once, in an order of our own: the same question in another order is the same statement.

    By everything but their numbers first. Raises ``Looked`` where that leaves it to a number that nobody may look at.
    """
    distinct = {duck.text(c): c for c in conditions}
    masked = {text: _NUMBER.sub("#", text) for text in distinct}
    if len(set(masked.values())) < len(masked) and any(map(is_written, masked)):
        raise Looked
    return [distinct[text] for text in sorted(distinct, key=lambda text: (masked[text], text))]


def source_of(rows: Rows, further: Sequence[exp.Expr] = ()) -> exp.Select:
    """SELECT without a list over the joined rows that satisfy every condition and belong to somebody."""
    select = exp.Select(from_=exp.From(this=rows.scans[0].item), joins=list(rows.joins))
    where = [*rows.present, *ordered(rows.conditions), *further]
    if where:
        select.set("where", exp.Where(this=all_of(where)))
    return select


def exact_sql(
    rows: Rows, keys: Sequence[Key], columns: Sequence[str], groups: int | None, cell: exp.Expr | None = None
) -> Exact:
    """SELECT keys, measures FROM the bounded rows GROUP BY keys.

    ``columns`` are the measures with their names, as our own text. ``groups`` is the most groups a unit may touch, None
    for any. A ``cell`` is grouped by besides, and is the first of the columns.
    """
    rows = rows.where([k.present for k in keys if k.present is not None])
    if cell is not None:
        rows = rows.where([exp.Not(this=exp.Is(this=cell, expression=exp.Null()))])
    select, filtered = _bounded(rows, keys, groups)
    for index, key in enumerate(keys):
        select.append("expressions", duck.named(key.raw, f"k{index}"))
    for column in columns:
        # Our own text, read again with all the rest by the check of totality.
        select.append("expressions", exp.Var(this=column))
    numbers: list[exp.Expr] = [exp.Literal.number(i + 1) for i in range(len(keys) + (cell is not None))]
    if numbers:
        select.set("group", exp.Group(expressions=numbers))
    if not filtered and any(k.is_raw for k in keys):
        select = _declared_only(select, keys, len(columns))
    sql = duck.text(select)
    return Exact(sql, check_total(bridge.read(sql)))


def rows_sql(rows: Rows, columns: Sequence[tuple[exp.Expr, str]]) -> Exact:
    """SELECT columns, under names, FROM the bounded rows: what only a protected view is made of."""
    select, _ = _bounded(rows, [], None)
    for expression, name in columns:
        select.append("expressions", duck.named(expression, name))
    sql = duck.text(select)
    return Exact(sql, check_total(bridge.read(sql)))


def measured(measures: Sequence[str]) -> list[str]:
    """The columns of whole numbers."""
    return [f"CAST({sql} AS INT128) AS m{index}" for index, sql in enumerate(measures)]


def _bounded(rows: Rows, keys: Sequence[Key], groups: int | None) -> tuple[exp.Select, bool]:
    """The rows of which no unit has more than it may; and whether only declared keys are left."""
    if rows.unit is None and groups is not None:
        raise AssertionError("without a key nothing is cut")
    if rows.unit is None or (rows.held and groups is None):
        return source_of(rows), False
    limited: exp.Select = source_of(rows, [inside(k) for k in keys if not k.is_discovered])
    limited.append("expressions", exp.Star())
    if groups is not None:
        limited = truncated(limited, rows.unit, [k.raw for k in keys], groups, "dense_rank")
    if not rows.held:
        limited = truncated(
            limited if groups is None else bounded(limited), rows.unit, rows.content, rows.most
        )
    return exp.Select(from_=exp.From(this=bounded(limited))), True


def _declared_only(groups: exp.Select, keys: Sequence[Key], measures: int) -> exp.Select:
    """The groups of declared keys, under the declared values: what a row holds beside them never leaves the engine.

    Joined after the grouping, which costs nothing; a condition on every row would more than double the time.
    """
    source = exp.Subquery(this=groups, alias=exp.TableAlias(this=exp.to_identifier("g")))
    select = exp.Select(expressions=[], from_=exp.From(this=source))
    for index, key in enumerate(keys):
        name = f"k{index}"
        origin = f"d{index}" if key.is_raw else "g"
        select.append("expressions", exp.column(name, origin))
        if key.is_raw:
            same = exp.NullSafeEQ(this=exp.column(name, "g"), expression=exp.column(name, origin))
            select.append("joins", exp.Join(this=declared(key, name, origin), on=same))
    for index in range(measures):
        select.append("expressions", exp.column(f"m{index}", "g"))
    return select
