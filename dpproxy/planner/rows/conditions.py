"""Conditions over rows: their conjuncts, and the equalities of key columns that keep two people's rows apart."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Notice
from dpproxy.analysis import duck
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.fields import Declared, Field, Identifier, KeyPart
from dpproxy.planner.rows.relation import JoinedRows, Scan
from dpproxy.sql.quoting import identifier
from dpproxy.values.pgtypes import ForeignKey


def conjuncts(where: exp.Expr | None) -> list[exp.Expr]:
    """The parts of WHERE that must all hold."""
    return conjuncts_of(None if where is None else where.this)


def conjuncts_of(condition: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that must all hold; none where there is none."""
    left, found = [] if condition is None else [condition], []
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
    branches = [conjuncts_of(b) for b in condition.flatten()]
    common = [c for c in branches[0] if all(c in branch for branch in branches[1:])]
    if not common:
        return []
    rest = [[c for c in branch if c not in common] for branch in branches]
    asked = (
        [exp.and_(*branch) for branch in rest] if all(rest) else []
    )  # else one branch asks for nothing more
    return [*(c.copy() for c in common), *([exp.or_(*asked, copy=False)] if asked else [])]


_NEVER_OF_NULL = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.Between, exp.In
)  # fmt: skip
"""Conditions that are not true, and no more under NOT, where an operand is NULL."""


def has_value(condition: exp.Expr, column: exp.Column) -> bool:
    """Whether a condition, by its form alone, holds only where a column has a value."""
    inner = condition.unnest()
    is_turned = isinstance(inner, exp.Not)
    inner = inner.this.unnest() if is_turned else inner
    if is_turned and isinstance(inner, exp.In) and inner.args.get("query") is not None:
        return False  # nothing is in an empty list
    if isinstance(inner, exp.Is):
        is_null = isinstance(inner.expression, exp.Null)
        return is_null and is_turned != bool(inner.args.get("negate")) and inner.this.unnest() == column
    sides = (inner.args.get("this"), inner.args.get("expression"))
    return isinstance(inner, _NEVER_OF_NULL) and any(s.unnest() == column for s in sides if s is not None)


Side = tuple[Scan, Field]
"""A column of an item."""


class Edge(Struct, frozen=True):
    """Two key columns of different items that identify the same thing, said to be equal."""

    left: Side
    right: Side

    @property
    def names(self) -> frozenset[str]:
        """The two items, by what tells them apart."""
        return frozenset({self.left[0].name, self.right[0].name})

    @property
    def is_link(self) -> bool:
        """Whether the columns lead to the unit by themselves, not as parts of a foreign key."""
        return self.left[1].link is not None and self.left[1].link == self.right[1].link

    def other(self, scan: Scan) -> Scan:
        """The item that is not ``scan``."""
        return self.left[0] if self.right[0].name == scan.name else self.right[0]


def edge_of(node: exp.Expr, rows: JoinedRows) -> Edge | None:
    """The equality of two key columns, None for any other condition."""
    node = node.unnest()
    if type(node) is not exp.EQ:
        return None
    left = key_column(node.this.unnest(), rows)
    return edge_between(left, None if left is None else key_column(node.expression.unnest(), rows))


def edges_of(conditions: Iterable[exp.Expr], rows: JoinedRows) -> list[Edge]:
    """The equalities of key columns among conditions."""
    return [edge for c in conditions if (edge := edge_of(c, rows)) is not None]


def edge_between(left: Side | None, right: Side | None) -> Edge | None:
    """Two key columns that identify the same thing."""
    if left is None or right is None or left[0] is right[0]:
        return None
    edge = Edge(left, right)
    return edge if edge.is_link or _shared_parts(left[1], right[1]) else None


def linking(edges: Sequence[Edge]) -> list[Edge]:
    """Those that say of two rows that they are one unit's: by a key, or by all the columns of a foreign key."""
    whole = {id(edge) for found in _whole_keys(edges) for edge in found.edges}
    return [edge for edge in edges if edge.is_link or id(edge) in whole]


def tell_added(edges: Sequence[Edge], planning: Planning) -> None:
    """Say of items whose rows meet along a foreign key alone that the equality of their units was added."""
    linked = {edge.names for edge in edges if edge.is_link}
    for whole in _whole_keys(edges):
        tables = sorted((whole.child.table, whole.target.table))
        if not linked & {edge.names for edge in whole.edges}:
            pair = " and ".join(map(identifier, dict.fromkeys(tables)))
            planning.tell(
                Notice(
                    f"rows of {pair} meet where they are one privacy unit's",
                    "The equality of their privacy keys was added to that of the foreign key's columns: the answer is "
                    "that of the statement as written wherever rows that refer to each other are of one unit.",
                )
            )


def key_column(node: exp.Expr, rows: JoinedRows | None) -> Side | None:
    """A key column of a protected item of this relation, or of one around it."""
    if type(node) is not exp.Column or rows is None:
        return None
    found = list(rows.candidates(node))
    if len(found) == 1:
        scan, field = found[0]
        return (
            (scan, field) if (field.link is not None or parts_of(field)) and scan.unit is not None else None
        )
    return None if found else key_column(node, rows.outer)


def parts_of(field: Field) -> tuple[KeyPart, ...]:
    """The places of a column in foreign keys."""
    return field.parts if isinstance(field, Identifier | Declared) else ()


def _shared_parts(one: Field, other: Field) -> list[tuple[KeyPart, KeyPart]]:
    """The places that two columns have in one foreign key."""
    return [(a, b) for a in parts_of(one) for b in parts_of(other) if (a.key, a.place) == (b.key, b.place)]


class _Whole(Struct, frozen=True):
    """All columns of a foreign key, equated between two items."""

    edges: tuple[Edge, ...]
    child: Scan
    target: Scan
    columns: tuple[str, ...]
    """The physical columns of the second item."""
    is_reference: bool
    """The first item refers to the second, in which each row of its table is at most once."""


def _whole_keys(edges: Sequence[Edge]) -> list[_Whole]:
    """The foreign keys that hold; of two between the same items, not the one with a part of the other's columns."""
    found = list(_every_key(edges))
    return [
        one
        for one in found
        if not any(
            set(map(id, one.edges)) < set(map(id, other.edges)) and one.is_reference <= other.is_reference
            for other in found
            if (one.child.name, one.target.name) == (other.child.name, other.target.name)
        )
    ]


def _every_key(edges: Sequence[Edge]) -> Iterator[_Whole]:
    found: dict[tuple[object, ...], dict[int, tuple[Edge, Side, Side, bool]]] = {}
    for edge in edges:
        for one, other in ((edge.left, edge.right), (edge.right, edge.left)):
            for own, like in _shared_parts(one[1], other[1]):
                group = own.key, one[0].name, other[0].name, own.is_target, like.is_target
                refers = not own.is_target and like.is_target and like.is_once
                found.setdefault(group, {})[own.place] = edge, one, other, refers
    for (key, *_), places in found.items():
        if isinstance(key, ForeignKey) and len(places) == len(key.columns):
            ordered = [places[n] for n in sorted(places)]
            _, (child, _), (target, _), _ = ordered[0]
            columns = tuple(field.column.name for _, _, (_, field), _ in ordered)
            is_reference = all(refers for *_, refers in ordered)
            yield _Whole(tuple(edge for edge, *_ in ordered), child, target, columns, is_reference)


def _references(edges: Sequence[Edge]) -> Iterator[tuple[Scan, Scan, tuple[str, ...]]]:
    """The item that is declared to refer, the item that it refers to, and the physical columns of this one.

    An edge is between columns that lead to the same, so whatever either is called, the one refers to the other.
    """
    for edge in edges:
        for (scan, field), (child, other) in ((edge.left, edge.right), (edge.right, edge.left)):
            is_target = isinstance(field, Identifier | Declared) and field.referred
            if edge.is_link and is_target and isinstance(other, Identifier | Declared) and other.refers:
                yield child, scan, (field.column.name,)
    for whole in _whole_keys(edges):
        if whole.is_reference:
            yield whole.child, whole.target, whole.columns


def referred(edges: Sequence[Edge]) -> dict[str, list[tuple[str, ...]]]:
    """By item, the physical columns that rows of other items refer to: together those of one reference."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for _, scan, columns in _references(edges):
        found.setdefault(scan.name, set()).add(columns)
    return {name: sorted(columns) for name, columns in found.items()}


def references(edges: Sequence[Edge]) -> set[tuple[str, str]]:
    """The names of items that refer, each with the item that it refers to."""
    return {(child.name, scan.name) for child, scan, _ in _references(edges)}


def equated(edge: Edge) -> list[nodes.Expr]:
    """The condition for the engine: the columns are equal, and so are the units that they lead to."""
    (left, a), (right, b) = edge.left, edge.right
    found: list[nodes.Expr] = []
    if not (edge.is_link and isinstance(a, Identifier) and a.is_unit):
        found.append(nodes.Binary("=", duck.column(a.column.name), duck.column(b.column.name)))
    if left.unit is not None and right.unit is not None:
        found.append(nodes.Binary("=", left.unit, right.unit))
    return found
