"""A look-up of a public value as a key, ``(SELECT name FROM wards WHERE wards.ward = t.ward)``, as the join that it is.

From the join follow the values that the key has. In an aggregate it stays a look-up (``rows/predicates.py``).
"""

from collections.abc import Iterator

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.planner.keys.grouping import has_aggregates
from dpproxy.planner.open.relations import Open
from dpproxy.planner.planning import Planning
from dpproxy.planner.rewrites.correlation import Grouped, grouped_by_row, one_of_rows
from dpproxy.planner.rewrites.memberships import is_in_call, is_of_people, places
from dpproxy.planner.rewrites.public_keys import Tables
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.planner.rows.sources import Env, apart


def with_lookups(select: exp.Select, planning: Planning, env: Env) -> exp.Select:
    """A copy with such subqueries joined; the SELECT itself where it has none."""
    if next(_subqueries(select), None) is None or not is_of_people(select, planning, env):
        return select
    found = {node: held for node in _subqueries(select) if (held := _lookup(node, planning, env)) is not None}
    if not found:
        return select
    copy: exp.Select = select.copy()
    for place, (node, held) in enumerate(found.items()):
        alias = exp.to_identifier(f"#look{place}", quoted=True)
        *keys, value = (exp.column(f"#{n}", alias, quoted=True) for n in range(len(held.around) + 1))
        on = [exp.EQ(this=k, expression=a.copy()) for k, a in zip(keys, held.around, strict=True)]
        value.meta[duck.WRITTEN] = duck.outline(node)
        joined = exp.Subquery(this=held.select, alias=exp.TableAlias(this=alias))
        for same in [n for n in own_nodes(copy) if n == node]:
            same.replace(value.copy())
        copy.append("joins", exp.Join(this=joined, side="LEFT", on=exp.and_(*on, copy=False)))
    return copy


def _subqueries(select: exp.Select) -> Iterator[exp.Subquery]:
    """Those for one value in what is computed of each row."""
    for place in places(select):
        for node in own_nodes(place):
            if type(node) is not exp.Subquery or type(node.this) is not exp.Select:
                continue
            if type(node.parent) is not exp.In and not is_in_call(node, place):
                yield node


def _lookup(node: exp.Subquery, planning: Planning, env: Env) -> Grouped | None:
    """The values by what they are looked up by, each once; None where it follows no row, or may find several."""
    select = node.this
    tables = Tables.of(select, planning, env)
    if tables is None or not tables.is_open:
        return None
    one = None if has_aggregates(select) else one_of_rows(select)
    found = grouped_by_row(one or select, tables.has)
    if found is None or found.is_filled:
        return None
    if one is not None:
        several = apart(found.of_several(), "", planning, env)
        if not isinstance(several, Open) or planning.context.facts(duck.all_of(several.query, 1)):
            return None
    return found
