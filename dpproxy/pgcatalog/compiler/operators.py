"""``a OPERATOR(schema.symbol) b``, read as the plain operator.

It binds as any other operator of PostgreSQL: looser than arithmetic, tighter than LIKE, IN, BETWEEN and comparisons,
from the left beside ``||`` and ``~``. The parser binds some of those otherwise; such a statement is refused.
"""

from functools import cache

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.sql.grammar import parse
from dpproxy.values.errors import UndefinedFunction, Unsupported

_LISTED = "~ !~ ~* !~* ~~ !~~ ~~* !~~* = <> != < <= > >= + - * / % || @> <@ &&"
_SYMBOLS = frozenset(_LISTED.split())


@cache
def _plain(symbol: str) -> exp.Expr:
    found: exp.Expr = parse(f"SELECT a {symbol} b")[0].expressions[0]
    return found


def _built(symbol: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    if symbol.startswith("!~"):
        return exp.Not(this=_built(symbol[1:], left, right))
    made = _plain(symbol).copy()
    made.set("this", left)
    made.set("expression", right)
    return made


_TIGHTER = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Collate, exp.Dot)
_LEFT = (
    *_TIGHTER, exp.ArrayContainedBy, exp.ArrayContainsAll, exp.ArrayOverlaps, exp.BitwiseAnd, exp.BitwiseOr,
    exp.DPipe, exp.Operator, exp.RegexpILike, exp.RegexpLike,
)  # fmt: skip
"""Left operands that need no parentheses: they associate as in PostgreSQL."""
_BARE = (exp.Collate, exp.Dot)
_LOOSE = (exp.Binary, exp.Between, exp.In, exp.Not)


def replace_operators(tree: exp.Expr) -> None:
    """Replace them by the plain operators.

    Raises:
        Unsupported: an operator that is not on the list, or parentheses are missing.
        UndefinedFunction: a schema that has none.
    """
    found = list(tree.find_all(exp.Operator))
    for node in found:
        _check(node)
    for node in reversed(found):
        made = _built(_symbol(node), _operand(node.this), _operand(node.expression))
        node.replace(exp.Paren(this=made))


def _symbol(node: exp.Operator) -> str:
    return str(node.args["operator"]).rpartition(".")[2]


def _check(node: exp.Operator) -> None:
    schema, symbol = str(node.args["operator"]).rpartition(".")[::2]
    if schema.lower() not in ("", "pg_catalog"):
        raise UndefinedFunction(
            f"operator does not exist: {schema}.{symbol}",
            hint="the operators are in pg_catalog",
            position=position(node),
        )
    if symbol not in _SYMBOLS:
        raise Unsupported(f"operator {symbol} is not supported here", position=position(node))
    for side, allowed in ((node.this, _LEFT), (node.expression, _TIGHTER)):
        if isinstance(side, _LOOSE) and not isinstance(side, allowed):
            raise Unsupported(
                f"OPERATOR({symbol}) beside this operator is not supported here",
                hint="write brackets around what is to be taken together",
                position=position(side),
            )


def _operand(side: exp.Expr) -> exp.Expr:
    """The operand, in parentheses where it is an operator."""
    return exp.Paren(this=side) if isinstance(side, exp.Binary) and not isinstance(side, _BARE) else side
