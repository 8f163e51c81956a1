"""Key columns that vary together: those of one public table, and those a policy declares as a pair or more."""

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.keys import Key, check_size
from dpproxy.plan import KeySet
from dpproxy.planner.fields import Public
from dpproxy.planner.planning import Planning
from dpproxy.planner.relation import Rows
from dpproxy.policy.model import Scalar

MOST = 100_001

Found = dict[exp.Expr, Key]


def key_sets(
    found: Found, rows: Rows, planning: Planning
) -> tuple[dict[exp.Expr, tuple[int, Key]], tuple[KeySet, ...]]:
    """The keys numbered in the order of their sets, and the sets: their product is every key that is answered."""
    left = list(found)
    by_node: dict[exp.Expr, tuple[int, Key]] = {}
    sets: list[KeySet] = []
    together = _together(found, rows, planning)
    while left:
        node = left[0]
        nodes, source, columns = together.get(node, ([node], "", []))
        for member in nodes:
            left.remove(member)
            by_node[member] = (len(by_node), found[member])
        keys = [found[n] for n in nodes]
        tuples = tuple((v,) for v in keys[0].values) if len(nodes) == 1 else _tuples(source, columns, keys, planning)
        sets.append(KeySet(tuple(k.type for k in keys), tuples))
    return by_node, tuple(sets)


Group = tuple[list[exp.Expr], str, list[str]]
"""Nodes that vary together, the public relation that lists their tuples, and its columns."""


def _together(found: Found, rows: Rows, planning: Planning) -> dict[exp.Expr, Group]:
    groups: dict[str, Group] = {}
    for node in found:
        for scan, field in rows.candidates(node) if type(node) is exp.Column else ():
            if isinstance(field, Public):
                nodes, _, columns = groups.setdefault(f"{scan.alias} {field.source}", ([], field.source, []))
                nodes.append(node)
                columns.append(field.origin)
    result = {n: g for g in groups.values() if len(g[0]) > 1 for n in g[0]}
    for composite in _composites(found, rows, planning):
        if not any(n in result for n in composite[0]):
            result |= dict.fromkeys(composite[0], composite)
    return result


def _composites(found: Found, rows: Rows, planning: Planning) -> list[Group]:
    named: dict[tuple[str, str], dict[str, exp.Expr]] = {}
    for node in found:
        for scan, field in rows.candidates(node) if type(node) is exp.Column else ():
            named.setdefault((scan.alias, scan.table), {})[field.name] = node
    result = []
    for (_, table), columns in named.items():
        policy = planning.context.policy.tables.get(table)
        for composite in policy.composites if policy is not None else ():
            if all(c in columns for c in composite.columns):
                source = duck.text(exp.Table(this=exp.to_identifier(composite.table, quoted=True)))
                result.append(([columns[c] for c in composite.columns], source, list(composite.referenced)))
    return result


def _tuples(
    source: str, columns: Sequence[str], keys: Sequence[Key], planning: Planning
) -> tuple[tuple[Scalar | None, ...], ...]:
    listed = ", ".join(duck.text(duck.column(c)) for c in columns)
    rows = planning.context.facts(
        f"SELECT DISTINCT {listed} FROM {source} ORDER BY ALL LIMIT {MOST}"  # noqa: S608 - quoted names
    )
    check_size(len(rows), None)
    scaled = [tuple(_physical(v, k) for v, k in zip(row, keys, strict=True)) for row in rows]
    declared = [set(k.values) for k in keys]
    return tuple(r for r in scaled if all(v in known for v, known in zip(r, declared, strict=True)))


def _physical(value: Scalar | None, key: Key) -> Scalar | None:
    scale = key.typed.scale or 0
    if scale and value is not None and not isinstance(value, bool | str):
        return int(Fraction(value) * 10**scale)  # type: ignore[arg-type]
    return value
