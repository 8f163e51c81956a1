"""FILTER (WHERE condition): what an aggregate reads is NULL on the other rows, so no row adds more than without it."""

from dataclasses import replace

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.values.pgtypes import INT4


def both(*conditions: exp.Expr | None) -> exp.Expr | None:
    """The conjunction of what is asked, None where nothing is."""
    asked = [c for c in conditions if c is not None]
    result = asked[0] if asked else None
    for condition in asked[1:]:
        result = exp.And(this=result, expression=condition)
    return result


def present(typed: Typed) -> exp.Expr | None:
    """The condition that a value is not NULL, None where it never is."""
    if not typed.nullable:
        return None
    absent = exp.Paren(this=exp.Is(this=typed.presence or typed.sql, expression=exp.Null()))
    return exp.Not(this=absent)


def kept(typed: Typed, condition: exp.Expr | None) -> Typed:
    """The value where the condition holds, NULL where it is false or NULL."""
    if condition is None:
        return typed
    marker = typed.presence or (typed.sql if typed.nullable else duck.integer(1))
    return replace(
        typed, sql=duck.case([(condition, typed.sql)], None), presence=duck.case([(condition, marker)], None),
        nullable=True, is_constant=False, constant=None, is_unit=False,
    )  # fmt: skip


def rows_where(*conditions: exp.Expr | None) -> Typed:
    """Something that is present on the rows where all conditions hold, to be counted."""
    return kept(Typed(duck.integer(1), INT4, nullable=False), both(*conditions))
