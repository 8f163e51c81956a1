"""FILTER (WHERE condition): what an aggregate reads is NULL on the other rows, so no row adds more than without it."""

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.values.pgtypes import INT4


def both(*conditions: nodes.Expr | None) -> nodes.Expr | None:
    """The conjunction of what is asked, None where nothing is."""
    several = tuple(c for c in conditions if c is not None)
    return nodes.And(several) if len(several) > 1 else several[0] if several else None


def present(typed: Typed) -> nodes.Expr | None:
    """The condition that a value is not NULL, None where it never is."""
    if not typed.nullable:
        return None
    absent = nodes.Paren(nodes.IsNull(typed.presence or typed.sql))
    return nodes.Not(absent)


def kept(typed: Typed, condition: nodes.Expr | None) -> Typed:
    """The value where the condition holds, NULL where it is false or NULL."""
    if condition is None:
        return typed
    marker = (typed.presence or typed.sql) if typed.nullable else duck.integer(1)
    return replace(
        typed, sql=duck.case([(condition, typed.sql)], None), presence=duck.case([(condition, marker)], None),
        nullable=True, is_constant=False, constant=None, is_unit=False,
    )  # fmt: skip


def rows_where(*conditions: nodes.Expr | None) -> Typed:
    """Something that is present on the rows where all conditions hold, to be counted."""
    return kept(Typed(duck.integer(1), INT4, nullable=False), both(*conditions))
