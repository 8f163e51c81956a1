"""What a row expression is as a group key: a column's declared values, or what follows from them."""

from sqlglot import exp

from dpproxy.analysis.keys import Key
from dpproxy.planner.planning import Planning
from dpproxy.planner.relation import Rows


def key_of(node: exp.Expr, rows: Rows, planning: Planning, at: int | None) -> Key:
    """The key of a column or of an expression over columns. Raises PD003 where its values cannot be listed."""
    if type(node) is exp.Column:
        return rows.field(node).key(at)
    raise NotImplementedError(planning)
