"""A subquery over public tables beside protected rows."""

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.keys import MOST_KEYS, Values
from dpproxy.analysis.typed import Typed
from dpproxy.planner.open.limits import refuse_plain
from dpproxy.planner.open.relations import Open, OpenColumn
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.fields import PresenceField, Public, no_keys
from dpproxy.planner.rows.relation import Scan
from dpproxy.planner.rows.scans import with_facts
from dpproxy.values.errors import TooComplex
from dpproxy.values.pgtypes import BOOL, DATE, FLOATS, INTEGERS, NUMERIC, PLAIN, TIMESTAMP, Column

MOST_WRITTEN = 2_000
"""Rows of a public subquery that are written into the statement."""

_PLAIN: frozenset[type[nodes.Node]] = frozenset({
    nodes.Join, nodes.Ordered, nodes.Table, nodes.Release, nodes.Subquery, nodes.ColumnRef, nodes.Named, nodes.Star,
    nodes.Number, nodes.Text, nodes.Truth, nodes.Null, nodes.Paren, nodes.And, nodes.Or, nodes.Not, nodes.IsNull,
    nodes.InList, nodes.InQuery, nodes.Exists, nodes.Case, nodes.Values, nodes.Tuple,
})  # fmt: skip
"""What cannot fail and comes out alike every time, whichever rows a plan computes it for."""


def open_scan(relation: Open, alias: str, planning: Planning) -> Scan:
    """Its values are facts. What is more than columns and conditions is computed now, and written out.

    Else an expression that fails on one of its rows would tell whether a protected row meets that one.
    """
    query = relation.query if _is_plain(relation.query) else _written(relation, planning)
    source = nodes.Subquery(query)
    names = [planning.reserve(c.name) for c in relation.columns]
    shown = tuple(duck.named(duck.column(f"c{i}"), n) for i, n in enumerate(names))
    select = nodes.Select(shown, nodes.Subquery(query, nodes.Bare("s")))
    fields = tuple(
        PresenceField(c.name, Column(n, c.typed.type))
        if c.typed.type.oid in PLAIN
        else Public(
            c.name,
            Column(n, c.typed.type),
            _shape(planning, source, f"c{i}", c.typed),
            _keys(planning, source, f"c{i}", c),
        )
        for i, (c, n) in enumerate(zip(relation.columns, names, strict=True))
    )
    item = nodes.Subquery(select, planning.reserve("t"))
    content = tuple(duck.column(n) for n in names)
    return Scan(alias, item, fields, alias, content=content, held=True)


def can_stand(relation: Open, planning: Planning) -> bool:
    """Whether it is no more than columns and conditions, or has few rows."""
    return _is_plain(relation.query) or len(_rows(relation, planning)) <= MOST_WRITTEN


def _rows(relation: Open, planning: Planning) -> Sequence[Sequence[object]]:
    """The rows themselves, one more than may be written at most."""
    return planning.context.facts(duck.all_of(relation.query, MOST_WRITTEN + 1))


def _is_plain(query: nodes.Query) -> bool:
    return all(map(_is_plain_node, query.walk()))


def _is_plain_node(node: nodes.Node) -> bool:
    match node:
        case nodes.Select():
            return not (node.distinct_on or node.having or node.qualify or node.limit or node.offset)
        case nodes.Combined():
            return node.operator in ("UNION", "UNION ALL") and not (node.order or node.limit or node.offset)
        case nodes.Subquery():
            return not node.lateral
        case nodes.Binary():
            return node.operator in nodes.COMPARISONS
        case nodes.Call():
            return node.name == "count" and node.where is None
        case nodes.Cast():
            return type(node.value) is nodes.ColumnRef and node.type == "DOUBLE" and not node.tries
        case _:
            return type(node) in _PLAIN


def _written(relation: Open, planning: Planning) -> nodes.Select:
    """The rows themselves. Raises ``TooComplex`` for many."""
    refuse_plain(relation.columns)
    rows = _rows(relation, planning)
    if len(rows) > MOST_WRITTEN:
        raise TooComplex(
            f"a computed public subquery beside protected rows has more than {MOST_WRITTEN} rows",
            hint="Select columns as they are, or fewer rows.",
        )
    types = [_held(c.typed) for c in relation.columns]
    listed = rows or [(None,) * len(types)]
    tuples = tuple(tuple(_constant(v, t) for v, t in zip(row, types, strict=True)) for row in listed)
    names = tuple(f"v{i}" for i in range(len(types)))
    return nodes.Select(
        tuple(duck.named(duck.column(name), f"c{i}") for i, name in enumerate(names)),
        nodes.Values(tuples, nodes.Bare(planning.reserve("q")), names),
        where=None if rows else nodes.FALSE,
    )


def _held(typed: Typed) -> str:
    """The engine's type of a column."""
    if typed.is_number:
        return "DOUBLE" if typed.scale is None else "HUGEINT"
    return {BOOL.oid: "BOOLEAN", DATE.oid: "DATE", TIMESTAMP.oid: "TIMESTAMP"}.get(typed.type.oid, "VARCHAR")


def _constant(value: object, kind: str) -> nodes.Expr:
    match value:
        case None:
            return duck.cast(nodes.Null(), kind)
        case bool():
            return duck.constant(value)
        case float():
            return duck.cast(nodes.Text(repr(value)), "DOUBLE")
        case int() | Decimal():
            return duck.cast(duck.integer(int(value)), kind)
        case str() | date():
            return duck.constant(value)
        case _:
            raise AssertionError("a value of no type that is answered")


def _shape(planning: Planning, source: nodes.Item, column: str, typed: Typed) -> Callable[[str], Typed]:
    """The value that is held under a name, with bounds that are facts."""

    def shape(name: str) -> Typed:
        held = replace(typed, sql=duck.column(name), is_constant=False, presence=None)
        return with_facts(held, planning, source, column, 10 ** (typed.scale or 0))

    return shape


def _keys(
    planning: Planning, source: nodes.Item, name: str, column: OpenColumn
) -> Callable[[int | None], Values]:
    """The values the column has; those of exact numbers are whole steps already."""
    kind = column.typed.type
    if kind.oid in FLOATS or (kind.oid == NUMERIC.oid and column.typed.scale is None):
        return no_keys(column.name)

    def keys(at: int | None) -> Values:
        del at
        values = tuple(row[0] for row in planning.context.facts(duck.distinct(source, [name], MOST_KEYS + 1)))
        return tuple(int(v) if kind.oid in INTEGERS and v is not None else v for v in values)  # type: ignore[arg-type]

    return keys
