"""Many sums of one expression and a constant: ``sum(x + c)`` is ``sum(x) + c * count(x)``, so that two figures do."""

from collections import Counter

from msgspec import Struct
from sqlglot import exp

from dpproxy.analysis.titles import title
from dpproxy.planner.rows.relation import own_nodes

FEWEST = 3
"""Sums of one expression from which on one of it and one count cost less."""


class _Shifted(Struct, frozen=True):
    """A call of ``sum``, what it sums without the constant, and the constant with its sign."""

    node: exp.Sum
    of: exp.Expr
    by: exp.Expr


def with_few_sums(select: exp.Select) -> exp.Select:
    """The SELECT, which is the planner's own copy, with one sum of each expression that many constants are added to."""
    found = [s for n in own_nodes(select) if type(n) is exp.Sum and (s := _shifted(n)) is not None]
    often = {of for of, count in Counter(s.of for s in found).items() if count >= FEWEST}
    for shifted in found:
        if shifted.of in often:
            _replace(shifted)
    return select


def _shifted(node: exp.Sum) -> _Shifted | None:
    if isinstance(node.parent, exp.Filter | exp.Window) and node.arg_key == "this":
        return None
    value = node.this.unnest()
    if type(value) not in (exp.Add, exp.Sub):
        return None
    left, right = value.this.unnest(), value.expression.unnest()
    if _is_number(right) and not _is_number(left):
        return _Shifted(node, left, exp.Neg(this=right.copy()) if type(value) is exp.Sub else right.copy())
    is_added = type(value) is exp.Add and _is_number(left) and not _is_number(right)
    return _Shifted(node, right, left.copy()) if is_added else None


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _replace(shifted: _Shifted) -> None:
    node = shifted.node
    name = title(node)
    whole = exp.Sum(this=shifted.of.copy())
    whole.meta.update(node.meta)
    count = exp.Count(this=shifted.of.copy())
    count.meta.update({**node.meta, "name": "count"})
    sums = exp.Add(this=whole, expression=exp.Mul(this=exp.Paren(this=shifted.by), expression=count))
    is_shown = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
    node.replace(exp.alias_(sums, name, quoted=True) if is_shown else exp.Paren(this=sums))
