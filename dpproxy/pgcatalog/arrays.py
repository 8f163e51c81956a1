"""Arrays in statements about the catalogue: their literals, and lists that PostgreSQL counts from 0."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from dpproxy.analysis import plain
from dpproxy.analysis.position import position
from dpproxy.pgcatalog import casts, macros
from dpproxy.pgcatalog.column_types import VECTORS
from dpproxy.pgcatalog.results import column_type
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import BOOL, FLOATS, INET, INTEGERS, JSONB, PLAIN
from dpproxy.values.pgtypes import VECTORS as VECTORS_OF
from dpproxy.wire.values import decode


def is_vector(node: exp.Expr) -> bool:
    """A column that is counted from 0."""
    node = node.unnest()
    return isinstance(node, exp.Column) and node.name in VECTORS


def is_literal(node: exp.Expr) -> bool:
    """``'{1,2}'``."""
    return isinstance(node, exp.Literal) and node.is_string and node.name.strip().startswith("{")


def constant(node: exp.Cast, stored: str, settings: Mapping[str, str]) -> exp.Expr | None:
    """A quoted literal under a cast as the engine writes it; None for other casts, and for types it reads alike.

    Raises:
        InvalidText, NumberOutOfRange: it does not read.
    """
    if not isinstance(node.this, exp.Literal) or not node.this.is_string:
        return None
    kind = casts.client_type(node.to) or column_type(stored)
    if kind.oid == INET.oid:
        return _read(node, lambda text: exp.Literal.string(str(decode(INET, text, 0))))
    if kind.oid == JSONB.oid:
        return _read(node, lambda text: exp.Literal.string(str(decode(JSONB, text, 0))))
    if (kind.oid not in _READ and kind.oid not in VECTORS_OF) or not plain.is_known(kind):
        return None
    styled = replace(kind, style=settings.get("timezone", "UTC"))
    return _read(node, lambda text: plain.constant(decode(styled, text, 0), kind))


def _read(node: exp.Cast, read: Callable[[bytes], exp.Expr]) -> exp.Expr:
    try:
        return read(node.this.name.encode())
    except Refusal as refusal:
        refusal.position = position(node)
        raise


_READ = PLAIN | INTEGERS | FLOATS | {BOOL.oid}
"""Types whose texts the engine reads otherwise, or reads more of."""


def elements(node: exp.Cast, stored: str, cast: Callable[[exp.Cast], exp.Expr]) -> exp.Expr | None:
    """``'{pg_type,16}'::regclass[]`` as an array of its elements, each cast by itself; None for other casts."""
    if not (stored.endswith("[]") and is_literal(node.this)):
        return None
    kind, listed = casts.element(node.to), plain.texts_of(node.this)
    typed = literal(listed, lambda value: cast(exp.Cast(this=exp.Literal.string(str(value)), to=kind.copy())))
    is_deep = any(isinstance(value, list) for value in listed)
    return typed if is_deep else exp.Cast(this=typed, to=exp.DataType.build(stored, dialect="duckdb"))


def deep(node: exp.Expr, stored: str) -> str:
    """The engine's type for an array that is cast to ``stored``: PostgreSQL has one type for all dimensions."""
    if not (isinstance(node, exp.Cast) and stored.endswith("[]")):
        return stored
    more = node.to.sql("duckdb").count("[]") - 1
    return stored + "[]" * max(0, more)


def literal(values: list[object], one: Callable[[object], exp.Expr]) -> exp.Expr:
    """A list of values, each as ``one`` writes it."""
    return exp.Array(
        expressions=[
            literal(v, one) if isinstance(v, list) else exp.Null() if v is None else one(v) for v in values
        ]
    )


def bracket(node: exp.Expr) -> exp.Expr:
    """A subscript: NULL below 1, where the engine counts from the end, and of lists that are counted from 0 shifted."""
    if is_vector(node.this) and len(node.expressions) == 1 and not isinstance(node.expressions[0], exp.Slice):
        shifted = exp.Add(this=exp.Paren(this=node.expressions[0]), expression=exp.Literal.number(1))
        node.set("expressions", [shifted])
    elif len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Neg):
        nothing = exp.Cast(this=exp.Null(), to=exp.DataType.build("INTEGER"))
        return exp.Bracket(this=node.this, expressions=[nothing])
    return node


_FROM_ZERO: Mapping[str, str] = {
    "generate_subscripts": "vector_subscripts",
    "array_lower": "vector_lower",
    "array_upper": "vector_upper",
}


def of_vector(node: exp.Anonymous) -> exp.Expr | None:
    """A call whose answer depends on what a list is counted from; None for every other call."""
    macro = _FROM_ZERO.get(node.name.lower())
    if macro is None or len(node.expressions) != 2 or not is_vector(node.expressions[0]):
        return None
    return exp.Anonymous(this=f"{macros.PREFIX}{macro}", expressions=node.expressions)


def literal_beside(node: exp.Expr) -> exp.Expr:
    """``'{1,2}'`` beside a value as DuckDB reads it, where the value tells the type."""
    if not is_literal(node):
        return node
    return exp.Literal.string(f"[{node.name.strip()[1:-1]}]")


def size(node: exp.Expr) -> exp.Expr:
    """array_length, which is NULL of no elements, but in lists that are counted from 0."""
    counted = exp.Cast(this=node.copy(), to=exp.DataType.build("INTEGER"))
    if is_vector(node.this):
        return counted
    return exp.Nullif(this=counted, expression=exp.Literal.number(0))


def of_coalesce(node: exp.Expr) -> exp.Expr:
    """The literals among the values."""
    node.set("expressions", [literal_beside(item) for item in node.expressions])
    return node


def of_any(node: exp.Expr) -> exp.Expr:
    """``ANY ('{1,2}')``: numbers where all of them are."""
    inner = node.this.unnest()
    if is_literal(inner):
        values = plain.texts_of(inner)
        numeric = all(isinstance(value, str) and value.isdigit() for value in values)
        changed = literal(values, lambda value: exp.Literal.string(str(value)))
        kind = exp.DataType.build("BIGINT[]" if numeric else "VARCHAR[]", dialect="duckdb")
        node.set("this", exp.Paren(this=exp.Cast(this=changed, to=kind)))
    return node
