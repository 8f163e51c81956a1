"""Set operations."""

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.errors import Unsupported
from dpproxy.planner.planning import Planning
from dpproxy.planner.sources import Env, Relation


def set_operation(query: exp.SetOperation, alias: str, planning: Planning, env: Env) -> Relation:
    """UNION ALL over rows; any set operation over open relations."""
    raise Unsupported("set operations are not supported yet", position=position(query))
