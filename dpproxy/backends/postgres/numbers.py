"""Numbers and aggregates in PostgreSQL: whole numbers are bigint or numeric, DOUBLE is looked after elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from operator import add, mul, sub

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.backends.postgres import doubles
from dpproxy.backends.postgres.logic import NUMBERS
from dpproxy.backends.servers import standard
from dpproxy.backends.servers.dialect import Rule, Unanswered, Value, ValueKind, common
from dpproxy.backends.servers.standard import MOMENTS


def of_doubles(sign: str, *parts: Value) -> Value:
    """``+``, ``-`` and ``*`` of DOUBLEs."""
    a, b = (standard.as_double(part, doubles.constant) for part in parts)
    if a.constant is not None and b.constant is not None:
        return doubles.constant(_FOLDED[sign](float(a.constant), float(b.constant)))
    return doubles.multiplied(a, b) if sign == "*" else doubles.added(sign)(a, b)


def of_exact(sign: str, a: Value, b: Value) -> Value:
    """The same of whole numbers and DECIMALs."""
    best = common([a, b])
    scale = a.scale + b.scale if sign == "*" else max(a.scale, b.scale)
    width = NUMBERS[best.kind]
    sql = f"({a.sql}::{width} {sign} {b.sql}::{width})"
    return Value(sql, ValueKind.DECIMAL if scale else best.kind, doubles.exact(sign, a, b), scale)


_FOLDED: Mapping[str, Callable[[float, float], float]] = {"+": add, "-": sub, "*": mul}


def _days(day: Value) -> str:
    """Days since 1970; what is infinite is as far away as in DuckDB, where PostgreSQL would not subtract it."""
    far = f"WHEN {day.sql} = 'infinity' THEN 2147483647 WHEN {day.sql} = '-infinity' THEN -2147483647"
    return f"(CASE {far} ELSE {day.sql} - '1970-01-01'::date END)::bigint"


def of_time(sign: str, a: Value, b: Value) -> Value:
    """The difference of days, or a moment moved."""
    if sign == "-" and a.kind is b.kind is ValueKind.DATE:
        return Value(f"({_days(a)} - {_days(b)})", ValueKind.WHOLE)
    if sign in "+-" and a.kind in MOMENTS and b.kind is ValueKind.SPAN:
        return Value(f"({a.sql}::timestamp {sign} {b.sql})", ValueKind.TIMESTAMP)
    raise Unanswered("arithmetic of two types")


def negative(a: Value) -> Value:
    """A minus sign."""
    if a.kind is ValueKind.DOUBLE and a.constant is not None:
        return doubles.constant(-float(a.constant))
    reach = replace(
        a.reach, low=-a.reach.high, high=-a.reach.low, top=a.reach.top or a.reach.bottom, bottom=a.reach.top
    )
    held = a.sql if a.kind is ValueKind.DOUBLE else f"{a.sql}::{NUMBERS[a.kind]}"
    constant = None if a.constant is None else f"-{a.constant}"
    return replace(a, sql=f"(- {held})", reach=reach, constant=constant)


def whole_quotient(sign: str, name: str) -> Callable[[Value, Value], Value]:
    """``//`` and ``%``: towards zero in both engines; the divisor is NULL where it would be 0."""

    def apply(a: Value, b: Value) -> Value:
        if {a.kind, b.kind} == {ValueKind.WHOLE}:
            return Value(f"({a.sql}::bigint {sign} {b.sql}::bigint)", ValueKind.WHOLE)
        return Value(f"{name}({a.sql}::numeric, {b.sql}::numeric)", ValueKind.HUGE)

    return apply


def absolute(a: Value) -> Value:
    """ABS."""
    if a.kind is ValueKind.DOUBLE:
        return doubles.absolute(a)
    return replace(a, sql=f"abs({a.sql}::{NUMBERS[a.kind]})", constant=None)


def signum(a: Value) -> Value:
    """SIGN."""
    held = a.sql if a.kind is ValueKind.DOUBLE else f"{a.sql}::numeric"
    return Value(f"sign({held})::bigint", ValueKind.WHOLE)


counted = standard.counted(lambda value: value.sql)
summed = standard.summed(lambda value: f"{value.sql}::{NUMBERS.get(value.kind, 'bigint')}", "numeric")


def end(name: str) -> Rule:
    """MIN and MAX."""

    def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
        [a] = parts
        if a.kind is ValueKind.TRUTH:
            return Value(f"bool_{'or' if name == 'max' else 'and'}({a.sql})", ValueKind.TRUTH)
        collation = ' COLLATE "C"' if a.kind is ValueKind.TEXT else ""
        return replace(a, sql=f"{name}({a.sql}{collation})", constant=None)

    return apply
