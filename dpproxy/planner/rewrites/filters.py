"""CASE in an aggregate is a FILTER: ``sum(CASE WHEN c THEN x ELSE 0 END)`` is ``sum(x) FILTER (WHERE c)``.

So both are one question, and one release. A key is no value, so it stands in no CASE; with FILTER units are counted,
and one moves that number no further than it moves the count of all of them.
"""

from sqlglot import exp

from dpproxy.planner.rows.conditions import key_column
from dpproxy.planner.rows.relation import JoinedRows, own_nodes

_CALLS = (exp.Count, exp.Sum, exp.Avg)


def with_filters(
    select: exp.Select, rows: JoinedRows | None = None, *, of_people: bool = False
) -> exp.Select:
    """The SELECT, which is the planner's own copy, with FILTER for CASE; for keys where ``rows`` have them.

    A released sum of no values is 0. Where it is ``of_people`` it is NULL, and a sum of zeros is another one.
    """
    for node in [n for n in own_nodes(select) if type(n) in _CALLS and not _is_windowed(n)]:
        is_distinct = isinstance(node.this, exp.Distinct)
        operands = node.this.expressions if is_distinct else [node.this]
        case = operands[0].unnest() if len(operands) == 1 and operands[0] is not None else None
        value = (
            _value(case, is_sum=type(node) is exp.Sum and not of_people)
            if isinstance(case, exp.Case)
            else None
        )
        if not isinstance(case, exp.Case) or value is None:
            continue
        is_key = type(value) is exp.Column and rows is not None and key_column(value, rows) is not None
        if type(node) is exp.Count if is_key else not is_distinct:
            _filter(node, value, _condition(case, value))
    return select


def _is_windowed(call: exp.Expr) -> bool:
    above = call.parent.parent if isinstance(call.parent, exp.Filter) else call.parent
    return isinstance(above, exp.Window)


def _value(case: exp.Case, *, is_sum: bool) -> exp.Expr | None:
    """The one column or number that the branches give where they give anything that counts; None for other values."""
    found = [r for r in _results(case) if not _is_nothing(r, is_sum=is_sum)]
    if not found or any(r != found[0] for r in found):
        return None
    is_number = isinstance(found[0], exp.Literal) and not found[0].is_string
    return found[0] if type(found[0]) is exp.Column or is_number else None


def _results(case: exp.Case) -> list[exp.Expr]:
    default = case.args.get("default")
    return [b.args["true"].unnest() for b in case.args["ifs"]] + (
        [] if default is None else [default.unnest()]
    )


def _is_nothing(result: exp.Expr, *, is_sum: bool) -> bool:
    """Whether a value adds nothing: NULL, and in a sum 0, in whole digits: 0.0 makes a numeric of whole numbers."""
    is_zero = isinstance(result, exp.Literal) and not result.is_string and result.this == "0"
    return isinstance(result, exp.Null) or (is_sum and is_zero)


def _condition(case: exp.Case, value: exp.Expr) -> exp.Expr:
    """Where the CASE gives the value."""
    branches, default = case.args["ifs"], case.args.get("default")
    is_last = default is None or default.unnest() != value
    if len(branches) == 1 and case.this is None and is_last:
        condition: exp.Expr = branches[0].this.copy()
        return condition
    held = case.copy()
    for branch in held.args["ifs"]:
        branch.set("true", _truth(branch.args["true"], value))
    held.set("default", exp.false() if default is None else _truth(default, value))
    return held


def _truth(result: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.true() if result.unnest() == value else exp.false()


def _filter(node: exp.Expr, value: exp.Expr, condition: exp.Expr) -> None:
    counted = exp.Star() if type(node) is exp.Count and isinstance(value, exp.Literal) else value.copy()
    node.set("this", exp.Distinct(expressions=[counted]) if isinstance(node.this, exp.Distinct) else counted)
    above = node.parent
    if isinstance(above, exp.Filter) and node.arg_key == "this":
        both = exp.And(this=exp.Paren(this=above.expression.this), expression=exp.Paren(this=condition))
        above.set("expression", exp.Where(this=both))
    else:
        node.replace(exp.Filter(this=node.copy(), expression=exp.Where(this=condition)))
