"""What a row expression is as a group key: a column's declared values, or what follows from them."""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.derived import derived_key
from dpproxy.analysis.keys import GroupKey, Values, of_moments
from dpproxy.analysis.typed import Typed
from dpproxy.planner.keys.moments import during
from dpproxy.planner.keys.narrowing import passing
from dpproxy.planner.keys.public_tables import listed
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.values.errors import Refusal


def key_of(
    node: exp.Expr, rows: JoinedRows, planning: Planning, at: int | None, conditions: Sequence[exp.Expr] = ()
) -> GroupKey:
    """The key of a column or of an expression over columns. Raises PD003 where its values cannot be listed.

    An expression is over the values that pass the ``conditions`` of WHERE about one column, and over timestamps
    between the moments that they name.
    """
    if type(node) is exp.Column:
        return of_moments(rows.field(node).key(at))

    def values(column: exp.Column) -> Values | None:
        try:
            public = listed(column, rows, planning)
            if public is not None:
                return public
            return passing(column, rows.field(column).key(None), conditions, planning)
        except Refusal:
            return None

    scope = rows.scope(planning.parameters)

    def narrowed(column: exp.Column, typed: Typed) -> Typed:
        return during(column, typed, conditions, scope)

    return derived_key(node, duck.words(node).lower(), scope, values, narrowed)
