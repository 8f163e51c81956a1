"""Values and three-valued logic in PostgreSQL: comparisons, CASE, and what picks one of several values."""

from collections.abc import Sequence

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.backends.postgres import doubles
from dpproxy.backends.postgres.texts import constant
from dpproxy.backends.servers.dialect import Reach, Rule, Value, ValueKind, common
from dpproxy.backends.servers.standard import EXACT, check_comparable, clamped

ENGINE = "PostgreSQL"
NUMBERS = {ValueKind.WHOLE: "bigint", ValueKind.HUGE: "numeric", ValueKind.DECIMAL: "numeric"}


def text(node: nodes.Text, _: Sequence[Value]) -> Value:
    """A text literal."""
    return Value(constant(node.value), ValueKind.TEXT, constant=node.value)


def number(node: nodes.Number, _: Sequence[Value]) -> Value:
    """A literal of a number."""
    text = node.text
    if "e" in text.lower():
        return doubles.constant(float(text))
    if "." in text:
        reach = doubles.constant(float(text)).reach
        return Value(f"{text}::numeric", ValueKind.DECIMAL, reach, len(text.partition(".")[2]), constant=text)
    reach = doubles.constant(float(int(text))).reach
    return Value(text, ValueKind.WHOLE if int(text) < 2**63 else ValueKind.HUGE, reach, constant=text)


def comparison(sign: str) -> Rule:
    """A comparison of two values of one kind."""

    def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
        a, b = parts
        check_comparable(parts)
        if a.kind is ValueKind.TEXT and sign in ("<", "<=", ">", ">="):
            return Value(f'({a.sql} COLLATE "C" {sign} {b.sql})', ValueKind.TRUTH)
        return Value(f"({a.sql} {sign} {b.sql})", ValueKind.TRUTH)

    return apply


def is_one_of(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """IN with a list."""
    check_comparable(parts)
    listed = ", ".join(p.sql for p in parts[1:])
    return Value(f"({parts[0].sql} IN ({listed}))", ValueKind.TRUTH)


def case(node: nodes.Case, parts: Sequence[Value]) -> Value:
    """CASE WHEN: DOUBLEs and whole numbers that are clamped in it have bounds from there on."""
    pairs = list(zip(parts[:-1:2], parts[1::2], strict=True))
    otherwise = Value("NULL", ValueKind.NULL) if node.default is None else parts[-1]
    found = common([*(v for _, v in pairs), otherwise])
    if found.kind is ValueKind.NULL:
        return found
    branches = " ".join(f"WHEN {c.sql} THEN {v.sql}" for c, v in pairs)
    made = replace(found, sql=f"(CASE {branches} ELSE {otherwise.sql} END)", constant=None)
    if found.kind not in (*EXACT, ValueKind.DOUBLE):
        return made
    return replace(made, reach=_reach(node, parts) or made.reach)


def _reach(node: nodes.Case, parts: Sequence[Value]) -> Reach | None:
    """The reach of a value that is clamped; None where it is not."""
    found = clamped(node, parts)
    if found is None or (found.moved and None in (found.low, found.high)):
        return None
    held = doubles.bounded(found.value, found.low, found.high)
    # Where the bounds are the wrong way round, what is below both becomes the larger one.
    return common([held, parts[1], parts[3]]).reach if found.moved else held.reach


def coalesce(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """COALESCE."""
    found = common(parts)
    sql = f"coalesce({', '.join(p.sql for p in parts)})"
    return found if found.kind is ValueKind.NULL else replace(found, sql=sql, constant=None)


def nullif(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """NULLIF."""
    check_comparable(parts)
    a, b = parts
    if a.constant is not None and b.constant is not None and a.kind is ValueKind.DOUBLE:
        return a if float(a.constant) != float(b.constant) else Value("NULL::float8", ValueKind.DOUBLE)
    return replace(a, sql=f"nullif({a.sql}, {b.sql})", constant=None)


def extreme(name: str) -> Rule:
    """GREATEST and LEAST: NULLs are passed over, NaN stands above all numbers."""

    def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
        found = common(parts)
        if found.kind is ValueKind.NULL:
            return found
        collation = ' COLLATE "C"' if found.kind is ValueKind.TEXT else ""
        sql = f"{name}({', '.join(p.sql + collation for p in parts)})"
        if found.kind not in (*EXACT, ValueKind.DOUBLE):
            return replace(found, sql=sql, constant=None)
        return replace(_between(name, parts, found), sql=sql, constant=None)

    return apply


def _between(name: str, parts: Sequence[Value], found: Value) -> Value:
    """Bounded by a literal, which it is itself where the other is NULL: that may lie outside what the other can be."""
    known = [p for p in parts if p.constant is not None]
    others = [p for p in parts if p.constant is None]
    if len(known) != 1 or len(others) != 1:
        return found
    limit = float(known[0].constant or 0)
    ends = (limit, None) if name == "greatest" else (None, limit)
    return common([doubles.bounded(others[0], *ends), known[0]])
