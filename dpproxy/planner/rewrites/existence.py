"""``SELECT 1 FROM t LIMIT 1``: how tools ask whether a table is there, or has rows.

Without a condition the answer is one row from the policy, and free: rows are never looked at, so it says the same of a
table without any. With a condition the answer would tell whether somebody meets it.
"""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.planner.open.relations import Open
from dpproxy.planner.open.select import open_select
from dpproxy.planner.planning import Planning
from dpproxy.planner.rewrites.empty import has_one_row
from dpproxy.planner.rows.from_rows import rows_of
from dpproxy.planner.rows.predicates import inner_of
from dpproxy.planner.rows.sources import Env, FromEntry
from dpproxy.policy.model import TablePolicy
from dpproxy.values.errors import NotGranted

_CONDITIONS = ("where", "joins")
_OTHERS = ("group", "having", "distinct", "offset", "order", "windows", "qualify")
_ROWS = (exp.Column, exp.Star, exp.AggFunc, exp.Window, exp.Query, exp.Dot)


def existence(select: exp.Select, found: Sequence[FromEntry], planning: Planning, env: Env) -> Open | None:
    """The one row of such a SELECT over a protected table, None for any other.

    Raises ``NotGranted`` where there is a condition, with the count of what meets it as the hint.
    """
    is_asked = has_one_row(select) and not any(select.args.get(a) for a in _OTHERS)
    if not is_asked or any(e.find(*_ROWS) is not None for e in select.expressions):
        return None
    if any(select.args.get(a) for a in _CONDITIONS):
        rows_of(select, list(found), planning, env, inner_of(planning, env))  # what the hint asks is answered
        raise NotGranted(
            "whether rows meet a condition is counted, with noise, and not told otherwise",
            hint=f"{duck.words(_counting(select))};",
            position=position(select.args["from_"].this),
        )
    if len(found) != 1 or not isinstance(found[0].relation, TablePolicy):
        return None
    constants: exp.Select = select.copy()
    for clause in ("from_", "limit"):
        constants.set(clause, None)
    return open_select(constants, [], planning, env)


def _counting(select: exp.Select) -> exp.Select:
    count: exp.Select = select.copy()
    count.set("expressions", [exp.Count(this=exp.Star())])
    count.set("limit", None)
    return count
