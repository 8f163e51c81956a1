"""Casts in PostgreSQL: of what is known to have a value in the other type."""

from collections.abc import Sequence

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.backends.postgres import doubles
from dpproxy.backends.servers.dialect import Reach, Rule, Unanswered, Value, ValueKind, unbounded
from dpproxy.backends.servers.standard import EXACT, MOMENTS, bare, is_ours, scale_of, utc_text

SINGLE = Reach(-3.4028235e38, 3.4028235e38, 1.4e-45)
"""What a real can be."""
RELEASED = Reach(-1e100, 1e100, 1e-100, top=False, bottom=False)
"""What a released value can be: the source looks at it before it is run."""


def to_bigint(_: nodes.Cast, parts: Sequence[Value]) -> Value:
    """BIGINT: of a whole number, or of a DOUBLE known to be inside it."""
    [a] = parts
    if a.kind is ValueKind.DOUBLE and not (a.reach.is_finite and a.reach.most < 2.0**63):
        raise unbounded()
    if a.kind not in (*EXACT, ValueKind.DOUBLE, ValueKind.NULL):
        raise Unanswered("this cast")
    constant = a.constant if a.kind is ValueKind.WHOLE else None
    return Value(f"{a.sql}::bigint", ValueKind.WHOLE, a.reach, constant=constant)


def to_huge(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """HUGEINT: a numeric without digits behind the point."""
    [a] = parts
    if a.kind is ValueKind.DOUBLE:  # a DOUBLE as numeric would have 15 digits
        return Value(f"{to_bigint(node, parts).sql}::numeric", ValueKind.HUGE, a.reach)
    if a.kind is ValueKind.DECIMAL:
        return Value(f"round({a.sql}, 0)", ValueKind.HUGE)
    if a.kind not in (*EXACT, ValueKind.NULL):
        raise Unanswered("this cast")
    return Value(f"{a.sql}::numeric", ValueKind.HUGE, a.reach, constant=a.constant)


def to_double(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """DOUBLE: of a whole number, or of a released value."""
    [a] = parts
    if isinstance(bare(node.value), nodes.Parameter):
        return Value(f"{a.sql}::float8", ValueKind.DOUBLE, RELEASED)
    if a.kind is ValueKind.DOUBLE:
        return a
    if a.kind is ValueKind.NULL:
        return Value("NULL::float8", ValueKind.DOUBLE, replace(RELEASED, low=0.0, high=0.0))
    if a.kind not in (ValueKind.WHOLE, ValueKind.HUGE):
        raise Unanswered("this cast")
    if a.constant is not None:
        return doubles.constant(float(int(a.constant)))
    most = 2.0**63 if a.kind is ValueKind.WHOLE else 2.0**127
    low, high = max(a.reach.low, -most), min(a.reach.high, most)
    return Value(f"{a.sql}::float8", ValueKind.DOUBLE, Reach(low, high, 1.0, top=False, bottom=False))


def to_decimal(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """DECIMAL, no shorter than it was."""
    [a] = parts
    scale = scale_of(node)
    if a.kind not in (*EXACT, ValueKind.NULL) or a.scale > scale:
        raise Unanswered("this cast")
    return Value(f"{a.sql}::numeric", ValueKind.DECIMAL, a.reach, scale)


def to_moment(name: str, kind: ValueKind) -> Rule:
    """DATE and TIMESTAMP: of each other, or of a text of ours."""

    def apply(node: nodes.Cast, parts: Sequence[Value]) -> Value:
        [a] = parts
        if a.kind not in (*MOMENTS, ValueKind.NULL) and not is_ours(node, a):
            raise Unanswered("this cast")
        if a.kind is ValueKind.DATE and kind is ValueKind.TIMESTAMP:
            return Value(
                f"(CASE WHEN {a.sql} < {_LAST} THEN {a.sql}::timestamp {_LATER.format(a.sql)} END)", kind
            )
        return Value(f"{a.sql}::{name}", kind)

    return apply


def to_instant(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """TIMESTAMPTZ: of a text of ours, or of NULL."""
    return Value(f"{utc_text(node, parts[0])}::timestamp", ValueKind.INSTANT)


_LAST = "'294276-12-31'::date"
_LATER = "WHEN {0} IS NOT NULL THEN 'infinity'::timestamp"
"""A timestamp ends before a date does."""


def to(name: str, kind: ValueKind, *others: ValueKind) -> Rule:
    """Of a value of the kind or of ``others``, which both engines write alike, and of NULL."""

    def apply(_: nodes.Cast, parts: Sequence[Value]) -> Value:
        if parts[0].kind not in (kind, *others, ValueKind.NULL):
            raise Unanswered("this cast")
        return Value(f"{parts[0].sql}::{name}", kind)

    return apply
