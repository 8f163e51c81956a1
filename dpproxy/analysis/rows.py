"""Comparisons of rows, ``(a, b) < (c, d)``, in the comparisons of their parts that PostgreSQL makes of them."""

from functools import reduce

from sqlglot import exp

from dpproxy.values.errors import SyntaxRefused, TooComplex, Unsupported

WIDEST = 32
"""Entries of a row: the comparisons of an ordered one are nested in each other."""
_STRICT = {exp.LT: exp.LT, exp.LTE: exp.LT, exp.GT: exp.GT, exp.GTE: exp.GT}


def comparison(node: exp.Binary, left: exp.Tuple, right: exp.Tuple) -> exp.Expr:
    """One of ``= <> < <= > >=``: of ordered ones, the first parts that differ decide.

    Errors: ``SyntaxRefused`` for two lengths, ``TooComplex`` for wide rows, ``Unsupported`` for operators.
    """
    pairs = list(zip(left.expressions, right.expressions, strict=False))
    if len(left.expressions) != len(right.expressions) or not pairs:
        raise SyntaxRefused("unequal number of entries in row expressions")
    if len(pairs) > WIDEST:
        raise TooComplex(f"a row that is compared has at most {WIDEST} entries")
    kind = type(node)
    if kind is exp.EQ:
        return reduce(_and, [_made(exp.EQ, pair, node) for pair in pairs])
    if kind is exp.NEQ:
        return reduce(_or, [_made(exp.NEQ, pair, node) for pair in pairs])
    if kind not in _STRICT:
        raise Unsupported("rows are compared with = <> < <= > >= here")
    found = _made(kind, pairs[-1], node)
    for pair in reversed(pairs[:-1]):
        found = _or(_made(_STRICT[kind], pair, node), _and(_made(exp.EQ, pair, node), found))
    return found


def membership(node: exp.In) -> list[exp.Expr]:
    """``(a, b) IN ((1, 2), (3, 4))``: what one of has to be true. Errors as for ``comparison``."""
    tests = list[exp.Expr]()
    for row in node.expressions:
        if not isinstance(row, exp.Tuple):
            raise SyntaxRefused("unequal number of entries in row expressions")
        tests.append(comparison(exp.EQ(this=node.this, expression=row), node.this, row))
    return tests


def _made(kind: type[exp.Binary], pair: tuple[exp.Expr, exp.Expr], node: exp.Expr) -> exp.Expr:
    made = kind(this=pair[0].copy(), expression=pair[1].copy())
    made.meta.update(node.meta)
    return made


def _and(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    return exp.And(this=a, expression=b)


def _or(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    return exp.Or(this=a, expression=b)
