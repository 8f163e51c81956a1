"""Conditions about keys alone: they hold or fail for a key whatever the data, so keys that fail are not answered."""

from collections.abc import Iterable, Sequence, Set
from itertools import product
from math import prod

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import KeySet
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean
from dpproxy.analysis.image import holding, input_of
from dpproxy.analysis.keys import MOST_KEYS, GroupKey, Value
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.planner.planning import Planning
from dpproxy.values.errors import Refusal, Unsupported
from dpproxy.values.work import step

ByNode = dict[exp.Expr, tuple[int, GroupKey]]


def narrowed(
    by_node: ByNode, sets: tuple[KeySet, ...], conditions: Sequence[exp.Expr], planning: Planning
) -> tuple[ByNode, tuple[KeySet, ...]]:
    """The key sets without what a condition over keys excludes.

    Sets that one condition is about vary together from then on, as long as they have not too many combinations.
    """
    read = _columns(by_node)
    for condition in conditions:
        found = _over_keys(condition, by_node, read, planning)
        if found is None:
            continue
        sql, used = found
        owner = [i for i, s in enumerate(sets) for _ in s.types]
        touched = sorted({owner[n] for n in used})
        if prod(len(sets[i].rows) for i in touched) > MOST_KEYS:
            continue
        if len(touched) > 1:
            by_node, sets = _merged(by_node, sets, touched)
            sql = duck.text(_compiled(condition, by_node, planning).sql)
            touched = [0]
        sets = _kept(sql, by_node, sets, touched[0])
    return by_node, sets


def passing(
    column: exp.Column, key: GroupKey, conditions: Sequence[exp.Expr], planning: Planning
) -> tuple[Value, ...]:
    """The values of a column that pass the conditions about it alone.

    One that NULL passes says nothing, unless NULL is listed: what is computed from a NULL may equal any other key.
    """
    values: tuple[Value, ...] = key.values
    for condition in conditions:
        found = _over_keys(condition, {column: (0, key)}, {column}, planning)
        if found is None:
            continue
        kept = holding(found[0], (("b0", input_of(key.typed, (*values, None))),))
        if None in key.values or not kept[-1]:
            values = tuple(v for v, holds in zip(values, kept, strict=False) if holds)
    return values


def _columns(keys: Iterable[exp.Expr]) -> set[exp.Column]:
    """What keys are made of."""
    return {column for key in keys for column in key.find_all(exp.Column)}


def _over_keys(
    condition: exp.Expr, by_node: ByNode, read: Set[exp.Expr], planning: Planning
) -> tuple[str, set[int]] | None:
    """The condition over the key columns and their numbers; None where it reads anything but the columns of keys."""
    if any(column not in read for column in condition.find_all(exp.Column)):
        return None
    if planning.parameters.values is None and condition.find(exp.Parameter, exp.Placeholder) is not None:
        return None  # not bound yet: it could exclude any key or none
    try:
        typed = _compiled(condition, by_node, planning)
    except Refusal:
        return None
    if typed.sql.has(nodes.Parameter, nodes.Select, nodes.Combined):
        return None
    used = {int(c.name[1:]) for c in typed.sql.find_all(nodes.ColumnRef)}
    return (duck.text(typed.sql), used) if used else None


def _compiled(condition: exp.Expr, by_node: ByNode, planning: Planning) -> Typed:
    def leaf(node: exp.Expr) -> Typed | None:
        found = by_node.get(node)
        if found is not None:
            index, key = found
            return Typed(
                duck.column(f"b{index}"), key.type, key.typed.scale, key.typed.low, key.typed.high,
                longest=key.typed.longest,
            )  # fmt: skip
        if isinstance(node, exp.Column | exp.Query | exp.Exists | exp.AggFunc):
            raise Unsupported("not over keys alone")
        return None

    return compile_boolean(condition, Scope(ExpressionLevel.ROW, leaf, planning.parameters))


def _merged(
    by_node: ByNode, sets: tuple[KeySet, ...], touched: Sequence[int]
) -> tuple[ByNode, tuple[KeySet, ...]]:
    """The touched sets as one, in front; the keys numbered anew."""
    order = [*touched, *(i for i in range(len(sets)) if i not in touched)]
    starts = [sum(len(s.types) for s in sets[:i]) for i in range(len(sets))]
    moved = [n for i in order for n in range(starts[i], starts[i] + len(sets[i].types))]
    step(prod(len(sets[i].rows) for i in touched))
    rows = tuple(
        tuple(v for part in parts for v in part) for parts in product(*(sets[i].rows for i in touched))
    )
    known = [r for i in touched for r in sets[i].rests or ()]
    rests = None if any(sets[i].rests is None for i in touched) else tuple(known)
    types, names = (tuple(v for i in touched for v in getattr(sets[i], of)) for of in ("types", "names"))
    joint = KeySet(types, rows, rests=rests, names=names)
    rest = tuple(sets[i] for i in order[len(touched) :])
    return {n: (moved.index(i), k) for n, (i, k) in by_node.items()}, (joint, *rest)


def _kept(sql: str, by_node: ByNode, sets: tuple[KeySet, ...], place: int) -> tuple[KeySet, ...]:
    found = sets[place]
    step(len(found.rows))
    start = sum(len(s.types) for s in sets[:place])
    keys = dict(by_node.values())
    inputs = {
        f"b{start + n}": input_of(keys[start + n].typed, tuple(row[n] for row in found.rows))
        for n in range(len(found.types))
    }
    kept = holding(sql, tuple(inputs.items()))
    rows = tuple(row for row, holds in zip(found.rows, kept, strict=True) if holds)
    return (*sets[:place], replace(found, rows=rows), *sets[place + 1 :])
