"""The SELECT list as it is written: its entries, and the names of their columns."""

from msgspec import Struct
from sqlglot import exp

from dpproxy.analysis.titles import title


class SelectItem(Struct, frozen=True):
    """One entry of the SELECT list: its expression without the alias, and the column's name."""

    node: exp.Expr
    name: str


def is_star(node: exp.Expr) -> bool:
    """``*`` or ``t.*``."""
    return isinstance(node, exp.Star) or (type(node) is exp.Column and isinstance(node.this, exp.Star))


def items(select: exp.Select) -> tuple[SelectItem, ...]:
    """The SELECT list."""
    return tuple(SelectItem(e.this if isinstance(e, exp.Alias) else e, title(e)) for e in select.expressions)
