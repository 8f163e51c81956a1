"""What several expressions over a release are made of, computed once for all: columns of the release.

The values of each ``Let`` become columns beside those of the release that they follow from, in as many layers as they
follow from one another; equal ones are one column. So an engine reads little, and computes each once for each row.
They are computed whether or not the branch around them is taken: what a ``Let`` names must have a value in every row.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from dpproxy.algebra.figures import Settled
from dpproxy.algebra.nodes import (
    Bare,
    ColumnRef,
    Combined,
    Expr,
    Item,
    Later,
    Let,
    Local,
    Named,
    Node,
    Release,
    Select,
    Star,
    Subquery,
)

N = TypeVar("N", bound=Node)


def filled(node: N, settled: Settled) -> N:
    """With what its figures are; of SELECTs over releases then what is computed once has columns of its own."""

    def rule(part: Node) -> Node | None:
        if type(part) is Later:
            return filled(cast("Node", settled.of(part.figure)), settled)
        is_meant = type(part) is Select and type(part.source) is Release
        return _layered(cast("Select", part), settled) if is_meant else None

    return cast("N", node.transform(rule, {}))


def _layered(query: Select, settled: Settled) -> Select:
    """The same rows, of a SELECT over releases."""
    found = _Layers(settled)
    known: dict[int, Node] = {}
    taken = {
        name: found.of(part, {}, known)
        if isinstance(part, Expr)
        else tuple(found.of(each, {}, known) for each in part)
        for name in ("items", "where", "order")
        if (part := getattr(query, name))
    }
    joins = tuple(replace(join, item=found.source(join.item)) for join in query.joins)
    return replace(query, **taken, source=found.source(query.source), joins=joins)


_Values = Mapping[str, Sequence[Expr]]
_MEANT = frozenset((Local, Let, Later, Select, Combined))


class _Layers(Struct):
    """The columns by what they are, and of each release by how many layers they need."""

    settled: Settled
    places: dict[Expr, ColumnRef] = field(default_factory=dict)
    depths: dict[ColumnRef, int] = field(default_factory=dict)
    layers: dict[str, list[list[Expr]]] = field(default_factory=dict)

    def of(self, node: Node, local: _Values, known: dict[int, Node]) -> Node:
        """A node without ``Let``; ``local`` are the values of those around, ``known`` what came of nodes there."""
        return node.transform(lambda part: self._placed(part, local, known), known)

    def _placed(self, node: Node, local: _Values, known: dict[int, Node]) -> Node | None:
        if type(node) not in _MEANT:  # most nodes
            return None
        match node:
            case Local(name, place):
                return local[name][place]
            case Let(name, values, made):
                named = [self._column(self.of(value, local, known)) for value in values]
                found = known[id(node)] = self.of(made, {**local, name: named}, {})
                return found
            case Later(figure):
                return self.of(self.settled.of(figure), local, known)
            case _:
                return filled(node, self.settled)  # a query: its own columns are shared there

    def _column(self, value: Node) -> Expr:
        """What stands for a value: a column or a constant, or a new column."""
        if not isinstance(value, Expr):
            raise TypeError("a value is an expression")
        found = value if isinstance(value, ColumnRef) else self.places.get(value)
        if found is None:
            read = set(value.find_all(ColumnRef))
            if not read:
                return value
            [release] = {column.table or "" for column in read}
            depth = 1 + max(self.depths.get(column, -1) for column in read)
            layers = self.layers.setdefault(release, [])
            layers += [[] for _ in range(depth + 1 - len(layers))]
            found = self.places[value] = ColumnRef(f"b{len(self.places)}", release)
            layers[depth].append(Named(value, found.name))
            self.depths[found] = depth
        return found

    def source(self, node: Item | None) -> Item | None:
        """A release with its columns, under the same name."""
        if not isinstance(node, Release):
            return node
        found: Item = node
        for layer in self.layers.get(node.alias, ()):
            found = Subquery(Select((Star(), *layer), found), Bare(node.alias))
        return found
