"""Subqueries inside expressions over rows: IN, EXISTS and single values."""

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.errors import Unsupported
from dpproxy.planner.planning import Planning
from dpproxy.planner.relation import Inner, Rows
from dpproxy.planner.sources import Env


def inner_of(planning: Planning, env: Env) -> Inner:
    """Compiles the subqueries of expressions over rows."""

    def inner(node: exp.Expr, rows: Rows) -> Typed | None:
        if isinstance(node, exp.Exists | exp.Subquery) or (isinstance(node, exp.In) and node.args.get("query")):
            raise Unsupported("subqueries are not supported yet", position=position(node))
        return None

    return inner
