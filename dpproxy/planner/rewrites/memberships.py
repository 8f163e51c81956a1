"""``CASE WHEN k IN (SELECT ... LIMIT 5) THEN k ELSE 'other' END`` over rows: released values are joined.

From the join follow the keys that are answered (``keys/staged.py``).
"""

from collections.abc import Iterator

from sqlglot import exp

from dpproxy.aggregates.table import is_call
from dpproxy.analysis import duck
from dpproxy.planner.access import find_table
from dpproxy.planner.keys.grouping import has_aggregates
from dpproxy.planner.planning import Planning
from dpproxy.planner.rewrites.public_keys import keys_of
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.planner.rows.scans import is_public
from dpproxy.planner.rows.sources import Env
from dpproxy.values.errors import Refusal


def with_memberships(select: exp.Select, planning: Planning, env: Env) -> exp.Select:
    """A copy with such lists joined; the SELECT itself where it has none.

    A test alone, or beside others by AND and OR, may be false in place of NULL: WHEN holds of neither.
    """
    if not any(_tests(select, env)) or not is_of_people(select, planning, env):
        return select
    found = {
        t: exp.column("#0", f"#in{n}", quoted=True) for n, t in enumerate(dict.fromkeys(_tests(select, env)))
    }
    cases = [*dict.fromkeys(n for place in places(select) for n in own_nodes(place) if type(n) is exp.Case)]
    copy: exp.Select = select.copy()
    for case in [n for n in own_nodes(copy) if type(n) is exp.Case and n in cases]:
        case.meta[duck.WRITTEN] = duck.outline(case)
        for branch in case.args["ifs"]:
            for test in [t for t in _parts(branch.this) if type(t) is exp.In and t in found]:
                test.replace(exp.Not(this=exp.Is(this=found[test].copy(), expression=exp.Null())))
    for test, column in found.items():
        listed = exp.Subquery(this=test.args["query"].this.copy(), alias=_named(column))
        once = exp.Select(expressions=[column.copy()], distinct=exp.Distinct(), from_=exp.From(this=listed))
        joined = exp.Subquery(this=once, alias=_named(column))
        on = exp.EQ(this=test.this.copy(), expression=column.copy())
        copy.append("joins", exp.Join(this=joined, side="LEFT", on=on))
    return copy


def is_of_people(query: exp.Expr, planning: Planning, env: Env) -> bool:
    """Whether a query, or a table, has rows that are somebody's, and were not released."""
    if isinstance(query, exp.Subquery | exp.CTE):
        return is_of_people(query.this, planning, env)
    if isinstance(query, exp.Table):
        if not query.db and query.name in env.ctes:
            cte, known = env.ctes[query.name]
            return is_of_people(cte, planning, known)
        try:
            return not is_public(find_table(query, planning.context, inside=env.view is not None))
        except Refusal:  # a view, or nothing: said where it stands
            return query.name not in env.planned
    if not isinstance(query, exp.Select):
        return True
    clause = query.args.get("from_")
    found = [] if clause is None else [clause.this, *(j.this for j in query.args.get("joins") or ())]
    return any(is_of_people(n, planning, env) and not _is_released(n, env) for n in found)


def _named(column: exp.Column) -> exp.TableAlias:
    return exp.TableAlias(this=column.args["table"].copy(), columns=[column.this.copy()])


def _tests(select: exp.Select, env: Env) -> Iterator[exp.In]:
    """The tests of WHEN, outside aggregates, whether a column is among values that are released."""
    for place in places(select):
        for case in (n for n in own_nodes(place) if type(n) is exp.Case and n.args.get("this") is None):
            if not is_in_call(case, place):
                for branch in case.args["ifs"]:
                    yield from (t for t in _parts(branch.this) if type(t) is exp.In and _is_list(t, env))


def places(select: exp.Select) -> list[exp.Expr]:
    """What is computed of each row: the keys, or the SELECT list where nothing is grouped."""
    if select.args.get("group") is not None:
        return list(keys_of(select))
    return [] if has_aggregates(select) else select.expressions


def is_in_call(node: exp.Expr | None, place: exp.Expr) -> bool:
    """Whether an aggregate or a window function inside ``place`` stands around it."""
    while node is not None and node is not place.parent:
        if is_call(node) or isinstance(node, exp.Window):
            return True
        node = node.parent
    return False


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    condition = condition.unnest()
    if isinstance(condition, exp.And | exp.Or):
        yield from _parts(condition.this)
        yield from _parts(condition.expression)
    else:
        yield condition


def _is_list(test: exp.In, env: Env) -> bool:
    query = test.args.get("query")
    if query is None or type(test.this.unnest()) is not exp.Column:
        return False
    return len(query.selects) == 1 and _is_released(query, env)


def _is_released(query: exp.Expr, env: Env) -> bool:
    """Whether a query groups rows, or reads what one of the same SELECT or of WITH does."""
    if isinstance(query, exp.Subquery | exp.CTE):
        return _is_released(query.this, env)
    if isinstance(query, exp.Table):
        cte = env.ctes.get(query.name) if not query.db else None
        return cte is not None and _is_released(cte[0], cte[1])
    if not isinstance(query, exp.Select):
        return False
    source = query.args.get("from_")
    return (
        query.args.get("group") is not None
        or has_aggregates(query)
        or (source is not None and not query.args.get("joins") and _is_released(source.this, env))
    )
