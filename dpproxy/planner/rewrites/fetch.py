"""``FETCH FIRST n ROWS ONLY`` in the one form of all that follows the parser: ``LIMIT n``.

``LIMIT ALL``, ``LIMIT NULL`` and ``OFFSET NULL`` limit nothing, and are left out.
"""

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.planner.rewrites.ties import is_written
from dpproxy.values.errors import Unsupported


def write_limits(tree: exp.Expr) -> None:
    """Write limits in one way, in place on our own fresh tree. Raises ``Unsupported`` for WITH TIES and PERCENT."""
    for node in reversed(list(tree.find_all(exp.Fetch, exp.Limit, exp.Offset))):  # what is inside first
        if _has_ties(node) and is_written(node):
            continue
        _check(node.args.get("limit_options"), node)
        if isinstance(node, exp.Fetch):
            count = node.args.get("count") or exp.Literal.number(1)
            node = node.replace(exp.Limit(expression=count))  # noqa: PLW2901 - the same in its other form
        if _is_none(node.expression):
            node.pop()


def _has_ties(node: exp.Expr) -> bool:
    options = node.args.get("limit_options")
    return options is not None and bool(options.args.get("with_ties")) and not options.args.get("percent")


def _check(options: exp.Expr | None, node: exp.Expr) -> None:
    words = {"with_ties": "WITH TIES", "percent": "PERCENT"}
    for name, word in words.items():
        if options is not None and options.args.get(name):
            raise Unsupported(
                f"{word} is not supported",
                hint="FETCH FIRST n ROWS ONLY, or LIMIT n.",
                position=position(node),
            )
    node.set("limit_options", None)


def _is_none(node: exp.Expr) -> bool:
    value = node.unnest()
    return isinstance(value, exp.Null) or (type(value) is exp.Var and value.name.upper() == "ALL")
