"""What SQLite computes like DuckDB, second part: casts, of what is known to have a value in the other type."""

from collections.abc import Sequence

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Reach, Unanswered, Value, ValueKind, unbounded
from dpproxy.backends.servers.standard import EXACT, bare, is_ours, is_rounded, scale_of
from dpproxy.backends.sqlite.values import (
    DAY,
    FITS,
    bounds,
    double,
    in_scale,
    micros,
    most,
)


def to_bigint(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """BIGINT: of a whole number, or of a DOUBLE known to be inside it."""
    [a] = parts
    if a.kind is ValueKind.DOUBLE:
        if not a.reach.is_finite or a.reach.most >= 2.0**63:
            raise unbounded()
        held = a.sql if is_rounded(node.value) else f"dp_even({a.sql})"
        return Value(f"CAST({held} AS INTEGER)", ValueKind.WHOLE, a.reach)
    if a.kind is ValueKind.DECIMAL:
        return Value(_without_digits(a), ValueKind.WHOLE, _looser(a.reach))
    if a.kind not in (*EXACT, ValueKind.NULL):
        raise Unanswered("this cast")
    return replace(a, kind=ValueKind.WHOLE)


def _without_digits(value: Value) -> str:
    """A DECIMAL rounded to a whole number, halves away from zero."""
    power = 10**value.scale
    if most(value) + power > FITS:
        return f"dp_rescaled({value.sql}, {value.scale})"
    half = f"(CASE WHEN {value.sql} < 0 THEN {-(power // 2)} ELSE {power // 2} END)"
    return f"(({value.sql} + {half}) / {power})"


def _looser(reach: Reach) -> Reach:
    return replace(reach, low=reach.low - 1.0, high=reach.high + 1.0)


def to_huge(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """A whole number of up to 128 bits."""
    [a] = parts
    if a.kind in (ValueKind.DOUBLE, ValueKind.DECIMAL):
        return replace(to_bigint(node, parts), kind=ValueKind.HUGE)
    if a.kind not in (*EXACT, ValueKind.NULL):
        raise Unanswered("this cast")
    reach = Reach(*bounds(a), top=False, bottom=False) if a.kind is ValueKind.WHOLE else a.reach
    return replace(a, kind=ValueKind.HUGE, reach=reach)


def to_double(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """DOUBLE: of a whole number, or of a released value."""
    [a] = parts
    if isinstance(bare(node.value), nodes.Parameter):
        return Value(f"dp_float({a.sql})", ValueKind.DOUBLE, Reach(-1e100, 1e100, top=False, bottom=False))
    if a.kind is ValueKind.DOUBLE:
        return a
    if a.kind is ValueKind.NULL:
        return Value("NULL", ValueKind.DOUBLE, Reach(0.0, 0.0, top=False, bottom=False))
    if a.kind not in (ValueKind.WHOLE, ValueKind.HUGE):
        raise Unanswered("this cast")
    if a.constant is not None:
        return double(float(int(a.constant)))
    sql = f"CAST({a.sql} AS REAL)" if a.kind is ValueKind.WHOLE else f"dp_float({a.sql})"
    return Value(sql, ValueKind.DOUBLE, Reach(*bounds(a), top=False, bottom=False))


def to_decimal(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """DECIMAL, no shorter than it was."""
    [a] = parts
    scale = scale_of(node)
    if a.kind is ValueKind.NULL:
        return a
    if a.kind not in EXACT or a.scale > scale:
        raise Unanswered("this cast")
    return replace(in_scale(a, scale), kind=ValueKind.DECIMAL)


def to_moment(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """TIMESTAMP: of a day, or of a text of ours."""
    [a] = parts
    if is_ours(node, a):
        return Value(f"dp_moment(CAST({a.sql} AS BLOB))", ValueKind.TIMESTAMP)
    if a.kind not in (ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.NULL):
        raise Unanswered("this cast")
    return Value(micros(a), ValueKind.TIMESTAMP)


def to_day(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """DATE: of a moment, or of a text of ours."""
    [a] = parts
    if is_ours(node, a):
        return Value(f"dp_day(CAST({a.sql} AS BLOB))", ValueKind.DATE)
    if a.kind not in (ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.NULL):
        raise Unanswered("this cast")
    return Value(
        a.sql if a.kind is not ValueKind.TIMESTAMP else f"dp_exact('/', {a.sql}, {DAY})", ValueKind.DATE
    )


def to_text(_: nodes.Cast, parts: Sequence[Value]) -> Value:
    """TEXT: of NULL, a whole number or a truth value, which both engines write alike."""
    [a] = parts
    if a.kind is ValueKind.TRUTH:
        return Value(f"(CASE {a.sql} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)", ValueKind.TEXT)
    if a.kind not in (ValueKind.TEXT, ValueKind.WHOLE, ValueKind.HUGE, ValueKind.NULL):
        raise Unanswered("this cast")
    return Value(f"CAST({a.sql} AS TEXT)", ValueKind.TEXT)


def to_truth(_: nodes.Cast, parts: Sequence[Value]) -> Value:
    """BOOLEAN: of NULL."""
    if parts[0].kind not in (ValueKind.TRUTH, ValueKind.NULL):
        raise Unanswered("this cast")
    return replace(parts[0], kind=ValueKind.TRUTH)
