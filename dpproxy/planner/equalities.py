"""Equalities between the items of a join, written so that an engine finds the pairs by hashing.

DuckDB turns a list of five or more values into a join of its own; an equality with such a list inside it is then no
condition of the join around it any more, which becomes every row beside every other one.
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

_EQUAL = (exp.EQ, exp.NullSafeEQ)


def hashed(conditions: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The same conditions, all of which must hold, with no list of values inside an equality of two sides with columns.

    A column mapped into listed values is compared as it is, with the list beside it: what is NULL for the one form is
    false for the other, and neither keeps the row. Other lists are written as alternatives.
    """
    return [found for condition in conditions for found in _hashed(condition)]


def _hashed(condition: exp.Expr) -> Iterator[exp.Expr]:
    equality = condition.unnest()
    if not isinstance(equality, _EQUAL) or not _is_between(equality) or equality.find(exp.In) is None:
        yield condition
        return
    sides, tests = [equality.this, equality.expression], []
    if isinstance(equality, exp.EQ):
        for place, side in enumerate(sides):
            test = _listed(side)
            if test is not None:
                sides[place] = test.this
                tests.append(test)
    yield type(equality)(this=_spelled(sides[0]), expression=_spelled(sides[1]))
    yield from tests


def _is_between(equality: exp.Binary) -> bool:
    return all(side.find(exp.Column) is not None for side in (equality.this, equality.expression))


def _listed(side: exp.Expr) -> exp.In | None:
    """The test of CASE WHEN x IN (...) THEN x END; None for any other expression."""
    mapped = side.unnest()
    if not isinstance(mapped, exp.Case) or mapped.this is not None or mapped.args.get("default") is not None:
        return None
    [*branches] = mapped.args["ifs"]
    test = branches[0].this.unnest()
    is_listed = isinstance(test, exp.In) and test.args.get("query") is None
    return test if len(branches) == 1 and is_listed and test.this == branches[0].args["true"] else None


def _spelled(side: exp.Expr) -> exp.Expr:
    """With alternatives in place of lists."""
    return side.transform(_alternatives) if side.find(exp.In) is not None else side


def _alternatives(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.In) or node.args.get("query") is not None:
        return node
    value = _spelled(node.this)
    equal = [exp.EQ(this=value.copy(), expression=other) for other in node.expressions]
    return exp.Paren(this=_either(equal))


def _either(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """As deep as it has to be, and no deeper."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return exp.Paren(this=exp.Or(this=_either(conditions[:middle]), expression=_either(conditions[middle:])))
