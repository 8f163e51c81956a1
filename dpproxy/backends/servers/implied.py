"""Conditions on columns as they are stored, implied by those on their values inside declared bounds.

A server leaves out partitions by conditions on their column alone, and finds rows by an index likewise: a CASE around
the column hides it. So the implied condition stands beside the other one, which still decides.

The proof: where ``f(x) op c`` holds, ``f(x)`` is the value of one branch, the column x itself or a constant k, so that
``x op c`` holds, or ``k op c`` beside the branch's own condition. What is NULL makes no condition hold.
"""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis import duck

MOST_LISTED: Final = 100
"""Values of a list that is written once more."""
_COMPARISONS: Final = ("=", "<", "<=", ">", ">=")


def with_implied(where: nodes.Expr) -> nodes.Expr:
    """A condition with those that it implies about columns as they are stored."""
    implied = [found for part in _conjuncts(where) if (found := _implied(part)) is not None]
    return nodes.And((where, *implied)) if implied else where


def _conjuncts(node: nodes.Expr) -> Iterator[nodes.Expr]:
    node = duck.bare(node)
    if isinstance(node, nodes.And):
        for part in node.conditions:
            yield from _conjuncts(part)
    else:
        yield node


def _implied(node: nodes.Expr) -> nodes.Expr | None:
    match node:
        case nodes.Binary(operator, left, right) if operator in _COMPARISONS and _is_constant(right):
            return _of(duck.bare(left), lambda value: replace(node, left=value))
        case nodes.Binary(operator, left, right) if operator in _COMPARISONS and _is_constant(left):
            return _of(duck.bare(right), lambda value: replace(node, right=value))
        case nodes.InList(value, among) if len(among) <= MOST_LISTED and all(map(_is_constant, among)):
            return _of(duck.bare(value), lambda value: replace(node, value=value))
        case _:
            return None


def _of(mapped: nodes.Expr, condition: Callable[[nodes.Expr], nodes.Expr]) -> nodes.Expr | None:
    """What a condition on a value implies, where that is a column or one of some constants."""
    if not isinstance(mapped, nodes.Case):
        return None
    branches = [*mapped.branches, (nodes.Null(), mapped.default or nodes.Null())]
    columns = {value for _, value in branches if isinstance(value, nodes.ColumnRef)}
    others = [(when, value) for when, value in branches if value not in (*columns, nodes.Null())]
    if len(columns) != 1 or not all(_is_constant(value) for _, value in others):
        return None
    (column,) = columns
    found = [condition(column), *(_both(duck.bare(when), condition(value), column) for when, value in others)]
    return nodes.Paren(nodes.Or(tuple(found))) if others else found[0]


def _both(when: nodes.Expr, held: nodes.Expr, column: nodes.ColumnRef) -> nodes.Expr:
    """Both conditions, where the first is one on the column alone; otherwise the second, which is enough."""
    if not isinstance(when, nodes.Binary) or when.operator not in _COMPARISONS:
        return held
    is_plain = when.left == column and _is_constant(when.right)
    return nodes.Paren(nodes.And((when, held))) if is_plain else held


def _is_constant(node: nodes.Expr) -> bool:
    """Whether it is a whole number, a text, or a text as something else: beside these a column keeps its type."""
    node = duck.bare(node)
    if isinstance(node, nodes.Negative | nodes.Cast):
        wanted = nodes.Number if isinstance(node, nodes.Negative) else nodes.Text
        return isinstance(node.value, wanted) and _is_constant(node.value)
    return isinstance(node, nodes.Text) or (isinstance(node, nodes.Number) and node.text.isdigit())
