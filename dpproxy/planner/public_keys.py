"""Keys that are columns of public tables: the tuples that the public side of a join has, under its own conditions."""

from collections.abc import Sequence
from dataclasses import dataclass

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.keys import Key, check_size
from dpproxy.planner.owners import all_of
from dpproxy.planner.planning import Planning
from dpproxy.planner.relation import Rows, Scan
from dpproxy.policy.model import Scalar

MOST = 100_001


@dataclass(frozen=True, slots=True)
class Component:
    """Public items that conditions connect, and the conditions over them alone."""

    scans: tuple[Scan, ...]
    conditions: tuple[nodes.Expr, ...]

    @property
    def names(self) -> frozenset[str]:
        """What tells it apart."""
        return frozenset(s.name for s in self.scans)


def component(scan: Scan, rows: Rows) -> Component:
    """The public items that vary together with one of them."""
    public = {s.name: s for s in rows.scans if s.owner is None}
    holder = {c.name: s.name for s in public.values() for c in s.content}
    about = []
    for condition in rows.conditions:
        columns = {c.name for c in condition.find_all(nodes.Column)}
        if (
            columns
            and columns <= holder.keys()
            and not condition.has(nodes.Select, nodes.Combined, nodes.Parameter)
        ):
            about.append((condition, {holder[c] for c in columns}))
    reached = {scan.name}
    while more := {n for _, names in about if names & reached for n in names} - reached:
        reached |= more
    chosen = [c for c, names in about if names <= reached]
    return Component(tuple(s for n, s in public.items() if n in reached), tuple(chosen))


def tuples(
    found: Component, keys: Sequence[Key], planning: Planning
) -> tuple[tuple[Scalar | None, ...], ...]:
    """What the keys are together, in order. Raises 54001 for too many."""
    select = nodes.Select(
        items=tuple(duck.named(k.raw, f"k{i}") for i, k in enumerate(keys)),
        distinct=True,
        source=found.scans[0].item,
        joins=tuple(nodes.Join(s.item, kind="CROSS") for s in found.scans[1:]),
        where=all_of(found.conditions) if found.conditions else None,
    )
    rows = planning.context.facts(f"{duck.text(select)} ORDER BY ALL NULLS LAST LIMIT {MOST}")
    check_size(len(rows), None)
    return tuple(tuple(_physical(v, k) for v, k in zip(row, keys, strict=True)) for row in rows)


def _physical(value: Scalar | None, key: Key) -> Scalar | None:
    """Exact numbers as whole numbers, whatever the engine hands them over as."""
    if key.typed.is_number and key.typed.scale is not None and value is not None:
        return int(str(value))
    return value
