"""Aggregates over nothing but declared keys: they would count what the policy lists, and not what people have.

``SELECT count(*) FROM (SELECT DISTINCT day FROM visits) t`` reads as a number of days with visits. Every declared day
is a row of the subquery, so its answer is known beforehand: ``count(DISTINCT day)`` is what is meant.
"""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.aggregates.table import is_aggregate
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.planner.open.relations import Open
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.planner.rows.sources import Env, FromEntry
from dpproxy.planner.select_list import items
from dpproxy.values.errors import Unsupported


def lists_keys(found: Sequence[FromEntry]) -> bool:
    """Whether everything released in FROM is a list of declared keys."""
    released = [e.relation for e in found if isinstance(e.relation, Open) and e.relation.released]
    return bool(released) and all(r.declared for r in released)


def refuse_counted(select: exp.Select, found: Sequence[FromEntry], env: Env) -> None:
    """Raise ``Unsupported`` for an aggregate over such a FROM; the hint is the question that was meant."""
    places = [*select.expressions, *(select.args[a] for a in ("having", "order") if select.args.get(a))]
    node = next((n for p in places for n in own_nodes(p) if is_aggregate(n)), None)
    if node is None or not lists_keys(found):
        return
    raise Unsupported(
        "every declared key is in this subquery, whatever people have: an aggregate of it says nothing about them",
        hint=_meant(found, env),
        position=position(node),
    )


def _meant(found: Sequence[FromEntry], env: Env) -> str:
    """A count of different values, or of people by key."""
    query = _query(found[0], env) if len(found) == 1 else None
    if query is None:
        return "Count different values: count(DISTINCT x); or show how many people each key has."
    shown = [item.node.unnest() for item in items(query)]
    meant: exp.Select = query.copy()
    for clause in ("distinct", "group", "order", "limit", "offset"):
        meant.set(clause, None)
    if len(shown) == 1:
        counted = exp.Count(this=exp.Distinct(expressions=[shown[0].copy()]))
        meant.set("expressions", [counted])
        return f"{duck.words(meant)};"
    meant.set("expressions", [*(n.copy() for n in shown), exp.Count(this=exp.Star())])
    meant.set("group", exp.Group(expressions=[n.copy() for n in shown]))
    return f"{duck.words(meant)};"


def _query(entry: FromEntry, env: Env) -> exp.Select | None:
    """The SELECT that lists the keys, where it stands alone."""
    query = entry.node.this if isinstance(entry.node, exp.Subquery) else None
    if isinstance(entry.node, exp.Table) and not entry.node.db and entry.node.name in env.ctes:
        query = env.ctes[entry.node.name][0].this
    is_plain = isinstance(query, exp.Select) and not any(query.args.get(a) for a in ("with_", "having"))
    from_ = query.args.get("from_") if is_plain and query is not None else None
    return (
        query
        if from_ is not None
        and type(from_.this) is exp.Table
        and (from_.this.db or from_.this.name not in env.ctes)
        else None
    )
