"""How many rows open relations have once they are joined or grouped: no more than this, whatever their rows are."""

from collections.abc import Collection, Sequence
from math import prod

from msgspec import Struct

from dpproxy.algebra import nodes
from dpproxy.algebra.documents import stored_rows
from dpproxy.analysis import duck
from dpproxy.planner.open.relations import OpenColumn
from dpproxy.planner.planning import Planning
from dpproxy.policy.documents import declared_fields


class Pin(Struct, frozen=True):
    """A column that a condition leaves one value for each combination of values of others; of none, a constant."""

    column: OpenColumn
    by: tuple[OpenColumn, ...]


class SizedSource(Struct, frozen=True):
    """One entry of FROM; ``typed.sql`` of its columns is qualified by a name that nothing else has."""

    alias: str
    item: nodes.Item
    columns: tuple[OpenColumn, ...]
    rows: int
    unique: frozenset[int] | None
    table: str = ""
    """The public table it is, if it is one."""
    released: bool = False
    further: frozenset[int] | None = None
    chosen: bool = False
    """Noise may decide which rows it has."""


def size_of_inner(sources: Sequence[SizedSource], pins: Sequence[Pin], planning: Planning) -> int:
    """The most rows of inner joins, whose order is the engine's choice: the least that an order from any source gives.

    Each step takes the source of which the fewest rows share the values of what is equated with those before.
    """
    return min(_from(start, sources, pins, planning) for start in sources)


def _from(start: SizedSource, sources: Sequence[SizedSource], pins: Sequence[Pin], planning: Planning) -> int:
    known = {id(c) for c in start.columns}
    left = [s for s in sources if s is not start]
    most = {id(s): _most(s, _met(pins, known), planning) for s in left}
    size = _most(start, _met(pins, ()), planning)
    while left:
        taken = min(left, key=lambda s: most[id(s)])
        left = [s for s in left if s is not taken]
        size *= most[id(taken)]
        added = {id(c) for c in taken.columns}
        known |= added
        touched = {id(p.column) for p in pins if any(id(c) in added for c in p.by)}
        for source in left:
            if any(id(c) in touched for c in source.columns):
                most[id(source)] = _most(source, _met(pins, known), planning)
    return size


def _met(pins: Sequence[Pin], known: Collection[int]) -> list[OpenColumn]:
    """The columns that have one value where others are known."""
    return [p.column for p in pins if all(id(c) in known for c in p.by)]


def size_of_outer(
    sources: Sequence[SizedSource],
    before: int,
    source: SizedSource,
    pins: Sequence[Pin],
    side: str,
    planning: Planning,
) -> int:
    """The most rows of an outer join: each row of one side meets as many as share its values on the other."""
    others, own = ({id(c) for s in side for c in s.columns} for side in (sources, [source]))
    size = before * _most(source, _met(pins, others), planning)
    if len(sources) == 1:
        size = min(size, source.rows * _most(sources[0], _met(pins, own), planning))
    size += before if side in ("LEFT", "FULL") else 0
    return size + (source.rows if side in ("RIGHT", "FULL") else 0)


def size_of_groups(
    sources: Sequence[SizedSource], keys: Sequence[OpenColumn | None], rows: int, planning: Planning
) -> int:
    """The most groups of joined rows: the combinations of the keys that each source has, and none for an outer join.

    ``keys`` are the columns, None for an expression.
    """
    owned = [next((s for s in sources if any(k is c for c in s.columns)), None) for k in keys]
    if None in owned:
        return rows
    found = {id(s): s for s in owned if s is not None}
    sizes = [
        1 + _distinct(s, [k for k, o in zip(keys, owned, strict=True) if o is s and k is not None], planning)
        for s in found.values()
    ]
    return min(rows, prod(sizes))


def _distinct(source: SizedSource, columns: Sequence[OpenColumn], planning: Planning) -> int:
    keys = _keys(source, columns, planning)
    if not keys:
        return source.rows
    groups = nodes.Select((duck.integer(1),), _stored(source, planning), group=keys)
    [[count]] = planning.context.facts(nodes.Select((duck.count_star(),), nodes.Subquery(groups)))
    return int(str(count))


def _most(source: SizedSource, columns: Sequence[OpenColumn], planning: Planning) -> int:
    """The most rows that share the values of some columns; at least 1, so that no join hides what another makes."""
    places = _places(source, columns)
    if any(unique is not None and unique <= places for unique in (source.unique, source.further)):
        return 1
    keys = _keys(source, columns, planning)
    if not keys:
        return max(1, source.rows)
    groups = nodes.Select((duck.named(duck.count_star(), "c"),), _stored(source, planning), group=keys)
    most_of = nodes.Select((duck.call("max", duck.column("c")),), nodes.Subquery(groups))
    [[most]] = planning.context.facts(most_of)
    return max(1, int(str(most or 0)))


def _stored(source: SizedSource, planning: Planning) -> nodes.Item:
    return stored_rows(source.table, declared_fields(planning.context.policy.tables[source.table]))


def _places(source: SizedSource, columns: Sequence[OpenColumn]) -> frozenset[int]:
    return frozenset(i for i, own in enumerate(source.columns) for c in columns if own is c)


def _keys(source: SizedSource, columns: Sequence[OpenColumn], planning: Planning) -> tuple[nodes.Expr, ...]:
    """The columns of a public table, nothing where it is none or they are not its own."""
    if not source.table:
        return ()
    names = planning.context.schema.tables[source.table]
    return tuple(duck.column(names[i].name) for i in sorted(_places(source, columns)))
