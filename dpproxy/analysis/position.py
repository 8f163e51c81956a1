"""Where a node stands in the statement's text."""

from sqlglot import exp


def position(node: exp.Expr | None) -> int | None:
    """Offset in characters from 0 of the leftmost token below ``node`` that the parser recorded, or None."""
    if node is None:
        return None
    starts = (n.meta_get("start") for n in node.walk())
    return min((s for s in starts if s is not None), default=None)
