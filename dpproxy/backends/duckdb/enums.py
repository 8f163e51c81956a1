"""Columns of an enum, read as the texts of their labels: the engine would compare them by their places."""

from collections.abc import Mapping, Sequence
from typing import cast

from dpproxy.algebra import nodes

Enums = Mapping[str, Sequence[tuple[str, bool]]]
"""The columns of each table that has one of an enum, in order, and whether they are."""


def as_texts(query: nodes.Query, enums: Enums) -> nodes.Query:
    """The statement over tables whose columns of an enum are texts."""

    def read(node: nodes.Node) -> nodes.Subquery | None:
        if not isinstance(node, nodes.Table) or node.path or node.name not in enums:
            return None
        items = [
            nodes.Named(nodes.Cast(column, "TEXT") if is_enum else column, name)
            for name, is_enum in enums[node.name]
            for column in (nodes.ColumnRef(name),)
        ]
        return nodes.Subquery(nodes.Select(items=tuple(items), source=node), node.alias or node.name)

    return cast("nodes.Query", query.transform(read)) if enums else query
