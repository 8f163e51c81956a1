"""What a computed column can be as a group key, where its expression reads values of one person's rows.

A part of the expression, an aggregate or a window function, has values that follow from the policy. The column has
those that the expression gives of them.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.derived import derived_key
from dpproxy.analysis.keys import Values
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed
from dpproxy.planner.keys.derivation import values_of
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.derive import enumerated
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.values.errors import Refusal

Keys = Callable[[int | None], Values]
PartOf = Callable[[exp.Expr], "ExpressionPart | None"]
"""The part that a node is; None for other nodes."""


class ExpressionPart(Struct, frozen=True):
    """A part of an expression: its value, and what that can be."""

    typed: Typed
    keys: Keys | None = None
    """None where they follow from its type and bounds alone."""

    def named(self, name: str) -> Keys:
        """The same under the name of its column."""
        return self.keys or enumerated(name, self.typed)


def picked(node: exp.Expr, rows: JoinedRows, planning: Planning, *, may_miss: bool) -> Keys:
    """The values of one row of several: those of ``node``, and NULL where there may be no such row."""

    def keys(at: int | None) -> Values:
        found = tuple(values_of(node, rows, planning, at))
        return (*found, None) if may_miss and None not in found else found

    return keys


def image_of(node: exp.Expr, name: str, typed: Typed, part_of: PartOf, scope: Scope) -> Keys:
    """The values of an expression whose columns are all inside parts. What is refused, is so when it is asked."""

    def keys(at: int | None) -> Values:
        whole = part_of(node)
        if whole is not None:
            return whole.named(name)(at)
        written, by_column = _in_parts(node, part_of)

        def leaf(inner: exp.Expr) -> Typed | None:
            part = by_column.get(inner) if type(inner) is exp.Column else None
            return scope.leaf(inner) if part is None else replace(part.typed, sql=duck.column(inner.name))

        found = derived_key(written, name, replace(scope, leaf=leaf), lambda c: _listed(by_column.get(c)))
        if found.typed.scale != typed.scale:  # listed in steps that the column is not held in
            return enumerated(name, typed)(at)
        return found.values

    return keys


def _in_parts(node: exp.Expr, part_of: PartOf) -> tuple[exp.Expr, dict[exp.Expr, ExpressionPart]]:
    """The expression with a column in the place of each part."""
    columns: dict[exp.Expr, exp.Column] = {}
    found: dict[exp.Expr, ExpressionPart] = {}

    def put(inner: exp.Expr) -> exp.Expr:
        part = part_of(inner)
        if part is None:
            return inner
        column = columns.setdefault(inner, exp.column(f"#{len(columns)}", quoted=True))
        found[column] = part
        return column.copy()

    return node.transform(put), found


def _listed(part: ExpressionPart | None) -> Values | None:
    try:
        return None if part is None else part.named("")(None)
    except Refusal:
        return None
