"""Counting the people that a condition holds for: ``count(DISTINCT CASE WHEN c THEN key END)`` is a FILTER.

A key is no value, so it stands in no CASE; with FILTER the same is counted, and one unit moves it no further than it
moves the count of all keys.
"""

from sqlglot import exp

from dpproxy.planner.rows.conditions import key_column
from dpproxy.planner.rows.relation import JoinedRows, own_nodes


def with_filters(select: exp.Select, rows: JoinedRows) -> exp.Select:
    """The SELECT, which is the planner's own copy, with FILTER where a key is counted by CASE."""
    for node in [n for n in own_nodes(select) if type(n) is exp.Count]:
        operand = node.this.expressions[:1] if isinstance(node.this, exp.Distinct) else [node.this]
        is_one = not isinstance(node.this, exp.Distinct) or len(node.this.expressions) == 1
        case = operand[0].unnest() if is_one and operand[0] is not None else None
        key = _key(case, rows) if isinstance(case, exp.Case) else None
        if isinstance(case, exp.Case) and key is not None:
            _filter(node, key, _condition(case))
    return select


def _results(case: exp.Case) -> list[exp.Expr]:
    default = case.args.get("default")
    return [b.args["true"].unnest() for b in case.args["ifs"]] + (
        [] if default is None else [default.unnest()]
    )


def _key(case: exp.Case, rows: JoinedRows) -> exp.Column | None:
    """The one key that the branches give, besides NULL; None where they give anything else."""
    found = [r for r in _results(case) if not isinstance(r, exp.Null)]
    if not found or any(type(r) is not exp.Column or r != found[0] for r in found):
        return None
    return found[0] if isinstance(found[0], exp.Column) and key_column(found[0], rows) is not None else None


def _condition(case: exp.Case) -> exp.Expr:
    """Where the CASE gives the key."""
    branches, default = case.args["ifs"], case.args.get("default")
    is_plain = len(branches) == 1 and case.this is None
    if is_plain and type(branches[0].args["true"].unnest()) is exp.Column and _is_null(default):
        condition: exp.Expr = branches[0].this.copy()
        return condition
    held = case.copy()
    for branch in held.args["ifs"]:
        branch.set("true", _truth(branch.args["true"]))
    held.set("default", exp.false() if default is None else _truth(default))
    return held


def _is_null(node: exp.Expr | None) -> bool:
    return node is None or isinstance(node.unnest(), exp.Null)


def _truth(result: exp.Expr) -> exp.Expr:
    return exp.false() if _is_null(result) else exp.true()


def _filter(node: exp.Count, key: exp.Column, condition: exp.Expr) -> None:
    counted = key.copy()
    node.set("this", exp.Distinct(expressions=[counted]) if isinstance(node.this, exp.Distinct) else counted)
    above = node.parent
    if isinstance(above, exp.Filter) and node.arg_key == "this":
        both = exp.And(this=exp.Paren(this=above.expression.this), expression=exp.Paren(this=condition))
        above.set("expression", exp.Where(this=both))
    else:
        node.replace(exp.Filter(this=node.copy(), expression=exp.Where(this=condition)))
