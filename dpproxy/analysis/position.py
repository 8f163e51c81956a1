"""Where a node stands in the statement's text."""

from sqlglot import exp


def position(node: exp.Expr | None) -> int | None:
    """Offset in characters from 0 of the leftmost token below ``node`` that the parser recorded, or None."""
    if node is None:
        return None
    starts = [n.meta["start"] for n in node.walk() if "start" in n.meta]
    return min(starts, default=None)
