"""Parts of the engine's SQL, as trees."""

from sqlglot import exp


def text(value: str) -> exp.Expr:
    """A text literal."""
    return exp.Literal.string(value)


def spoken(value: str | None) -> exp.Expr:
    """A text literal, or NULL."""
    return null() if value is None else text(value)


def cast(value: exp.Expr, kind: str) -> exp.Expr:
    """A cast to an engine's type."""
    return exp.Cast(this=value, to=exp.DataType.build(kind, dialect="duckdb"))


def null() -> exp.Expr:
    """A NULL of type text."""
    return cast(exp.Null(), "VARCHAR")


def oid(number: int) -> exp.Expr:
    """The number of an object."""
    return cast(exp.Literal.number(number), "UINTEGER")


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A call of a DuckDB function."""
    return exp.Anonymous(this=name, expressions=list(arguments))
