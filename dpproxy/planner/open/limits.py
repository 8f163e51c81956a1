"""How much work a free statement may ask for: it could be asked again and again."""

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.lists import ELEMENTS
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.planner.open.relations import Open, OpenColumn
from dpproxy.values.errors import TooComplex, Unsupported
from dpproxy.values.pgtypes import INTERVAL, JSON, PLAIN, TIME, TIMESTAMPTZ, array_of

LARGEST_ANSWER = 64_000_000
"""Characters of an answer that is held somewhere as a whole, counted before it is computed."""

SMALLEST_STREAM = 100_000
"""Characters from which on an answer is read in portions."""

LARGEST_PORTION = 2_000_000
"""Characters of a portion."""

MOST_JOINED = 10_000_000
"""Rows of a join of relations that are all smaller."""


def width(values: Iterable[Typed]) -> int:
    """Characters of a row."""
    return sum(32 if value.longest is None else value.longest + 8 for value in values)


def portion(rows: int, values: Iterable[Typed]) -> int:
    """So many rows of an answer are read at a time; 0 where it is small enough to be read at once.

    Values of some types are whole in portions only.
    """
    kinds = list(values)
    size = max(1, width(kinds))
    is_held = rows * size < SMALLEST_STREAM and all(value.type.oid not in PLAIN for value in kinds)
    return 0 if is_held else max(1, LARGEST_PORTION // size)


def refuse_plain(columns: Iterable[OpenColumn]) -> None:
    """Refuse columns of types that are not carried to where releases are."""
    for column in columns:
        if column.typed.type.oid in PLAIN:
            raise Unsupported(
                f'column "{column.name}" of type {column.typed.type.shown} is not answered beside released values',
                hint="Ask the public table alone, or cast the column to text.",
            )


def carried(found: Open) -> nodes.Query:
    """The query of an answer, in types that come back from where releases are.

    Moments are timestamps of UTC there, spans and times of day texts.

    Errors: ``Unsupported`` for columns of other types; for spans that decide about the order, which texts would not.
    """
    query = found.query
    kinds = [column.typed.type.oid for column in found.columns]
    if not isinstance(query, nodes.Select):
        refuse_plain(found.columns)
        return query
    sorts = bool(query.order or query.distinct or query.distinct_on)
    taken = _CARRIED.keys() - ({INTERVAL.oid} if sorts else set())
    refuse_plain(column for column, kind in zip(found.columns, kinds, strict=True) if kind not in taken)
    shown = [
        _as(item, _CARRIED[kind]) if kind in _CARRIED else item
        for item, kind in zip(query.items, kinds, strict=False)
    ]
    return replace(query, items=(*shown, *query.items[len(shown) :]))


_CARRIED: Mapping[int, Callable[[nodes.Expr], nodes.Expr]] = {
    **{kind.oid: lambda value: value for kind in (JSON, *map(array_of, ELEMENTS))},
    TIMESTAMPTZ.oid: lambda moment: duck.call("timezone", nodes.Text("UTC"), moment),
    INTERVAL.oid: lambda span: duck.cast(span, "VARCHAR"),
    TIME.oid: lambda time: duck.cast(time, "VARCHAR"),
}


def _as(item: nodes.Expr, carry: Callable[[nodes.Expr], nodes.Expr]) -> nodes.Expr:
    value = item.value if isinstance(item, nodes.Named) else item
    name = item.name if isinstance(item, nodes.Named | nodes.ColumnRef) else ""
    return duck.named(carry(value), name)


def streams(query: nodes.Query) -> bool:
    """Whether the engine gives the rows of a query as it finds them: none waits until the others are known."""
    return not any(_holds(node) for node in query.walk())


def _holds(node: nodes.Node) -> bool:
    match node:
        case nodes.Combined():
            return node.operator != "UNION ALL" or bool(node.order)
        case nodes.Select():
            return bool(node.order or node.group or node.distinct or node.distinct_on)
        case nodes.Call():
            return bool(node.order or node.distinct)
        case _:
            return isinstance(node, nodes.Window)


def check_answer(rows: int, values: Iterable[Typed], node: exp.Expr) -> None:
    """Refuse an answer that would not fit."""
    if rows * width(values) > LARGEST_ANSWER:
        raise TooComplex(
            f"the answer would have {rows} rows and more than {LARGEST_ANSWER} characters",
            hint="Select fewer columns, group by fewer or coarser ones, or add LIMIT.",
            position=position(node),
        )


def check_join(rows: int, sides: Iterable[int], node: exp.Expr) -> None:
    """Refuse a join that multiplies its sides, at a node of FROM."""
    if rows > max(MOST_JOINED, *sides):
        raise TooComplex(
            f"the join would have up to {rows} rows, more than {MOST_JOINED}",
            hint="Join on columns that are unique on one side.",
            position=position(node),
        )
