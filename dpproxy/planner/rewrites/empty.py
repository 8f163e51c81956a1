"""Statements whose answer is known to be empty, or zero, whatever the data: what clients send to learn columns."""

from sqlglot import exp

from dpproxy.analysis.literals import literal


def has_no_rows(select: exp.Expr) -> bool:
    """LIMIT 0."""
    limit = select.args.get("limit")
    return limit is not None and isinstance(limit.expression, exp.Literal) and limit.expression.this == "0"


def has_one_row(select: exp.Expr) -> bool:
    """LIMIT 1."""
    limit = select.args.get("limit")
    return limit is not None and isinstance(limit.expression, exp.Literal) and limit.expression.this == "1"


def never_holds(select: exp.Expr) -> bool:
    """A WHERE that is false as it is written: FALSE, or two different numbers said to be equal."""
    where = select.args.get("where")
    if where is None:
        return False
    return is_false(where.this)


def is_false(condition: exp.Expr) -> bool:
    """The same of a condition."""
    condition = condition.unnest()
    parts = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
    return any(_is_false(part) for part in parts)


def _is_false(node: exp.Expr) -> bool:
    if isinstance(node, exp.Boolean):
        return not node.this
    sides = (node.this, node.expression) if type(node) is exp.EQ else ()
    if len(sides) == 2 and all(isinstance(s, exp.Literal) and not s.is_string for s in sides):
        return len({literal(s).constant for s in sides}) == 2
    return False
