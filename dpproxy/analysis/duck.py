"""Short forms of what the planner builds most often, as nodes; and what an analyst wrote, as text."""

import threading
from collections.abc import Callable, Iterable
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from dpproxy.algebra import printing
from dpproxy.algebra.figures import Figure, later
from dpproxy.algebra.nodes import (
    Array,
    Bare,
    Binary,
    Call,
    Case,
    Cast,
    ColumnRef,
    Expr,
    Item,
    Later,
    Named,
    Negative,
    Node,
    Null,
    Number,
    Ordered,
    Paren,
    Query,
    Select,
    Star,
    Subquery,
    Text,
    Truth,
)  # fmt: skip
from dpproxy.policy.model import Scalar

_GENERATORS = threading.local()

OPERATORS: Final[dict[type[exp.Expr], str]] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%", exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|", exp.DPipe: "||", exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">",
    exp.GTE: ">=", exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM", exp.Like: "LIKE",
    exp.ILike: "ILIKE",
}  # fmt: skip
"""The parser's classes as operators."""


def column(name: str, table: str | None = None) -> ColumnRef:
    """A column reference."""
    return ColumnRef(name, table)


def integer(value: int) -> Expr:
    """A whole-number literal; those over 64 bits are read as HUGEINT."""
    literal = Number(str(abs(value)))
    return Paren(Negative(literal)) if value < 0 else literal


def made(function: Callable[..., Expr], *of: object) -> Expr:
    """What a function makes of arguments; where one of them is a figure, what it will make."""
    return held(later(function, *of))


def held(found: Expr) -> Expr:
    """An expression; a figure of one as a node."""
    return Later(found) if isinstance(found, Figure) else found


def double(value: float) -> Expr:
    """A DOUBLE literal."""
    return made(_double, value)


def _double(value: float) -> Expr:
    literal = Number(double_text(abs(value)))
    return Paren(Negative(literal)) if value < 0 else literal


def double_text(value: float) -> str:
    """What a DOUBLE that is not negative is written as; the exponent keeps the engine from reading a DECIMAL."""
    text = repr(value)
    return text if "e" in text else text + "e0"


def cast(expression: Expr, to: str) -> Expr:
    """CAST to a DuckDB type by name."""
    return Cast(expression, type_name(to))


@cache
def type_name(name: str) -> str:
    """One name for each type: ``INT128`` for HUGEINT, ``TEXT`` for VARCHAR."""
    return exp.DataType.build(name, dialect="duckdb").sql("duckdb")


def constant(value: Scalar | None) -> Expr:
    """A declared constant as the engine's literal; fractions become DOUBLE."""
    match value:
        case None:
            return Null()
        case bool():
            return Truth(value)
        case int():
            return integer(value)
        case Fraction():
            return double(float(value))
        case str():
            return Text(value)
        case datetime():
            kind = "TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ"
            return cast(Text(value.isoformat(sep=" ")), kind)
        case date():
            return cast(Text(value.isoformat()), "DATE")


def decimal(value: int | Fraction, scale: int) -> Expr:
    """An exact DECIMAL literal with ``scale`` digits after the point; the value must have no more."""
    whole = int(value * 10**scale)
    if not scale:
        return integer(whole)
    digits = f"{abs(whole):0{scale + 1}d}"
    literal = Number(f"{digits[:-scale]}.{digits[-scale:]}")
    return Paren(Negative(literal)) if whole < 0 else literal


def call(name: str, *arguments: Expr) -> Call:
    """A function call."""
    return Call(name, arguments)


def array(*values: Expr) -> Array:
    """A list."""
    return Array(values)


def case(branches: Iterable[tuple[Expr, Expr]], default: Expr | None) -> Expr:
    """CASE WHEN ... THEN ... ELSE ... END."""
    return Case(tuple(branches), default)


def binary(operator: str, left: Expr, right: Expr) -> Expr:
    """A parenthesised binary operation."""
    return Paren(Binary(operator, left, right))


def clamp(expression: Expr, low: Expr, high: Expr) -> Case:
    """Clamp in the CASE form: faster than greatest/least, keeps NULL, and maps NaN to the upper bound."""
    return Case(
        ((Binary("<", expression, low), low), (Binary(">", expression, high), high)),
        expression,
    )


def named(expression: Expr, name: str) -> Named:
    """``expression AS name``."""
    return Named(expression, name)


def count_star() -> Call:
    """``count(*)``."""
    return Call("count", (Star(),))


def all_of(query: Query, most: int | None = None) -> Select:
    """``SELECT * FROM (query) LIMIT most``."""
    return Select((Star(),), Subquery(query), limit=None if most is None else integer(most))


BY_ALL: Final = (Ordered(ColumnRef(Bare("ALL"))),)
"""The order of all columns, one after the other."""


def distinct(source: Item, columns: Iterable[str], most: int) -> Select:
    """The values that columns have together, in their order, NULL last."""
    shown = tuple(map(column, columns))
    return Select(shown, source, order=BY_ALL, limit=integer(most), distinct=True)


def bare(expression: Expr) -> Expr:
    """Without parentheses around it."""
    while isinstance(expression, Paren):
        expression = expression.value
    return expression


def text(node: Node) -> str:
    """DuckDB's SQL."""
    return printing.text(node)


def outline(tree: exp.Expr) -> str:
    """What an analyst wrote, without the subqueries in it, and with quotes around what qualifies a column."""
    copy = exp.Paren(this=tree.copy())
    parts = list(copy.walk(prune=lambda n: isinstance(n, exp.Query)))
    for node in parts:
        if isinstance(node, exp.Query):
            node.replace(exp.Var(this="(...)" if isinstance(node, exp.Subquery) else "..."))
        elif isinstance(node, exp.Column) and node.table:
            node.args["table"].set("quoted", True)  # noqa: FBT003 - sqlglot's
    return words(copy.this)


def written_as(tree: exp.Expr) -> str | None:
    """The words in whose place a rewrite put it; None for what the analyst wrote."""
    known: dict[str, str] | None = tree._meta  # noqa: SLF001 - reading ``meta`` makes one
    return None if known is None else known.get(WRITTEN)


WRITTEN = "written"
"""What is known of an expression that a rewrite put in the place of another: the words of that one."""


def words(tree: exp.Expr) -> str:
    """What an analyst wrote, in PostgreSQL's SQL.

    It is not copied first, as ``Expr.sql`` does: that takes most of the time of planning.
    """
    if (written := written_as(tree)) is not None:
        return written
    generator = getattr(_GENERATORS, "postgres", None)
    if generator is None:
        generator = _GENERATORS.postgres = Dialect.get_or_raise("postgres").generator()
    return str(generator.generate(tree, copy=False))
