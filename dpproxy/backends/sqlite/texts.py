"""What SQLite computes like DuckDB, third part: texts, and fields of moments."""

from collections.abc import Callable, Sequence

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Rule, Value, ValueKind
from dpproxy.backends.sqlite.functions import FIELDS, UNITS
from dpproxy.backends.sqlite.values import micros, no


def texts(
    template: str, kind: ValueKind = ValueKind.TEXT, *, further: int = 0, least: int | None = None
) -> Rule:
    """A function of texts; the last ``further`` arguments are constant whole numbers, none below ``least``."""

    def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
        split = len(parts) - further
        if any(p.kind is not ValueKind.TEXT for p in parts[:split]):
            raise no("a function of this type")
        if any(p.kind is not ValueKind.WHOLE or p.constant is None for p in parts[split:]):
            raise no("a function of texts without constant places")
        places = [int(p.constant or 0) for p in parts[split:]]
        if least is not None and any(place < least for place in places):
            raise no("a place before the first character")
        given = [*(p.sql for p in parts[:split]), *map(str, places)]
        return Value(template.format(*given, all=", ".join(given)), kind)

    return apply


def concatenated(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """CONCAT: NULLs are left out."""
    if any(p.kind not in (ValueKind.TEXT, ValueKind.NULL) for p in parts):
        raise no("a function of this type")
    joined = " || ".join(["''", *(f"coalesce({p.sql}, '')" for p in parts)])
    return Value(f"({joined})", ValueKind.TEXT)


def like(*, negated: bool, fold: bool) -> Callable[[Value, Value], Value]:
    """LIKE without an escape character."""

    def apply(value: Value, pattern: Value) -> Value:
        if pattern.constant is None:
            raise no("LIKE of a pattern that is no constant")
        held, of = (f"dp_lower({p.sql})" if fold else p.sql for p in (value, pattern))
        found = f"dp_like({of}, {held})"
        return Value(f"(NOT {found})" if negated else found, ValueKind.TRUTH)

    return apply


def date_part(field: Value, value: Value) -> Value:
    """EXTRACT of a field."""
    if field.constant not in FIELDS:
        raise no("this field of a date")
    return Value(f"dp_part({field.sql}, {micros(value)})", ValueKind.WHOLE)


def date_trunc(unit: Value, value: Value) -> Value:
    """The first moment of a unit."""
    name = (unit.constant or "").lower()
    if name not in UNITS:
        raise no("this unit of date_trunc")
    return Value(f"dp_cut('{name}', {micros(value)})", ValueKind.TIMESTAMP)


def hashed(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """Not DuckDB's: which rows of a unit are kept is as random, and as fixed, but another choice."""
    return Value(f"dp_hash({', '.join(p.sql for p in parts)})", ValueKind.WHOLE)
