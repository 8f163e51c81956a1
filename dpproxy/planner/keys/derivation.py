"""What a row expression is as a group key: a column's declared values, or what follows from them."""

from collections.abc import Sequence

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.derived import derived_key, no_values
from dpproxy.analysis.keys import GroupKey, Values, of_moments
from dpproxy.analysis.typed import Typed
from dpproxy.planner.keys.moments import during
from dpproxy.planner.keys.narrowing import passing
from dpproxy.planner.keys.public_tables import listed
from dpproxy.planner.keys.staged import declared_key
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.conditions import has_value
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
        return of_moments(declared_key(node, rows) or rows.field(node).key(at))

    def values(column: exp.Column) -> Values | None:
        try:
            public = listed(column, rows, planning)
            if public is not None:
                return public
            key = declared_key(column, rows) or rows.field(column).key(None)
            return passing(column, key, conditions, planning)
        except Refusal:
            return None

    scope = rows.scope(planning.parameters)

    def narrowed(column: exp.Column, typed: Typed) -> Typed:
        found = during(column, typed, conditions, scope)
        return replace(found, nullable=found.nullable and not any(has_value(c, column) for c in conditions))

    return derived_key(node, duck.words(node).lower(), scope, values, narrowed)


def values_of(
    node: exp.Expr, rows: JoinedRows, planning: Planning, at: int | None, conditions: Sequence[exp.Expr] = ()
) -> Values:
    """What a column of the expression holds. Raises PD003 where these values cannot be listed."""
    key = key_of(node, rows, planning, at, conditions)
    if not key.is_held:
        raise no_values(node)
    return key.values
