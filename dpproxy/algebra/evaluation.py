"""What the engine would compute of released numbers, for all rows at once: NaN where it has NULL.

Of the few nodes that bounds are made of. An answer so needs no SQL for what is said beside it.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproxy.algebra import nodes

Floats = NDArray[np.float64]


def evaluate(node: nodes.Expr, columns: Mapping[str, Floats]) -> Floats:
    """The DOUBLE of each row; ``columns`` are those that it reads, of as many rows each."""
    with np.errstate(all="ignore"):
        found: Floats = _Rows(columns, {}).of(node)
    return found


class _Rows:
    """The columns, and values of ``Let`` by their names; a node that stands in several places is computed once."""

    def __init__(self, columns: Mapping[str, Floats], local: Mapping[str, list[Floats]]) -> None:
        self.columns = columns
        self.local = local
        self._found: dict[int, Any] = {}

    def of(self, node: nodes.Expr) -> Any:  # noqa: ANN401 - an array, of numbers or truths
        found = self._found.get(id(node))
        if found is None:
            found = self._found[id(node)] = _RULES[type(node)](self, node)
        return found

    def case(self, node: nodes.Case) -> Floats:
        """The first branch that holds."""
        found = np.nan if node.default is None else self.of(node.default)
        for condition, value in reversed(node.branches):
            found = np.where(self.of(condition), self.of(value), found)
        return np.asarray(found)

    def let(self, node: nodes.Let) -> Floats:
        """With its values for their names."""
        named = [self.of(value) for value in node.values]
        found: Floats = _Rows(self.columns, {**self.local, node.name: named}).of(node.made)
        return found


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "abs": np.abs,
    "exp": np.exp,
    "greatest": lambda *values: reduce(np.fmax, values),
    "least": lambda *values: reduce(np.fmin, values),
    "pow": np.power,
    "sqrt": np.sqrt,
}
_OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "=": np.equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_RULES: Final[dict[type[nodes.Expr], Callable[[_Rows, Any], Any]]] = {
    nodes.ColumnRef: lambda rows, node: rows.columns[node.name],
    nodes.Number: lambda _, node: np.float64(node.text),
    nodes.Null: lambda *_: np.nan,
    nodes.Paren: lambda rows, node: rows.of(node.value),
    nodes.Negative: lambda rows, node: -rows.of(node.value),
    nodes.Cast: lambda rows, node: rows.of(node.value),  # to DOUBLE
    nodes.Binary: lambda rows, node: _OPERATORS[node.operator](rows.of(node.left), rows.of(node.right)),
    nodes.And: lambda rows, node: np.logical_and.reduce([rows.of(one) for one in node.conditions]),
    nodes.Call: lambda rows, node: _FUNCTIONS[node.name](*map(rows.of, node.arguments)),
    nodes.Case: _Rows.case,
    nodes.Let: _Rows.let,
    nodes.Local: lambda rows, node: rows.local[node.name][node.place],
}
