"""The exact stage: bounded integers by group, as SQL for the backend.

A unit's rows are cut to MAX ROWS by a keyed hash of their own content, never by row id or scan order, so that
removing one unit changes nothing for the others. Ties of the hash fall back on the content itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpproxy.aggregates.model import Measure
from dpproxy.analysis import duck
from dpproxy.analysis.keys import Key, declared, inside
from dpproxy.errors import Unsupported
from dpproxy.pgtypes import Schema
from dpproxy.policy.model import Policy, TablePolicy, Unit


@dataclass(frozen=True, slots=True)
class Exact:
    """The statement; ``truncated`` where it takes the truncation secret as its one parameter."""

    sql: str
    truncated: bool


def exact_sql(
    table: TablePolicy,
    context: tuple[Policy, Schema],
    keys: Sequence[Key],
    measures: Sequence[Measure],
    conditions: Sequence[exp.Expr],
    groups: int | None,
) -> Exact:
    """SELECT keys, measures FROM the bounded table GROUP BY keys.

    ``conditions`` are row-level truth values, all of which must hold; their order is not kept, so that the same
    question in another order is the same statement. ``groups`` is the most groups a unit may touch, None for any.
    """
    unit = table.unit
    if unit is None:
        raise AssertionError("only protected tables have an exact stage")
    distinct = {duck.text(c): c for c in conditions}
    where = [distinct[text] for text in sorted(distinct)]
    source: exp.Expr = exp.Table(this=exp.to_identifier(table.name, quoted=True))
    if unit.key is not None:
        rows = _present(table, unit, context[0], [*where, *(inside(k) for k in keys)])
        key = duck.column(unit.key)
        limited: exp.Select | exp.Subquery = rows
        if groups is not None:
            limited = _limit(rows, "dense_rank", key, [k.raw for k in keys], groups)
        content = [duck.column(c.name) for c in context[1].tables[table.name]]
        source = _limit(limited, "row_number", key, content, unit.max_rows)
        where = []
    columns = [duck.named(k.raw, f"k{i}") for i, k in enumerate(keys)]
    select = exp.Select(expressions=columns, from_=exp.From(this=source))
    for index, measure in enumerate(measures):
        # Our own text, read again with all the rest by the check of totality.
        select.append("expressions", exp.Var(this=f"CAST({measure.sql} AS INT128) AS m{index}"))
    if where:
        select.set("where", exp.Where(this=_all(where)))
    if keys:
        numbers: list[exp.Expr] = [exp.Literal.number(i + 1) for i in range(len(keys))]
        select.set("group", exp.Group(expressions=numbers))
    if unit.key is None and any(k.is_raw for k in keys):
        select = _declared_only(select, keys, len(measures))
    return Exact(duck.text(select), unit.key is not None)


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


def _all(conditions: Sequence[exp.Expr]) -> exp.Expr:
    result = conditions[0]
    for condition in conditions[1:]:
        result = exp.And(this=result, expression=condition)
    return result


def _present(table: TablePolicy, unit: Unit, policy: Policy, conditions: list[exp.Expr]) -> exp.Select:
    """The rows that satisfy the conditions and belong to a unit."""
    key = duck.column(unit.key or "")
    present: list[exp.Expr] = [exp.Not(this=exp.Is(this=key, expression=exp.Null()))]
    owner = _owner_keys(unit, policy)
    if owner is not None:
        present.append(exp.In(this=key, query=exp.Subquery(this=owner)))
    return exp.Select(
        expressions=[exp.Star()],
        from_=exp.From(this=exp.Table(this=exp.to_identifier(table.name, quoted=True))),
        where=exp.Where(this=_all([*present, *conditions])),
    )


def _limit(
    source: exp.Select | exp.Subquery, rank: str, key: exp.Expr, content: Sequence[exp.Expr], most: int
) -> exp.Subquery:
    """At most ``most`` rows (row_number) or distinct contents (dense_rank) of each unit, by keyed hash."""
    secret = exp.Parameter(this=exp.Literal.number(1))
    order = [
        duck.call("hash", secret, key, *(c for c in content)),
        *(c for c in content),
    ]
    window = exp.Window(
        this=duck.call(rank),
        partition_by=[key],
        order=exp.Order(expressions=[exp.Ordered(this=o, desc=False, nulls_first=False) for o in order]),
    )
    kept = exp.Qualify(this=exp.LTE(this=window, expression=duck.integer(most)))
    if isinstance(source, exp.Select):
        select = source
    else:
        select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=source))
    select.set("qualify", kept)
    return exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier("bounded")))


def _owner_keys(unit: Unit, policy: Policy) -> exp.Select | None:
    """The owners' keys, where the unit is declared elsewhere: a row that refers to nobody is dropped."""
    if unit.references is None:
        return None
    name, column = unit.references
    owner = policy.tables[name]
    if owner.unit is None or owner.unit.key != column or owner.unit.references is not None:
        raise Unsupported(
            f'the privacy unit of a row is found through "{name}"; chains of references are not supported yet',
            hint="Reference the column that is the privacy key of the unit's own table.",
        )
    return exp.Select(
        expressions=[duck.column(column)],
        from_=exp.From(this=exp.Table(this=exp.to_identifier(name, quoted=True))),
    )
