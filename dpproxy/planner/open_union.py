"""Set operations over open relations."""

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.errors import Unsupported
from dpproxy.planner.open import Open
from dpproxy.planner.planning import Planning


def open_union(query: exp.SetOperation, left: Open, right: Open, planning: Planning) -> Open:
    """UNION, INTERSECT and EXCEPT of open relations."""
    del left, right, planning
    raise Unsupported("set operations are not supported yet", position=position(query))
