"""What Spark computes like DuckDB, first part: values, comparisons and logic.

The same text is for every server that speaks Spark Connect. Whole numbers are bigint or decimal(38,0): what overflows
raises in one server and wraps around in another, and the planner has excluded it. A server may hold that NaN of either
sign is not one value, nor zero of either sign: a DOUBLE is brought to one form of both before it is compared.
"""

import math
from collections.abc import Sequence

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Rule, Unanswered, Value, ValueKind, common
from dpproxy.backends.servers.standard import check_comparable
from dpproxy.backends.spark.texts import literal

TYPES = {
    ValueKind.TRUTH: "BOOLEAN",
    ValueKind.WHOLE: "BIGINT",
    ValueKind.HUGE: "DECIMAL(38,0)",
    ValueKind.DOUBLE: "DOUBLE",
    ValueKind.TEXT: "STRING",
    ValueKind.DATE: "DATE",
    ValueKind.TIMESTAMP: "TIMESTAMP_NTZ",
    ValueKind.INSTANT: "TIMESTAMP_NTZ",
}
"""What values are there. A DECIMAL keeps its own digits, a FLOAT is read as a DOUBLE."""
MOST_DIGITS = 6
"""Digits behind the point that a product of DECIMALs keeps, however long it is."""
LARGEST_FRACTION = 2.0**52
"""From here on every DOUBLE is a whole number."""
LARGEST_WHOLE = 2.0**63 - 1024
"""The largest DOUBLE that is a bigint."""
NAN = "'NaN'::DOUBLE"
INFINITY = "'Infinity'::DOUBLE"


def grouped(sql: str) -> str:
    """An operation as an operand: a parser reads on to the end of parentheses, for each pair around it anew."""
    return f"`when`(TRUE, {sql})"


def cast(sql: str, kind: ValueKind) -> str:
    """A value in the type of its kind: what ``CAST(`` is, a parser knows at its ``AS``."""
    return f"{sql}::{TYPES[kind]}"


def one_form(value: Value) -> str:
    """A DOUBLE with one NaN and one zero; everything else as it is."""
    if value.kind is not ValueKind.DOUBLE or value.constant is not None:
        return value.sql
    return f"nanvl({value.sql} + 0D, {NAN})"


def _number(value: float) -> str:
    return f"{value!r}D" if math.isfinite(value) else cast(literal(repr(value)), ValueKind.DOUBLE)


# --- values ---------------------------------------------------------------------------------------


def text(node: nodes.Text, _: Sequence[Value]) -> Value:
    """A text literal."""
    return Value(literal(node.value), ValueKind.TEXT, constant=node.value)


def number(node: nodes.Number, _: Sequence[Value]) -> Value:
    """A literal of a number."""
    text = node.text
    if "e" in text.lower():
        return Value(_number(float(text)), ValueKind.DOUBLE, constant=text)
    if "." in text:
        return Value(f"{text}BD", ValueKind.DECIMAL, scale=len(text.partition(".")[2]), constant=text)
    if int(text) < 2**63:
        return Value(f"{text}L", ValueKind.WHOLE, constant=text)
    return Value(cast(f"'{text}'", ValueKind.HUGE), ValueKind.HUGE, constant=text)


# --- logic ----------------------------------------------------------------------------------------


def sign(sign: str) -> Rule:
    """A comparison of two values of one kind."""

    def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
        a, b = comparable(parts)
        return Value(grouped(f"{a} {sign} {b}"), ValueKind.TRUTH)

    return apply


def distinct(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """IS DISTINCT FROM."""
    a, b = comparable(parts)
    return Value(grouped(f"NOT {a} <=> {b}"), ValueKind.TRUTH)


def comparable(parts: Sequence[Value]) -> list[str]:
    """Operands of one kind, as they are compared. Raises ``Unsupported`` for what would be converted."""
    check_comparable(parts)
    return [one_form(p) for p in parts]


def in_of(node: nodes.InList, parts: Sequence[Value]) -> Value:
    """IN, of a list. Sail answers NULL beside some members that are computed from a row: each of those is compared."""
    value, *listed = comparable(parts)
    of_rows = [any(isinstance(n, nodes.ColumnRef) for n in member.walk()) for member in node.among]
    tests = [f"{value} = {sql}" for sql, of_row in zip(listed, of_rows, strict=True) if of_row]
    constants = [sql for sql, of_row in zip(listed, of_rows, strict=True) if not of_row]
    if constants:
        tests.insert(0, f"`in`({', '.join([value, *constants])})")
    return Value(tests[0] if len(tests) == 1 and constants else grouped(" OR ".join(tests)), ValueKind.TRUTH)


def one_of(parts: Sequence[Value]) -> tuple[Value, list[str]]:
    """What one of several values is, and each of them in that type."""
    found = common(parts)
    if found.kind in (ValueKind.DOUBLE, ValueKind.SINGLE) and any(p.kind is ValueKind.DECIMAL for p in parts):
        raise Unanswered("a DECIMAL beside a DOUBLE")
    if found.kind not in TYPES:
        return found, [p.sql for p in parts]
    return found, [p.sql if p.kind is found.kind else cast(p.sql, found.kind) for p in parts]


def case(node: nodes.Case, parts: Sequence[Value]) -> Value:
    """CASE WHEN ... THEN ... ELSE ... END, all of one type."""
    otherwise = Value("NULL", ValueKind.NULL) if node.default is None else parts[-1]
    found, values = one_of([*parts[1::2], otherwise])
    if found.kind is ValueKind.NULL:
        return found
    branches = ", ".join(f"{c.sql}, {v}" for c, v in zip(parts[:-1:2], values[:-1], strict=True))
    return replace(found, sql=f"`when`({branches}, {values[-1]})", constant=None)


def coalesce(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """COALESCE."""
    found, values = one_of(parts)
    if found.kind is ValueKind.NULL:
        return found
    return replace(found, sql=f"coalesce({', '.join(values)})", constant=None)


def nullif(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """NULLIF; zero of either sign is zero."""
    a, b = comparable(parts)
    return replace(parts[0], sql=f"nullif({a}, {b})", constant=None)


def extreme(name: str) -> Rule:
    """GREATEST and LEAST: NULLs are passed over, NaN stands above all numbers."""

    def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
        found, _sql = one_of(parts)
        if found.kind is ValueKind.NULL:
            return found
        held = [replace(p, sql=s) for p, s in zip(parts, _sql, strict=True)]
        return replace(found, sql=f"{name}({', '.join(map(one_form, held))})", constant=None)

    return apply
