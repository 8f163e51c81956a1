"""What a row expression is as a group key: a column's declared values, or what follows from them."""

from collections.abc import Sequence

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.derived import derived_key, no_values
from dpproxy.analysis.keys import GroupKey, Values, of_moments
from dpproxy.analysis.typed import Typed
from dpproxy.planner.keys.moments import during
from dpproxy.planner.keys.narrowing import passing
from dpproxy.planner.keys.public_tables import listed
from dpproxy.planner.open.stages import equalities
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
        return of_moments(_declared_key(node, rows) or rows.field(node).key(at))

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


def _declared_key(node: exp.Column, rows: JoinedRows) -> GroupKey | None:
    """Of a column that was released: the key of a declared one that is equal to it in every row. None for others."""
    released = [field.column.name for scan, field in rows.candidates(node) if scan.stage is not None]
    sides = [
        duck.text(one)
        for equality in (equalities(rows.conditions) if released else ())
        for one, other in ((equality.left, equality.right), (equality.right, equality.left))
        if type(other) is nodes.ColumnRef and other.name in released
    ]
    for field in (f for scan in rows.scans if sides and scan.stage is None for f in scan.fields):
        try:
            key = field.key(None)
        except Refusal:
            continue
        if duck.text(key.raw) in sides or duck.text(key.typed.sql) in sides:
            return replace(key, name=node.name)
    return None
