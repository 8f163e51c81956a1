"""Conditions over rows: their conjuncts, and the equalities of key columns that keep two people's rows apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.planner.fields import Declared, Field, Identifier
from dpproxy.planner.relation import Rows, Scan


def conjuncts(where: exp.Expr | None) -> list[exp.Expr]:
    """The parts of WHERE that must all hold."""
    if where is None:
        return []
    left, found = [where.this], []
    while left:
        condition = left.pop(0).unnest()
        if isinstance(condition, exp.And):
            left = [condition.this, condition.expression, *left]
        elif isinstance(condition, exp.Or) and (shared := _shared(condition)):
            left = [*shared, *left]
        else:
            found.append(condition)
    return found


def _shared(condition: exp.Or) -> list[exp.Expr]:
    """(a AND b) OR (a AND c) as a, b OR c; nothing where the branches share no condition."""
    branches = [conjuncts(exp.Where(this=b.copy())) for b in condition.flatten()]
    common = [c for c in branches[0] if all(c in branch for branch in branches[1:])]
    if not common:
        return []
    rest = [[c for c in branch if c not in common] for branch in branches]
    if not all(rest):  # one branch asks for nothing else
        return common
    either = [exp.and_(*branch, copy=False) for branch in rest]
    return [*common, exp.or_(*either, copy=False)]


@dataclass(frozen=True, slots=True)
class Edge:
    """Two key columns of different items that identify the same thing, said to be equal."""

    left: tuple[Scan, Field]
    right: tuple[Scan, Field]

    @property
    def names(self) -> frozenset[str]:
        """The two items, by what tells them apart."""
        return frozenset({self.left[0].name, self.right[0].name})

    def other(self, scan: Scan) -> Scan:
        """The item that is not ``scan``."""
        return self.left[0] if self.right[0].name == scan.name else self.right[0]


def edge_of(node: exp.Expr, rows: Rows) -> Edge | None:
    """The equality of two key columns, None for any other condition."""
    node = node.unnest()
    if type(node) is not exp.EQ:
        return None
    sides = [key_column(side.unnest(), rows) for side in (node.this, node.expression)]
    left, right = sides
    if left is None or right is None or left[1].link != right[1].link:
        return None
    return None if left[0] is right[0] else Edge(left, right)


def key_column(node: exp.Expr, rows: Rows | None) -> tuple[Scan, Field] | None:
    """A key column of a protected item of this relation, or of one around it."""
    if type(node) is not exp.Column or rows is None:
        return None
    found = list(rows.candidates(node))
    if len(found) == 1:
        scan, field = found[0]
        return (scan, field) if field.link is not None and scan.unit is not None else None
    return None if found else key_column(node, rows.outer)


def _references(edge: Edge) -> list[tuple[Scan, tuple[Scan, Field]]]:
    """Which side is declared to refer, and the side with the column that it refers to.

    An edge is between columns that lead to the same, so whatever either is called, the one refers to the other.
    """
    found = []
    for (scan, field), (child, other) in ((edge.left, edge.right), (edge.right, edge.left)):
        is_target = isinstance(field, Identifier | Declared) and field.referred
        if is_target and isinstance(other, Identifier | Declared) and other.refers:
            found.append((child, (scan, field)))
    return found


def referred(edges: Sequence[Edge]) -> dict[str, list[str]]:
    """By item, the physical columns that rows of other items refer to along an edge."""
    found: dict[str, dict[str, None]] = {}
    for edge in edges:
        for _, (scan, field) in _references(edge):
            found.setdefault(scan.name, {})[field.column.name] = None
    return {name: sorted(columns) for name, columns in found.items()}


def references(edges: Sequence[Edge]) -> set[tuple[str, str]]:
    """The names of items that refer, each with the item that it refers to."""
    return {(child.name, scan.name) for e in edges for child, (scan, _) in _references(e)}


def equated(edge: Edge) -> list[nodes.Expr]:
    """The condition for the engine: the columns are equal, and so are the units that they lead to."""
    (left, a), (right, b) = edge.left, edge.right
    found: list[nodes.Expr] = []
    if not (isinstance(a, Identifier) and a.is_unit):
        found.append(nodes.Binary("=", duck.column(a.column.name), duck.column(b.column.name)))
    if left.unit is not None and right.unit is not None:
        found.append(nodes.Binary("=", left.unit, right.unit))
    return found
