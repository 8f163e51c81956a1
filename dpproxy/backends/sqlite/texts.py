"""What SQLite computes like DuckDB, third part: texts, and fields of moments."""

from collections.abc import Sequence

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Unanswered, Value, ValueKind
from dpproxy.backends.servers.standard import Texts
from dpproxy.backends.sqlite.functions import FIELDS, UNITS
from dpproxy.backends.sqlite.values import micros

OF_TEXTS = Texts()


def concatenated(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """CONCAT: NULLs are left out."""
    if any(p.kind not in (ValueKind.TEXT, ValueKind.NULL) for p in parts):
        raise Unanswered("a function of this type")
    joined = " || ".join(["''", *(f"coalesce({p.sql}, '')" for p in parts)])
    return Value(f"({joined})", ValueKind.TEXT)


def like(text: str, word: str, pattern: str) -> str:
    """LIKE without an escape character."""
    found = f"dp_like({pattern}, {text})"
    return found if word == "LIKE" else f"(NOT {found})"


def date_part(field: Value, value: Value) -> Value:
    """EXTRACT of a field."""
    if field.constant not in FIELDS:
        raise Unanswered("this field of a date")
    return Value(f"dp_part({field.sql}, {micros(value)})", ValueKind.WHOLE)


def date_trunc(unit: Value, value: Value) -> Value:
    """The first moment of a unit."""
    name = (unit.constant or "").lower()
    if name not in UNITS:
        raise Unanswered("this unit of date_trunc")
    return Value(f"dp_cut('{name}', {micros(value)})", ValueKind.TIMESTAMP)


def hashed(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """Not DuckDB's: which rows of a unit are kept is as random, and as fixed, but another choice."""
    return Value(f"dp_hash({', '.join(p.sql for p in parts)})", ValueKind.WHOLE)
