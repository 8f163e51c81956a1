"""What a statement seems to read and to release, by its tree: a first pass takes that for true, and finds out."""

from collections.abc import Callable, Sequence, Set
from math import prod

from sqlglot import exp

from dpproxy.planner.access import Context, Use, find_table, table_name
from dpproxy.planner.keys.grouping import has_aggregates
from dpproxy.planner.rows.scans import is_public
from dpproxy.planner.views import find_view, uses
from dpproxy.values.errors import Refusal

_SEVERAL: dict[type[exp.Expr], Callable[[int], int]] = {
    exp.GroupingSets: lambda n: n,
    exp.Rollup: lambda n: n + 1,
    exp.Cube: lambda n: 2 ** min(n, 6),
}
"""How many grouping sets there are of so many entries."""


def tables_of(tree: exp.Expr, context: Context) -> list[Use]:
    """The protected tables a statement seems to name: right for all but names that WITH hides."""
    hidden = {c.alias for c in tree.find_all(exp.CTE)}
    found: list[Use] = []
    for table in tree.find_all(exp.Table):
        if table.db or table.name not in hidden:
            try:
                if find_view(table, context, inside=False) is not None:
                    found += uses(table, context)
                elif not is_public(find_table(table, context)):
                    found.append(Use(table, table_name(table)))
            except Refusal:  # said with its place by the pass itself
                continue
    return found


def releases_of(tables: Sequence[Use], context: Context) -> int:
    """How many releases there seem to be: one for each grouping set of the nearest SELECTs around protected tables."""
    units = {u.key for t in tables if (u := context.policy.tables[t.table].unit) is not None}
    found = {_around(use.node, units) for use in tables}
    return max(1, sum(_sets(select) for select in found if select is not None))


def _around(node: exp.Expr, units: Set[str | None]) -> exp.Select | None:
    """The nearest SELECT that makes groups; in an inner one, of more than the rows of one unit."""
    select = node.find_ancestor(exp.Select)
    while select is not None and select.parent is not None:
        group, distinct, where = (select.args.get(a) for a in ("group", "distinct", "where"))
        places = [group, distinct, where, *(select.expressions if distinct else ())]
        is_of_people = any(c.name in units for p in places if p is not None for c in p.find_all(exp.Column))
        if not is_of_people and (group or distinct or has_aggregates(select)):
            break
        select = select.find_ancestor(exp.Select)
    return select


def _sets(select: exp.Select) -> int:
    group = select.args.get("group")
    entries = [] if group is None else group.expressions
    return prod(_SEVERAL[type(e)](len(e.expressions)) for e in entries if type(e) in _SEVERAL)
