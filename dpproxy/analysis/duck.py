"""Small pieces of DuckDB syntax trees, so that SQL is built and never pasted.

Trees are values here: a piece may stand in several places of several trees, and nobody changes one once it is built.
"""

import threading
from collections.abc import Iterable
from datetime import date, datetime
from fractions import Fraction
from functools import cache, lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from dpproxy.policy.model import Scalar

LOCKED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "allow_community_extensions": "false",
    "disabled_optimizers": "statistics_propagation",
    "enable_caching_operators": "false",
}
"""What keeps a statement inside the database; set before the configuration is locked.

Plans must not follow from what columns hold: with statistics, one NULL in a table made a total expression fail to bind.
Collecting small vectors between operators fails in the engine (2.0.0) where a joined text column changes its
dictionary, which is to say with the rows; and after a failure inside the engine the whole database stays closed.
"""

_GENERATORS = threading.local()


def column(name: str, table: str | None = None) -> exp.Column:
    """A quoted column reference."""
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(table, quoted=True))


def integer(value: int) -> exp.Expr:
    """A whole-number literal; those over 64 bits are read as HUGEINT."""
    literal: exp.Expr = exp.Literal.number(abs(value))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def double(value: float) -> exp.Expr:
    """A DOUBLE literal."""
    literal: exp.Expr = exp.Literal.number(double_text(abs(value)))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def double_text(value: float) -> str:
    """What a DOUBLE that is not negative is written as; the exponent keeps the engine from reading a DECIMAL."""
    text = repr(value)
    return text if "e" in text else text + "e0"


def cast(expression: exp.Expr, to: str) -> exp.Expr:
    """CAST to a DuckDB type by name."""
    return exp.Cast(this=expression, to=_type(to))


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="duckdb")


def constant(value: Scalar | None) -> exp.Expr:
    """A declared constant as the engine's literal; fractions become DOUBLE."""
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.true() if value else exp.false()
        case int():
            return integer(value)
        case Fraction():
            return double(float(value))
        case str():
            return exp.Literal.string(value)
        case datetime():
            kind = "TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ"
            return cast(exp.Literal.string(value.isoformat(sep=" ")), kind)
        case date():
            return cast(exp.Literal.string(value.isoformat()), "DATE")


def decimal(value: int | Fraction, scale: int) -> exp.Expr:
    """An exact DECIMAL literal with ``scale`` digits after the point; the value must have no more."""
    whole = int(value * 10**scale)
    if not scale:
        return integer(whole)
    digits = f"{abs(whole):0{scale + 1}d}"
    literal: exp.Expr = exp.Literal.number(f"{digits[:-scale]}.{digits[-scale:]}")
    return exp.Paren(this=exp.Neg(this=literal)) if whole < 0 else literal


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A function call, kept as it is written here."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def case(branches: Iterable[tuple[exp.Expr, exp.Expr]], default: exp.Expr | None) -> exp.Expr:
    """CASE WHEN ... THEN ... ELSE ... END."""
    return exp.Case(ifs=[exp.If(this=when, true=then) for when, then in branches], default=default)


def binary(kind: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """A parenthesised binary operation."""
    return exp.Paren(this=kind(this=left, expression=right))


def clamp(expression: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """Clamp in the CASE form: faster than greatest/least, keeps NULL, and maps NaN to the upper bound."""
    return case(
        [
            (exp.LT(this=expression, expression=low), low),
            (exp.GT(this=expression, expression=high), high),
        ],
        expression,
    )


def named(expression: exp.Expr, name: str) -> exp.Alias:
    """``expression AS name``."""
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=True))


@lru_cache(maxsize=32)
def parsed(sql: str) -> exp.Expr:
    """Our own text as a tree, which is shared: nobody changes it."""
    return sqlglot.parse_one(sql, read="duckdb")


def text(expression: exp.Expr, dialect: str = "duckdb") -> str:
    """The tree as SQL. It is not copied first, as ``Expr.sql`` does: that takes most of the time of planning."""
    generator = getattr(_GENERATORS, dialect, None)
    if generator is None:
        generator = Dialect.get_or_raise(dialect).generator()
        setattr(_GENERATORS, dialect, generator)
    return str(generator.generate(expression, copy=False))
