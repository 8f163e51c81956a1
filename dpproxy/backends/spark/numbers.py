"""What Spark computes like DuckDB, second part: numbers, aggregates and casts."""

from collections.abc import Sequence

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Rule, Unanswered, Value, ValueKind, common
from dpproxy.backends.servers.standard import (
    DOUBLES,
    EXACT,
    MOMENTS,
    WHOLES,
    bare,
    counted,
    is_ours,
    is_rounded,
    of,
    scale_of,
    summed,
    utc_text,
)
from dpproxy.backends.spark.values import (
    LARGEST_FRACTION,
    LARGEST_WHOLE,
    MOST_DIGITS,
    TYPES,
    cast,
    grouped,
    one_form,
)

# --- numbers --------------------------------------------------------------------------------------


def of_doubles(sign: str, a: Value, b: Value) -> Value:
    """``+``, ``-`` and ``*`` of DOUBLEs."""
    if a.kind is not b.kind:
        raise Unanswered("arithmetic of two types")
    return Value(grouped(f"{a.sql} {sign} {b.sql}"), ValueKind.DOUBLE)


def of_exact(sign: str, *parts: Value) -> Value:
    """The same of whole numbers and DECIMALs."""
    best, scales = common(parts), [part.scale for part in parts]
    scale = sum(scales) if sign == "*" else max(scales)
    if scale > MOST_DIGITS:
        raise Unanswered(f"DECIMAL arithmetic of more than {MOST_DIGITS} digits behind the point")
    a, b = (p.sql if p.kind in (best.kind, ValueKind.DECIMAL) else cast(p.sql, whole(p)) for p in parts)
    return Value(grouped(f"{a} {sign} {b}"), ValueKind.DECIMAL if scale else best.kind, scale=scale)


def whole(value: Value) -> ValueKind:
    """The type in which a whole number stands beside a longer one."""
    return ValueKind.HUGE if value.constant is None or value.kind is ValueKind.HUGE else ValueKind.WHOLE


def of_time(sign: str, a: Value, b: Value) -> Value:
    """A difference of days, or a moment moved."""
    if sign == "-" and a.kind is b.kind is ValueKind.DATE:
        return Value(cast(f"datediff({a.sql}, {b.sql})", ValueKind.WHOLE), ValueKind.WHOLE)
    if sign in "+-" and a.kind in MOMENTS and b.kind is ValueKind.SPAN:
        return Value(grouped(f"{cast(a.sql, ValueKind.TIMESTAMP)} {sign} {b.sql}"), ValueKind.TIMESTAMP)
    raise Unanswered("arithmetic of two types")


def negative(a: Value) -> Value:
    """The minus sign."""
    return replace(a, sql=_negated(a), constant=None if a.constant is None else f"-{a.constant}")


def _negated(value: Value) -> str:
    """Spark keeps 34 of the digits of a DECIMAL where it changes the sign, and all of them in a difference."""
    is_long = value.kind is ValueKind.HUGE or (value.kind is ValueKind.DECIMAL and value.constant is None)
    if is_long and value.scale > MOST_DIGITS:
        raise Unanswered("the sign of a DECIMAL of many digits")
    return grouped(f"0BD - {value.sql}" if is_long else f"- {value.sql}")


def quotient(node: nodes.Binary, parts: Sequence[Value]) -> Value:
    """A divisor is a constant, or is NULL where it would be 0."""
    if not never_zero(node.right):
        raise Unanswered("a division of this form")
    return of(lambda a, b: Value(grouped(f"{a.sql} / {b.sql}"), ValueKind.DOUBLE), DOUBLES, DOUBLES)(
        node, parts
    )


def never_zero(node: nodes.Expr) -> bool:
    """Whether a divisor is a constant, or is NULL where it would be 0."""
    match bare(node):
        case nodes.Negative(value) | nodes.Cast(value):  # zero stays zero, and nothing else becomes it
            return never_zero(value)
        case nodes.Number(text):
            return float(text) != 0
        case nodes.Call("nullif", (_, divisor)):
            return is_zero(divisor)
        case found:
            return isinstance(found, nodes.Null)


def is_zero(node: nodes.Expr) -> bool:
    """The constant 0."""
    match bare(node):
        case nodes.Cast(value):
            return is_zero(value)
        case nodes.Number(text):
            return float(text) == 0
        case _:
            return False


def whole_quotient(sign: str) -> Rule:
    """``//`` and ``%``: towards zero in both engines."""

    def quotient(a: Value, b: Value) -> Value:
        if {a.kind, b.kind} == {ValueKind.WHOLE}:
            return Value(grouped(f"{a.sql} {sign} {b.sql}"), ValueKind.WHOLE)
        if sign == "div":  # a quotient of decimals is a bigint
            raise Unanswered("a division of this form")
        return Value(
            grouped(f"{cast(a.sql, ValueKind.HUGE)} % {cast(b.sql, ValueKind.HUGE)}"), ValueKind.HUGE
        )

    def apply(node: nodes.Binary, parts: Sequence[Value]) -> Value:
        if not never_zero(node.right):
            raise Unanswered("a division of this form")
        return of(quotient, WHOLES, WHOLES)(node, parts)

    return apply


def of_double(template: str) -> Rule:
    """A function of one DOUBLE."""
    return of(lambda a: Value(template.format(a.sql), ValueKind.DOUBLE), DOUBLES)


_TO_WHOLE = f"`when`(abs({{0}}) < {LARGEST_FRACTION!r}D, {{1}}::DOUBLE, {{0}})"
"""FLOOR and CEIL are bigints there; what is larger, infinite or none is whole already."""
FLOOR, CEIL = (_TO_WHOLE.format("{0}", f"{name}({{0}})") for name in ("floor", "ceil"))
TRUNC = grouped("{0} - nanvl({0} % 1D, 0D)")
"""What is infinite has no remainder."""


EVEN = grouped("`when`(abs({0} % 1D) = 0.5D, round({0} / 2D) * 2D, round({0}))")
"""Twice the half of a half, which is no half, is even."""


def absolute(a: Value) -> Value:
    """ABS."""
    if a.kind in (ValueKind.HUGE, ValueKind.DECIMAL):
        return replace(a, sql=f"greatest({a.sql}, {_negated(replace(a, constant=None))})", constant=None)
    return replace(a, sql=f"abs({a.sql})", constant=None)


def signum(a: Value) -> Value:
    """SIGN; 0 of NaN."""
    held, zero = (f"nanvl({a.sql} + 0D, 0D)", "0D") if a.kind is ValueKind.DOUBLE else (a.sql, "0L")
    signs = [cast(grouped(f"{held} {sign} {zero}"), ValueKind.WHOLE) for sign in "><"]
    return Value(grouped(" - ".join(signs)), ValueKind.WHOLE)


# --- aggregates -----------------------------------------------------------------------------------


count_of = counted(one_form)


def _wide(value: Value) -> str:
    # A sum has ten digits more than what is summed, and 38 at most: with 28 no number of rows fills them.
    return value.sql if value.kind is ValueKind.HUGE else f"{value.sql}::DECIMAL(28,0)"


sum_of = summed(_wide, TYPES[ValueKind.HUGE])


def end(name: str) -> Rule:
    """MIN and MAX."""

    def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
        [a] = parts
        return replace(a, sql=f"{name}({one_form(a)})", constant=None)

    return apply


# --- casts ----------------------------------------------------------------------------------------


def to_bigint(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """A whole number of 64 bits."""
    [a] = parts
    if a.kind is ValueKind.DOUBLE:
        if not is_rounded(node.value):
            raise Unanswered("a DOUBLE that is not rounded as a whole number")
        inside = f"`when`(abs({a.sql}) <= {LARGEST_WHOLE!r}D, {a.sql})"
        return Value(cast(inside, ValueKind.WHOLE), ValueKind.WHOLE)
    if a.kind not in (*EXACT, ValueKind.NULL):
        raise Unanswered("this cast")
    if a.kind is ValueKind.WHOLE:
        return Value(a.sql, ValueKind.WHOLE, constant=a.constant)
    return Value(cast(_no_digits(a), ValueKind.WHOLE), ValueKind.WHOLE)


def _no_digits(a: Value) -> str:
    return f"round({a.sql}, 0)" if a.kind is ValueKind.DECIMAL else a.sql


def to_huge(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """A whole number of 38 digits."""
    [a] = parts
    if a.kind is ValueKind.DOUBLE:
        return Value(cast(to_bigint(node, parts).sql, ValueKind.HUGE), ValueKind.HUGE)
    if a.kind not in (*EXACT, ValueKind.NULL):
        raise Unanswered("this cast")
    return Value(
        cast(_no_digits(a), ValueKind.HUGE), ValueKind.HUGE, constant=a.constant if not a.scale else None
    )


def to_double(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """A DOUBLE, of what is exactly one or the nearest to a bigint."""
    [a] = parts
    is_released = isinstance(bare(node.value), nodes.Parameter)
    if a.kind is ValueKind.DOUBLE:
        return a
    if not is_released and a.kind not in (ValueKind.WHOLE, ValueKind.NULL):
        raise Unanswered("this cast")
    return Value(cast(a.sql, ValueKind.DOUBLE), ValueKind.DOUBLE, constant=a.constant)


def to_decimal(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """A DECIMAL with as many digits behind the point, or more."""
    [a] = parts
    scale = scale_of(node)
    if a.kind not in (*EXACT, ValueKind.NULL) or a.scale > scale:
        raise Unanswered("this cast")
    return Value(f"{a.sql}::{node.type.replace(' ', '')}", ValueKind.DECIMAL, scale=scale)


def to(kind: ValueKind, *others: ValueKind) -> Rule:
    """Of a value of the kind or of ``others``, of NULL, and of a text of ours for a moment."""

    def apply(node: nodes.Cast, parts: Sequence[Value]) -> Value:
        [a] = parts
        if a.kind not in (kind, *others, ValueKind.NULL) and not (others and is_ours(node, a)):
            raise Unanswered("this cast")
        return Value(cast(a.sql, kind), kind)

    return apply


def to_instant(node: nodes.Cast, parts: Sequence[Value]) -> Value:
    """TIMESTAMPTZ: of a text of ours, or of NULL."""
    return Value(cast(utc_text(node, parts[0]), ValueKind.INSTANT), ValueKind.INSTANT)
