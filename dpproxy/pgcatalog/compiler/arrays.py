"""Arrays in statements about the catalogue: literals, and PostgreSQL's vectors, which are indexed from 0."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import plain
from dpproxy.analysis.position import position
from dpproxy.pgcatalog.compiler import casts, macros
from dpproxy.pgcatalog.compiler.kind_rules import kind_of
from dpproxy.pgcatalog.compiler.trees import call
from dpproxy.pgcatalog.compiler.trees import cast as cast_to
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import BOOL, FLOATS, INET, INTEGERS, JSONB, PLAIN, VECTORS, SqlType
from dpproxy.wire.values import decode


def is_vector(node: exp.Expr) -> bool:
    """Whether an expression is a vector, which is indexed from 0."""
    kind = kind_of(node.unnest())
    return kind is not None and kind.oid in VECTORS


def is_literal(node: exp.Expr) -> bool:
    """Whether an expression is a text such as ``'{1,2}'``."""
    return isinstance(node, exp.Literal) and node.is_string and node.name.strip().startswith("{")


def constant(node: exp.Cast, kind: SqlType, settings: Mapping[str, str]) -> exp.Expr | None:
    """A cast of a quoted literal, as the engine needs it; None for other casts, and where the engine reads it alike.

    Raises:
        InvalidText, NumberOutOfRange: it does not read.
    """
    if not isinstance(node.this, exp.Literal) or not node.this.is_string:
        return None
    if kind.oid == INET.oid:
        return _read_literal(node, lambda text: exp.Literal.string(str(decode(INET, text, 0))))
    if kind.oid == JSONB.oid:
        return _read_literal(node, lambda text: exp.Literal.string(str(decode(JSONB, text, 0))))
    if (kind.oid not in _READ and kind.oid not in VECTORS) or not plain.is_known(kind):
        return None
    styled = replace(kind, style=settings.get("timezone", "UTC"))
    return _read_literal(node, lambda text: _tree(plain.constant(decode(styled, text, 0), kind)))


_TREES: Mapping[type[nodes.Expr], Callable[[Any, list[exp.Expr]], exp.Expr]] = {
    nodes.Null: lambda *_: exp.Null(),
    nodes.Text: lambda node, _: exp.Literal.string(node.value),
    nodes.Number: lambda node, _: exp.Literal.number(node.text),
    nodes.Cast: lambda node, parts: cast_to(parts[0], node.type),
    nodes.Array: lambda _, parts: exp.Array(expressions=parts),
    nodes.Call: lambda node, parts: exp.func(node.name, *parts, dialect="duckdb"),
    nodes.Paren: lambda _, parts: exp.Paren(this=parts[0]),
    nodes.Negative: lambda _, parts: exp.Neg(this=parts[0]),
    nodes.Binary: lambda _, parts: exp.Add(this=parts[0], expression=parts[1]),
}
"""What ``plain.constant`` makes, for the compiler of the catalogue, which builds trees."""


def _tree(constant: nodes.Expr) -> exp.Expr:
    parts = [_tree(part) for part in constant.parts() if isinstance(part, nodes.Expr)]
    return _TREES[type(constant)](constant, parts)


def _read_literal(node: exp.Cast, read: Callable[[bytes], exp.Expr]) -> exp.Expr:
    try:
        return read(node.this.name.encode())
    except Refusal as refusal:
        refusal.position = position(node)
        raise


_READ = PLAIN | INTEGERS | FLOATS | {BOOL.oid}
"""Types whose text forms the engine reads differently, or accepts more of."""


def elements(node: exp.Cast, stored: str, cast: Callable[[exp.Cast], exp.Expr]) -> exp.Expr | None:
    """``'{pg_type,16}'::regclass[]`` as an array of elements that are cast one by one; None for other casts."""
    if not (stored.endswith("[]") and is_literal(node.this)):
        return None
    kind, listed = casts.element(node.to), plain.texts_of(node.this)
    typed = literal(listed, lambda value: cast(exp.Cast(this=exp.Literal.string(str(value)), to=kind.copy())))
    is_deep = any(isinstance(value, list) for value in listed)
    return typed if is_deep else cast_to(typed, stored)


def deep(node: exp.Expr, stored: str) -> str:
    """The engine's type for a cast to the array type ``stored``, with as many dimensions as the cast writes."""
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
    """A subscript: NULL below 1, where the engine would count from the end; shifted for vectors."""
    if is_vector(node.this) and len(node.expressions) == 1 and not isinstance(node.expressions[0], exp.Slice):
        shifted = exp.Add(this=exp.Paren(this=node.expressions[0]), expression=exp.Literal.number(1))
        node.set("expressions", [shifted])
    elif len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Neg):
        return exp.Bracket(this=node.this, expressions=[cast_to(exp.Null(), "INTEGER")])
    return node


_FROM_ZERO: Mapping[str, str] = {
    "generate_subscripts": "vector_subscripts",
    "array_lower": "vector_lower",
    "array_upper": "vector_upper",
}


def of_vector(node: exp.Anonymous) -> exp.Expr | None:
    """A call on a vector whose result depends on the first index; None for other calls."""
    macro = _FROM_ZERO.get(node.name.lower())
    if macro is None or len(node.expressions) != 2 or not is_vector(node.expressions[0]):
        return None
    return call(f"{macros.PREFIX}{macro}", *node.expressions)


def literal_beside(node: exp.Expr) -> exp.Expr:
    """``'{1,2}'`` compared with a value, whose type the literal takes."""
    if not is_literal(node):
        return node
    return exp.Literal.string(f"[{node.name.strip()[1:-1]}]")


def size(node: exp.Expr) -> exp.Expr:
    """array_length, which is NULL for an empty array, and 0 for an empty vector."""
    counted = cast_to(node.copy(), "INTEGER")
    if is_vector(node.this):
        return counted
    return exp.Nullif(this=counted, expression=exp.Literal.number(0))


def of_coalesce(node: exp.Expr) -> exp.Expr:
    """COALESCE, with array literals read as the type of the other values."""
    node.set("expressions", [literal_beside(item) for item in node.expressions])
    return node


def of_any(node: exp.Expr) -> exp.Expr:
    """``ANY ('{1,2}')``, with the elements as numbers where all of them are."""
    inner = node.this.unnest()
    if is_literal(inner):
        values = plain.texts_of(inner)
        numeric = all(isinstance(value, str) and value.isdigit() for value in values)
        changed = literal(values, lambda value: exp.Literal.string(str(value)))
        node.set("this", exp.Paren(this=cast_to(changed, "BIGINT[]" if numeric else "VARCHAR[]")))
    return node
