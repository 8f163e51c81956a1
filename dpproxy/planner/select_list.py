"""The SELECT list as it is written: its entries, and the names of their columns."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.titles import title
from dpproxy.values.errors import SyntaxRefused

OF_INPUT = "of_input"
"""What is known of an entry of ORDER BY whose name is qualified: no column of the SELECT list is meant."""


class SelectItem(Struct, frozen=True):
    """One entry of the SELECT list: its expression without the alias, and the column's name."""

    node: exp.Expr
    name: str

    @property
    def bare(self) -> exp.Expr:
        """The expression without parentheses around it; those of a subquery are its own."""
        return _bare(self.node)

    @property
    def parts(self) -> list[exp.Expr]:
        """The elements of a list, each of which has an interval of its own; of anything else itself."""
        return [_bare(e) for e in self.bare.expressions] if type(self.bare) is exp.Array else [self.bare]


def _bare(node: exp.Expr) -> exp.Expr:
    return node if type(node) is exp.Subquery else node.unnest()


def is_star(node: exp.Expr) -> bool:
    """``*`` or ``t.*``."""
    return isinstance(node, exp.Star) or (type(node) is exp.Column and isinstance(node.this, exp.Star))


def items(select: exp.Select) -> tuple[SelectItem, ...]:
    """The SELECT list."""
    return tuple(SelectItem(unnamed(e), title(e)) for e in select.expressions)


def unnamed(entry: exp.Expr) -> exp.Expr:
    """The expression of an entry, without the alias."""
    return entry.this if type(entry) is exp.Alias else entry


def grouped(node: exp.Expr, listed: Sequence[SelectItem], knows: Callable[[str], bool]) -> exp.Expr:
    """An entry of GROUP BY: a place in the SELECT list, a column that FROM ``knows``, an alias, or an expression."""
    target = node.unnest()
    if isinstance(target, exp.Literal) and not target.is_string:
        return listed[ordinal(target, len(listed), "GROUP BY")].node.unnest()
    if type(target) is exp.Column and not target.table and not knows(target.name):
        return next((i.node.unnest() for i in listed if i.name == target.name), target)
    return target


def ordinal(node: exp.Literal, size: int, clause: str) -> int:
    """The index a number in GROUP BY or ORDER BY names. Raises ``SyntaxRefused``."""
    text = str(node.this)
    if not text.isdigit() or len(text) > 9 or not 1 <= int(text) <= size:
        raise SyntaxRefused(
            f"{clause} position {text[:20]} is not in select list",
            hint=f"Name a column by its place in the list, from 1 to {size}.",
            position=position(node),
        )
    return int(text) - 1
