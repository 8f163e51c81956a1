"""How long texts of open relations may grow. Texts of public tables have no declared length, and none is looked up.

What is put together of them is counted in copies: so many cells of a public table, one after the other, hold it. A
column passes its number on to the query around it, so that no text doubles with each subquery.
"""

from collections.abc import Callable

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.planner.open.relations import OpenColumn
from dpproxy.values.errors import TooComplex
from dpproxy.values.pgtypes import TEXTS

MOST_COPIES = 64
_REPLACED = 16
"""Times that a text of unknown length counts in which each character may become another such text."""
_ALL_ROWS = 16
"""Copies that a text of all rows counts as."""
_ONE_OF = (exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least)


def copies(node: exp.Expr, value: Typed, find: Callable[[exp.Column], OpenColumn | None]) -> int:
    """Copies of cells that a column of a query may hold. ``find`` looks up a column of its FROM.

    Errors: ``TooComplex`` for more than ``MOST_COPIES``.
    """
    if value.type.oid not in TEXTS or value.longest is not None:
        return 1
    most = max(_copies(node, find), 1)
    if most > MOST_COPIES:
        raise TooComplex(
            f"the text could be as long as {most} texts of the table, more than {MOST_COPIES}",
            hint="Cut what is put together, as left(x, 20) does.",
            position=position(node),
        )
    return most


def _copies(node: exp.Expr, find: Callable[[exp.Column], OpenColumn | None]) -> int:
    if isinstance(node, exp.Column):
        column = find(node)
        return MOST_COPIES if column is None else column.copies  # of a query around it
    if isinstance(node, exp.Query):
        return MOST_COPIES
    if isinstance(node, exp.GroupConcat):
        return _ALL_ROWS
    parts = [_copies(part, find) for part in node.iter_expressions()]
    if isinstance(node, _ONE_OF):
        return max(parts, default=0)
    if isinstance(node, exp.Replace | exp.RegexpReplace):
        return max(parts[0], 1) * (1 if _shrinks(node) else _REPLACED)
    return sum(parts)


def _shrinks(node: exp.Expr) -> bool:
    """A REPLACE of constants by one that is no longer."""
    old, new = node.args.get("expression"), node.args.get("replacement")
    if not isinstance(node, exp.Replace) or not isinstance(old, exp.Literal):
        return False
    return new is None or (isinstance(new, exp.Literal) and len(new.name) <= len(old.name))
