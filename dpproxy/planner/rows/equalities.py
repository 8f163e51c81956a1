"""Equalities between the items of a join, written so that an engine finds the pairs by hashing.

DuckDB turns a list of five or more values into a join of its own; an equality with such a list inside it is then no
condition of the join around it any more, which becomes every row beside every other one.
"""

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from dpproxy.algebra import nodes
from dpproxy.analysis import duck


def hashed(conditions: Sequence[nodes.Expr]) -> list[nodes.Expr]:
    """The same conditions, all of which must hold, with no list of values inside an equality of two sides with columns.

    A column mapped into listed values is compared as it is, with the list beside it: what is NULL for the one form is
    false for the other, and neither keeps the row. Other lists are written as alternatives.
    """
    return [found for condition in conditions for found in _hashed(condition)]


def _hashed(condition: nodes.Expr) -> Iterator[nodes.Expr]:
    equality = duck.bare(condition)
    if not is_equality(equality) or not _is_between(equality) or not equality.has(nodes.InList):
        yield condition
        return
    sides, tests = [equality.left, equality.right], []
    if equality.operator == "=":
        for place, side in enumerate(sides):
            test = _listed(side)
            if test is not None:
                sides[place] = test.value
                tests.append(test)
    yield nodes.Binary(equality.operator, _spelled(sides[0]), _spelled(sides[1]))
    yield from tests


def is_equality(node: nodes.Node) -> TypeGuard[nodes.Binary]:
    """``=``, or the one that NULLs pass."""
    return isinstance(node, nodes.Binary) and node.operator in ("=", "IS NOT DISTINCT FROM")


def _is_between(equality: nodes.Binary) -> bool:
    return equality.left.has(nodes.ColumnRef) and equality.right.has(nodes.ColumnRef)


def _listed(side: nodes.Expr) -> nodes.InList | None:
    """The test of CASE WHEN x IN (...) THEN x END; None for any other expression."""
    mapped = duck.bare(side)
    if not isinstance(mapped, nodes.Case) or mapped.default is not None or len(mapped.branches) != 1:
        return None
    [(when, then)] = mapped.branches
    test = duck.bare(when)
    return test if isinstance(test, nodes.InList) and test.value == then else None


def _spelled(side: nodes.Expr) -> nodes.Expr:
    """With alternatives in place of lists."""
    return side.replaced(_alternatives)


def _alternatives(node: nodes.Node) -> nodes.Node | None:
    if not isinstance(node, nodes.InList):
        return None
    value = _spelled(node.value)
    return nodes.Paren(_either([nodes.Binary("=", value, other) for other in node.among]))


def _either(conditions: Sequence[nodes.Expr]) -> nodes.Expr:
    """As deep as it has to be, and no deeper."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return nodes.Paren(nodes.Or((_either(conditions[:middle]), _either(conditions[middle:]))))
