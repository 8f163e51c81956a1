"""Where the operands of an expression stand in the tree."""

from collections.abc import Callable, Iterable

from sqlglot import exp

from dpproxy.backends.dialect import unanswered


def parts(node: exp.Expr) -> Iterable[exp.Expr]:
    """The operands of an expression, in the order they are written."""
    for kind, parts in _OPERANDS:
        if isinstance(node, kind):
            return parts(node)
    raise unanswered("this construct")


def _case(node: exp.Case) -> Iterable[exp.Expr]:
    if node.this is not None:
        raise unanswered("CASE x WHEN y")
    for branch in node.args["ifs"]:
        yield from (branch.this, branch.args["true"])
    if node.args.get("default") is not None:
        yield node.args["default"]


def _aggregated(node: exp.Expr) -> Iterable[exp.Expr]:
    if isinstance(node.this, exp.Distinct):
        yield from node.this.expressions
    elif not isinstance(node.this, exp.Star):
        yield node.this


def _arguments(node: exp.Expr) -> Iterable[exp.Expr]:
    for value in node.args.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr) and not isinstance(part, exp.Var):
                yield part


_OPERANDS: tuple[
    tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], Callable[..., Iterable[exp.Expr]]], ...
] = (
    (exp.Case, _case),
    ((exp.Count, exp.Sum), _aggregated),
    (exp.In, lambda node: [node.this, *node.expressions]),
    (exp.Cast, lambda node: [node.this]),
    (exp.Binary, lambda node: [node.left, node.right]),
    (exp.Func, _arguments),
    (exp.Unary, lambda node: [node.this]),
    ((exp.Literal, exp.Boolean, exp.Null, exp.Placeholder), lambda _: []),
)
"""The first that fits: AND is a function to the parser, too."""
