"""Keys that are columns of public tables: the tuples that the public side of a join has, under its own conditions.

A column of rows that WHERE equates with a public one is such a key, too: rows with another value are left out.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.keys import GroupKey, check_size
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.fields import Declared, Field, Public
from dpproxy.planner.rows.owners import all_of
from dpproxy.planner.rows.relation import JoinedRows, Scan
from dpproxy.policy.model import Scalar
from dpproxy.values.pgtypes import DATE, INTEGERS, TEXTS

MOST = 100_001
_ONE_ROW = nodes.Subquery(nodes.Select((duck.integer(1),)))
"""What items are joined with, each of which may miss."""


class Component(Struct, frozen=True):
    """Public items that conditions connect, how they are joined, and the conditions over them alone."""

    scans: tuple[Scan, ...]
    joins: tuple[nodes.Join, ...]
    conditions: tuple[nodes.Expr, ...]

    @property
    def names(self) -> frozenset[str]:
        """What tells it apart."""
        return frozenset(s.name for s in self.scans)


def component(scan: Scan, rows: JoinedRows) -> Component:
    """The public items that vary together with one of them."""
    public = {s.name: s for s in rows.scans if s.owner is None and s.stage is None}
    holder = {c.name: s.name for s in public.values() for c in s.content}

    def items(condition: nodes.Expr) -> frozenset[str]:
        """What it is about, where that is public items alone and a fact."""
        columns = {c.name for c in condition.find_all(nodes.ColumnRef)}
        is_fact = not condition.has(nodes.Select, nodes.Combined, nodes.Parameter)
        return frozenset({holder[c] for c in columns} if is_fact and columns <= holder.keys() else ())

    optional = {join.item: join.on or nodes.TRUE for join in rows.joins if join.kind == "LEFT"}
    about = [(condition, names) for condition in rows.conditions if (names := items(condition))]
    met = {
        name: on
        for name, s in public.items()
        if (on := optional.get(s.item)) is not None and items(on) > {name}
    }
    connected = [*(names for _, names in about), *(items(on) | {name} for name, on in met.items())]
    reached = {scan.name}
    while more := {n for names in connected if names & reached for n in names} - reached:
        reached |= more
    scans = tuple(s for n, s in public.items() if n in reached)
    joins = tuple(_join(s, met.get(s.name)) for s in scans)
    return Component(scans, joins, tuple(c for c, names in about if names <= reached))


def _join(scan: Scan, on: nodes.Expr | None) -> nodes.Join:
    """An item beside those before it; where it may miss for what is not public, with a row that is NULL."""
    if on is not None:
        return nodes.Join(scan.item, on=on, kind="LEFT")
    if not any(isinstance(f, Public) and f.may_miss for f in scan.fields):
        return nodes.Join(scan.item, kind="CROSS")
    padded = nodes.Select((nodes.Star(),), _ONE_ROW, (nodes.Join(scan.item, on=nodes.FALSE, kind="FULL"),))
    return nodes.Join(nodes.Subquery(padded), kind="CROSS")


def public_key(node: exp.Expr, rows: JoinedRows) -> tuple[Scan, GroupKey] | None:
    """A public column as a key whose values are not listed yet, with its item; None of any other."""
    found = list(rows.candidates(node)) if type(node) is exp.Column else []
    if len(found) != 1:
        return None
    scan, field = found[0]
    if not isinstance(field, Public) or scan.owner is not None:
        return None
    key = field.unlisted()
    return None if key.typed.is_number and key.typed.scale is None else (scan, key)


def equated_key(node: exp.Expr, key: GroupKey, rows: JoinedRows) -> tuple[Scan, GroupKey] | None:
    """A declared column as a key that is read from the public column that every row has the same value in."""
    found = list(rows.candidates(node)) if type(node) is exp.Column else []
    if len(found) != 1 or not isinstance(found[0][1], Declared):
        return None
    own = {duck.text(key.raw), duck.text(key.typed.sql)}
    public = {
        f.column.name: (s, f) for s in rows.scans if s.owner is None and s.stage is None for f in s.fields
    }
    for condition in map(duck.bare, rows.conditions):
        if not isinstance(condition, nodes.Binary) or condition.operator != "=":
            continue
        for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
            if type(other) is nodes.ColumnRef and other.name in public and duck.text(one) in own:
                scan, field = public[other.name]
                if _alike(found[0][1], field):
                    return scan, replace(key, raw=other)
    return None


def _alike(one: Field, other: Field) -> bool:
    """Both hold a value in one form."""
    kinds = {one.column.type.oid, other.column.type.oid}
    return any(kinds <= family for family in (INTEGERS, TEXTS, {DATE.oid}))


def listed(node: exp.Column, rows: JoinedRows, planning: Planning) -> tuple[Scalar | None, ...] | None:
    """The values of a public column under the conditions over public columns; None for any other."""
    found = public_key(node, rows)
    if found is None:
        return None
    scan, key = found
    return tuple(v for (v,) in tuples(component(scan, rows), [key], planning))


def tuples(
    found: Component, keys: Sequence[GroupKey], planning: Planning, at: int | None = None
) -> tuple[tuple[Scalar | None, ...], ...]:
    """What the keys are together, in order. Raises 54001 for too many."""
    select = nodes.Select(
        items=tuple(duck.named(k.raw, f"k{i}") for i, k in enumerate(keys)),
        distinct=True,
        source=_ONE_ROW,
        joins=found.joins,
        where=all_of(found.conditions) if found.conditions else None,
        order=duck.BY_ALL,
        limit=duck.integer(MOST),
    )
    rows = planning.context.facts(select)
    check_size(len(rows), at)
    return tuple(zip(*map(_physical, zip(*rows, strict=True), keys), strict=True))


def _physical(values: Sequence[Scalar | None], key: GroupKey) -> Sequence[Scalar | None]:
    """Exact numbers as whole numbers, whatever the engine hands them over as."""
    if key.typed.is_number and key.typed.scale is not None:
        return [v if v is None or type(v) is int else int(str(v)) for v in values]
    return values
