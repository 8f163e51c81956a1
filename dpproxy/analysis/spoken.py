"""What a construct is called by whoever wrote it: the parser has classes of its own."""

import re
from typing import Final

from sqlglot import ErrorLevel, exp

_CALL: Final = re.compile(r"([A-Z_][A-Z_0-9]*)\(")
_OPERATOR: Final = re.compile(r"x ([^\w\s(]+) ")
_NAMES: Final[dict[type[exp.Expr], str]] = {
    exp.ApproxDistinct: "approx_count_distinct",
    exp.Max: "max",
    exp.Median: "median",
    exp.Min: "min",
}
"""Functions that PostgreSQL has not, or not with as many arguments."""


def function(node: exp.Func) -> str:
    """The name that a call was written with; where none was, the function's in PostgreSQL's SQL.

    >>> function(exp.TimestampTrunc(this=exp.column("x"), unit=exp.var("MONTH")))
    'date_trunc'
    """
    written = str(node.meta.get("name") or _NAMES.get(type(node)) or "")
    if written.isidentifier():
        return written
    found = _CALL.match(_printed(node))
    return found[1].lower() if found else str(node.sql_name()).lower()


def is_rewritten(node: exp.Func) -> bool:
    """Whether a call has another name in PostgreSQL's SQL than it was written with: ``year(d)``, ``if(c, 1, 0)``."""
    if isinstance(node, exp.If):
        return not isinstance(node.parent, exp.Case)
    return "name" in node.meta and not _printed(node).lower().startswith(f"{node.meta['name']}(")


def _printed(node: exp.Expr) -> str:
    """It with other arguments: those at hand may be a deep tree."""
    given = {name: _placeholder(value) for name, value in node.args.items()}
    return type(node)(**given).sql("postgres", unsupported_level=ErrorLevel.IGNORE)


def _placeholder(value: object) -> object:
    match value:
        case exp.Var() | exp.Literal():
            return value.copy()
        case exp.Expr():
            return exp.column("x")
        case list():
            return [exp.column("x") for _ in value] or [exp.column("x")]
        case _:
            return value


def construct(node: exp.Expr) -> str:
    """``to_char()``, ``the operator ->>``, or the class in words: ``GROUPING SETS``."""
    if isinstance(node, exp.Binary) and (found := _OPERATOR.match(_printed(node))):
        return f"the operator {found[1]}"
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector | exp.Cast):
        return f"{function(node)}()"
    return spaced(node)


def spaced(node: exp.Expr) -> str:
    """The node's class in words: GROUPING SETS."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()
