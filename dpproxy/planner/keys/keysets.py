"""Key columns that vary together: those of one public table, and those a policy declares as a pair or more."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import KeySet
from dpproxy.analysis import duck
from dpproxy.analysis.keys import GroupKey, check_size
from dpproxy.analysis.position import position
from dpproxy.planner.keys.public_tables import Component, component, equated_key, public_key, tuples
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.policy.model import Scalar
from dpproxy.values.work import step

MOST = 100_001

Found = dict[exp.Expr, GroupKey]


def key_sets(
    found: Found, rows: JoinedRows, planning: Planning
) -> tuple[dict[exp.Expr, tuple[int, GroupKey]], tuple[KeySet, ...]]:
    """The keys numbered in the order of their sets, and the sets: their product is every key that is answered."""
    left = list(found)
    by_node: dict[exp.Expr, tuple[int, GroupKey]] = {}
    sets: list[KeySet] = []
    composites = _composites(found, rows, planning)
    together = _together({n: k for n, k in found.items() if n not in composites}, rows)
    while left:
        several, tuples_of = together.get(left[0]) or composites.get(left[0]) or ([left[0]], _alone)
        for member in several:
            left.remove(member)
            by_node[member] = (len(by_node), found[member])
        keys = [found[n] for n in several]
        listed = tuples_of(keys, planning)
        step(len(listed), position(several[0]))
        rests = tuple(k.rest for k in keys) if tuples_of is _alone else None
        names = tuple(k.name for k in keys)
        sets.append(KeySet(tuple(k.typed.type for k in keys), listed, rests=rests, names=names))
    return by_node, tuple(sets)


Tuples = tuple[tuple[Scalar | None, ...], ...]
Group = tuple[list[exp.Expr], Callable[[Sequence[GroupKey], Planning], Tuples]]
"""Nodes that vary together, and what finds their tuples."""


def _alone(keys: Sequence[GroupKey], planning: Planning) -> Tuples:
    del planning
    return tuple((v,) for v in keys[0].values)


def _together(found: Found, rows: JoinedRows) -> dict[exp.Expr, Group]:
    """Columns of public items, by the items that conditions connect."""
    by_component: dict[frozenset[str], tuple[dict[exp.Expr, GroupKey], Component]] = {}
    for node, key in found.items():
        public = public_key(node, rows) or equated_key(node, key, rows)
        if public is not None:
            scan, read = public
            known = (c for _, c in by_component.values() if scan.name in c.names)
            connected = next(known, None) or component(scan, rows)
            by_component.setdefault(connected.names, ({}, connected))[0][node] = read
    return {
        n: ([*read], partial(_joined, connected, read))
        for read, connected in by_component.values()
        for n in read
    }


def _joined(connected: Component, found: Found, keys: Sequence[GroupKey], planning: Planning) -> Tuples:
    """Tuples of public items; those of a declared key, which is read from a column equal to it, are declared values."""
    read = [*found.values()]
    declared = [(n, set(k.values) - {None}) for n, k in enumerate(keys) if k.raw != read[n].raw]
    rows = tuples(connected, read, planning, position(next(iter(found))))
    return tuple(t for t in rows if all(t[n] in known for n, known in declared)) if declared else rows


def _composites(found: Found, rows: JoinedRows, planning: Planning) -> dict[exp.Expr, Group]:
    named: dict[tuple[str, str], dict[str, exp.Expr]] = {}
    for node in found:
        for scan, field in rows.candidates(node) if type(node) is exp.Column else ():
            named.setdefault((scan.alias, scan.table), {})[field.name] = node
    result: dict[exp.Expr, Group] = {}
    for (_, table), columns in named.items():
        policy = planning.context.policy.tables.get(table)
        for composite in policy.composites if policy is not None else ():
            several = [columns[c] for c in composite.columns if c in columns]
            if len(several) == len(composite.columns) and not any(n in result for n in several):
                source = nodes.Table(composite.table)
                result |= dict.fromkeys(several, (several, partial(_listed, source, composite.referenced)))
    return result


def _listed(
    source: nodes.Item, columns: Sequence[str], keys: Sequence[GroupKey], planning: Planning
) -> Tuples:
    rows = planning.context.facts(duck.distinct(source, columns, MOST))
    check_size(len(rows), None)
    scaled = [tuple(_physical(v, k) for v, k in zip(row, keys, strict=True)) for row in rows]
    declared = [set(k.values) for k in keys]
    return tuple(r for r in scaled if all(v in known for v, known in zip(r, declared, strict=True)))


def _physical(value: Scalar | None, key: GroupKey) -> Scalar | None:
    scale = key.typed.scale or 0
    if scale and value is not None and not isinstance(value, bool | str):
        return int(Fraction(value) * 10**scale)  # type: ignore[arg-type]
    return value
