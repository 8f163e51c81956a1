"""What SQLite computes like DuckDB, first part: values, comparisons, arithmetic and casts.

A truth is 0 or 1. Whole numbers are integers of 64 bits, of which SQLite makes a DOUBLE where they overflow: the
planner has excluded that for 64 bits, and what is wider is known by its bounds, or computed by a function of ours. A
DECIMAL is its digits as a whole number. There is no NaN: SQLite makes it NULL. So a DOUBLE is only computed with where
it is known to be a number on every row, and no operation here makes NaN of numbers.
"""

import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import (
    ANYTHING,
    Reach,
    Rule,
    Unanswered,
    Value,
    ValueKind,
    common,
    unbounded,
)
from dpproxy.backends.servers.standard import EXACT, Clamp, as_double, bare, check_comparable, clamped
from dpproxy.backends.sqlite.functions import held
from dpproxy.sql.quoting import literal

ENGINE = "SQLite"
FITS = 2.0**62
"""Whole numbers up to here are computed by SQLite itself: what it makes of two such is no DOUBLE."""
LARGEST = 1.7e308
_MOST = {ValueKind.WHOLE: 2.0**63, ValueKind.HUGE: 2.0**127, ValueKind.DECIMAL: 1e38}


# --- literals -------------------------------------------------------------------------------------


def text(node: nodes.Text, _: Sequence[Value]) -> Value:
    """A text literal."""
    if "\0" in node.value:
        raise Unanswered("a text with a zero character")
    return Value(literal(node.value), ValueKind.TEXT, constant=node.value)


def number(node: nodes.Number, _: Sequence[Value]) -> Value:
    """A literal of a number."""
    if "e" in node.text.lower():
        return double(float(node.text))
    whole, _dot, behind = node.text.partition(".")
    digits = held(int(whole + behind))
    sql = str(digits) if isinstance(digits, int) else f"'{digits}'"
    value = float(node.text)
    kind = ValueKind.DECIMAL if behind else ValueKind.WHOLE if isinstance(digits, int) else ValueKind.HUGE
    reach = Reach(value, value, top=False, bottom=False)
    return Value(sql, kind, reach, len(behind), constant=node.text)


def double(value: float) -> Value:
    """A DOUBLE that is known. SQLite's own reading of one is not exact, so it reads whole numbers alone."""
    if not math.isfinite(value):
        raise unbounded()
    plain = value.is_integer() and abs(value) < 2**53
    sql = f"({int(value)}.0)" if plain else f"dp_float({literal(repr(value))})"
    return Value(sql, ValueKind.DOUBLE, Reach(value, value, top=False, bottom=False), constant=repr(value))


# --- whole numbers and DECIMALs -------------------------------------------------------------------


def most(value: Value) -> float:
    """The largest absolute value of what a number is kept as."""
    return min(value.reach.most, _MOST[value.kind]) * 10.0**value.scale


def fits(*values: Value) -> bool:
    """Whether SQLite can compute with all of them, and with what comes of adding two."""
    return all(most(v) <= FITS or v.kind is ValueKind.WHOLE for v in values)


def scaled(value: Value, scale: int) -> str:
    """The digits of a number with so many behind the point."""
    power = 10 ** (scale - value.scale)
    if power == 1:
        return value.sql
    if most(value) * power <= FITS:
        return f"({value.sql} * {power})"
    return f"dp_exact('*', {value.sql}, '{power}')"


def in_scale(value: Value, scale: int) -> Value:
    """The same number as one with more digits behind the point."""
    return replace(
        value, sql=scaled(value, scale), scale=scale, kind=ValueKind.DECIMAL if scale else value.kind
    )


def exact(sign: str, a: Value, b: Value) -> Value:
    """``+``, ``-`` and ``*`` of whole numbers and DECIMALs."""
    scale = a.scale + b.scale if sign == "*" else max(a.scale, b.scale)
    reach = _reach(sign, a, b)
    kind = ValueKind.DECIMAL if scale else common([a, b]).kind
    made = Value("", kind, reach, scale)
    left, right = (a.sql, b.sql) if sign == "*" else (scaled(a, scale), scaled(b, scale))
    is_plain = kind is ValueKind.WHOLE or (fits(made) and fits(a, b) and min(reach.most, _MOST[kind]) < FITS)
    sql = f"({left} {sign} {right})" if is_plain else f"dp_exact('{sign}', {left}, {right})"
    return replace(made, sql=sql)


def _reach(sign: str, a: Value, b: Value) -> Reach:
    x, y = (
        Reach(max(v.reach.low, -_most(v)), min(v.reach.high, _most(v)), top=False, bottom=False)
        for v in (a, b)
    )
    return _corners(sign, x, y)


def _most(value: Value) -> float:
    return _MOST.get(value.kind, LARGEST)


def _corners(sign: str, x: Reach, y: Reach) -> Reach:
    """What comes of numbers; beyond the largest one it may be infinite."""
    if sign == "*":
        ends = [p * q for p in (x.low, x.high) for q in (y.low, y.high)]
    elif sign == "+":
        ends = [x.low + y.low, x.high + y.high]
    else:
        ends = [x.low - y.high, x.high - y.low]
    if max(map(abs, ends)) >= LARGEST:
        return ANYTHING
    return Reach(min(ends), max(ends), top=False, bottom=False)


def of_doubles(sign: str, *parts: Value) -> Value:
    """``+``, ``-`` and ``*`` of DOUBLEs."""
    a, b = (as_double(part, double) for part in parts)
    _check_finite(a, b)
    return Value(f"({a.sql} {sign} {b.sql})", ValueKind.DOUBLE, _corners(sign, a.reach, b.reach))


def _check_finite(*values: Value) -> None:
    if not all(v.reach.is_finite for v in values):
        raise unbounded()


def quotient(node: nodes.Binary, parts: Sequence[Value]) -> Value:
    """``/``: NULL where the divisor is zero, which it never is in a statement of ours."""
    a, b = parts
    if ValueKind.NULL in (a.kind, b.kind):
        return Value("NULL", ValueKind.NULL)
    if {a.kind, b.kind} != {ValueKind.DOUBLE} or (b.constant is not None and float(b.constant) == 0):
        raise Unanswered("a division of this form")
    _check_finite(a, b)
    if b.constant is None:
        match bare(node.right):
            case nodes.Call("nullif") | nodes.Cast(nodes.Call("nullif")):
                return Value(f"({a.sql} / {b.sql})", ValueKind.DOUBLE)
            case _:
                raise Unanswered("a division of this form")
    by = float(b.constant)
    if abs(by) < 1 and a.reach.most > LARGEST * abs(by):
        return Value(f"({a.sql} / {b.sql})", ValueKind.DOUBLE)
    low, high = sorted((a.reach.low / by, a.reach.high / by))
    reach = Reach(low, high, top=False, bottom=False)
    return Value(f"({a.sql} / {b.sql})", ValueKind.DOUBLE, reach)


def whole_quotient(sign: str) -> Callable[[Value, Value], Value]:
    """``//`` and ``%``: towards zero in both engines; the divisor is NULL where it would be 0."""

    def apply(a: Value, b: Value) -> Value:
        if {a.kind, b.kind} == {ValueKind.WHOLE}:
            return Value(f"({a.sql} {sign[0]} {b.sql})", ValueKind.WHOLE)
        return Value(f"dp_exact('{sign}', {a.sql}, {b.sql})", ValueKind.HUGE)

    return apply


def negative(a: Value) -> Value:
    """A minus sign."""
    if a.kind is ValueKind.DOUBLE and a.constant is not None:
        return double(-float(a.constant))
    reach = replace(a.reach, low=-a.reach.high, high=-a.reach.low, top=a.reach.bottom, bottom=a.reach.top)
    is_plain = a.kind in (ValueKind.DOUBLE, ValueKind.WHOLE) or fits(a)
    sql = f"(- {a.sql})" if is_plain else f"dp_exact('-', 0, {a.sql})"
    return replace(a, sql=sql, reach=reach, constant=None if a.constant is None else f"-{a.constant}")


def absolute(a: Value) -> Value:
    """ABS."""
    negated = negative(replace(a, constant=None))
    reach = replace(a.reach, low=0.0, high=a.reach.most, top=a.reach.top or a.reach.bottom, bottom=False)
    below = compared("<", a, Value("0", ValueKind.WHOLE, Reach(0, 0)) if a.kind in EXACT else double(0.0))
    return replace(
        a, sql=f"(CASE WHEN {below} THEN {negated.sql} ELSE {a.sql} END)", reach=reach, constant=None
    )


def signum(a: Value) -> Value:
    """SIGN."""
    zero = Value("0", ValueKind.WHOLE, Reach(0, 0)) if a.kind in EXACT else double(0.0)
    above, below = compared(">", a, zero), compared("<", a, zero)
    sql = f"(CASE WHEN {above} THEN 1 WHEN {below} THEN -1 WHEN {a.sql} IS NOT NULL THEN 0 END)"
    return Value(sql, ValueKind.WHOLE, Reach(-1, 1, top=False, bottom=False))


def rounding(function: str) -> Callable[[Value], Value]:
    """A function to whole numbers of a DOUBLE."""

    def apply(a: Value) -> Value:
        reach = replace(a.reach, low=a.reach.low - 1.0, high=a.reach.high + 1.0)
        return Value(f"{function}({a.sql})", ValueKind.DOUBLE, reach)

    return apply


def rounded_to(value: Value, places: int) -> Value:
    """ROUND of a DOUBLE."""
    power = 10.0 ** min(abs(places), 400) if abs(places) < 300 else math.inf
    if places and (not value.reach.is_finite or value.reach.most * power >= LARGEST):
        raise unbounded()
    margin = 1.0 if places >= 0 else power
    reach = replace(value.reach, low=value.reach.low - margin, high=value.reach.high + margin)
    return Value(f"dp_round({value.sql}, {places})", ValueKind.DOUBLE, reach)


def root(a: Value) -> Value:
    """SQRT, correctly rounded; of nothing below zero."""
    if a.reach.low < 0 or a.reach.bottom or a.reach.top:
        raise unbounded()
    return Value(
        f"dp_sqrt({a.sql})",
        ValueKind.DOUBLE,
        Reach(0.0, math.sqrt(a.reach.high) + 1, top=False, bottom=False),
    )


def logarithm(name: str) -> Callable[[Value], Value]:
    """LN and LOG of the C library; of nothing below zero."""

    def apply(a: Value) -> Value:
        if a.reach.low < 0 or a.reach.bottom or a.reach.top:
            raise unbounded()
        reach = Reach(-800.0, 800.0, top=False, bottom=a.reach.low <= 0)
        return Value(f"dp_{name}({a.sql})", ValueKind.DOUBLE, reach)

    return apply


def exponential(a: Value) -> Value:
    """EXP of the C library."""
    _check_finite(a)
    if a.reach.high > 700:
        return Value(f"dp_exp({a.sql})", ValueKind.DOUBLE, replace(ANYTHING, low=0.0, bottom=False))
    high = math.exp(a.reach.high) * 1.001
    return Value(f"dp_exp({a.sql})", ValueKind.DOUBLE, Reach(0.0, high, top=False, bottom=False))


def power(a: Value, b: Value) -> Value:
    """POWER of the C library with a constant exponent, where it stays a number."""
    _check_finite(a)
    if b.constant is None:
        raise unbounded()
    by = float(b.constant)
    if (a.reach.low <= 0 and by < 0) or (a.reach.low < 0 and not by.is_integer()):
        raise unbounded()
    try:
        high = max(abs(end) ** by for end in (a.reach.low, a.reach.high)) * 1.001
    except OverflowError:
        raise unbounded() from None
    if high >= LARGEST:
        raise unbounded()
    return Value(f"dp_power({a.sql}, {b.sql})", ValueKind.DOUBLE, Reach(-high, high, top=False, bottom=False))


# --- logic ----------------------------------------------------------------------------------------


def compared(sign: str, a: Value, b: Value) -> str:
    """A comparison of two values of one kind."""
    check_comparable([a, b])
    if {a.kind, b.kind} <= set(EXACT):
        scale = max(a.scale, b.scale)
        left, right = scaled(a, scale), scaled(b, scale)
        if not all(v.kind is ValueKind.WHOLE and not scale for v in (a, b)) and not all(
            most(v) * 10.0 ** (scale - v.scale) <= FITS for v in (a, b)
        ):
            if sign in ("IS", "IS NOT"):
                return f"({left} {sign} {right})"
            return f"(dp_exact('?', {left}, {right}) {sign} 0)"
        return f"({left} {sign} {right})"
    return f"({a.sql} {sign} {b.sql})"


def comparison(sign: str) -> Rule:
    """A comparison as an expression."""
    return lambda _, parts: Value(compared(sign, *parts), ValueKind.TRUTH)


def is_one_of(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """IN with a list."""
    check_comparable(parts)
    scale = max(p.scale for p in parts)
    value, *listed = [scaled(p, scale) if p.kind in EXACT else p.sql for p in parts]
    return Value(f"({value} IN ({', '.join(listed)}))", ValueKind.TRUTH)


def _one_of(parts: Sequence[Value]) -> tuple[Value, list[Value]]:
    """What one of several values is, and each of them as that."""
    found = common(parts)
    if found.kind is ValueKind.DOUBLE:
        if any(p.kind in (ValueKind.DECIMAL, ValueKind.HUGE) for p in parts):
            raise Unanswered("a DECIMAL beside a DOUBLE")
        return found, [
            p if p.kind in (ValueKind.DOUBLE, ValueKind.NULL) else replace(p, sql=f"CAST({p.sql} AS REAL)")
            for p in parts
        ]
    if found.kind in EXACT:
        scale = max(p.scale for p in parts if p.kind is not ValueKind.NULL)
        kind = ValueKind.DECIMAL if scale else found.kind
        ends = [bounds(p) for p in parts if p.kind is not ValueKind.NULL]
        reach = Reach(min(low for low, _ in ends), max(high for _, high in ends), top=False, bottom=False)
        found = replace(found, kind=kind, scale=scale, reach=reach)
        return found, [p if p.kind is ValueKind.NULL else in_scale(p, scale) for p in parts]
    return found, list(parts)


def bounds(value: Value) -> tuple[float, float]:
    """The least and the largest number that a value can be."""
    return max(value.reach.low, -_most(value)), min(value.reach.high, _most(value))


def case(node: nodes.Case, parts: Sequence[Value]) -> Value:
    """CASE WHEN: what is clamped in it has bounds from there on."""
    otherwise = Value("NULL", ValueKind.NULL) if node.default is None else parts[-1]
    found, values = _one_of([*parts[1::2], otherwise])
    if found.kind is ValueKind.NULL:
        return found
    pairs = zip(parts[:-1:2], values[:-1], strict=True)
    branches = " ".join(f"WHEN {c.sql} THEN {v.sql}" for c, v in pairs)
    made = replace(found, sql=f"(CASE {branches} ELSE {values[-1].sql} END)", constant=None)
    return replace(made, reach=_inside(clamped(node, parts)) or made.reach)


def _inside(found: Clamp | None) -> Reach | None:
    """The reach of a value that is clamped; None where it is not."""
    if found is None or found.low is None or found.high is None:
        return None
    first, last = sorted((found.low, found.high))
    bottom, top = bounds(found.value)
    return Reach(min(max(bottom, first), last), max(min(top, last), first), top=False, bottom=False)


def coalesce(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """COALESCE."""
    found, values = _one_of(parts)
    sql = f"coalesce({', '.join(v.sql for v in values)})" if len(values) > 1 else values[0].sql
    return found if found.kind is ValueKind.NULL else replace(found, sql=sql, constant=None)


def nullif(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """NULLIF."""
    a, b = parts
    if a.kind is ValueKind.NULL or b.kind is ValueKind.NULL:
        return a
    return replace(a, sql=f"(CASE WHEN {compared('=', a, b)} THEN NULL ELSE {a.sql} END)", constant=None)


def extreme(sign: str) -> Rule:
    """GREATEST (``>``) and LEAST: NULLs are passed over."""

    def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
        found, values = _one_of(parts)
        if found.kind is ValueKind.NULL:
            return found
        values = [v for v in values if v.kind is not ValueKind.NULL]
        best = values[0]
        for value in values[1:]:
            is_better = compared(sign, value, best)
            other = f"coalesce({value.sql}, {best.sql})"
            sql = f"(CASE WHEN {best.sql} IS NULL OR {is_better} THEN {other} ELSE {best.sql} END)"
            best = replace(best, sql=sql, constant=None, reach=found.reach)
        return replace(found, sql=best.sql, constant=None, reach=_between(sign, parts, found))

    return apply


def _between(sign: str, parts: Sequence[Value], found: Value) -> Reach:
    """Bounded by a literal, which it is itself where the other is NULL."""
    known = [
        float(p.constant) for p in parts if p.constant is not None and p.kind in (*EXACT, ValueKind.DOUBLE)
    ]
    others = [p for p in parts if p.constant is None]
    if len(known) != 1 or len(others) != 1:
        return found.reach
    [limit], [low, high] = known, bounds(others[0])
    reach = others[0].reach
    if sign == ">":
        return Reach(limit, max(high, limit), top=reach.top, bottom=False)
    return Reach(min(low, limit), limit, top=False, bottom=reach.bottom)


# --- aggregates -----------------------------------------------------------------------------------


def summed(node: nodes.Call, parts: Sequence[Value]) -> Value:
    """SUM of whole numbers: of 64 bits by their halves, which no number of rows fills."""
    [a] = parts
    if a.kind not in (ValueKind.WHOLE, ValueKind.HUGE, ValueKind.NULL):
        raise Unanswered("sum of this type")
    if node.distinct or a.kind is ValueKind.HUGE:
        return Value(f"dp_sum({'DISTINCT ' if node.distinct else ''}{a.sql})", ValueKind.HUGE)
    return Value(f"dp_total(sum({a.sql} >> 32), sum({a.sql} & 4294967295))", ValueKind.HUGE)


def end(name: str) -> Rule:
    """MIN and MAX."""

    def apply(_: nodes.Expr, parts: Sequence[Value]) -> Value:
        [a] = parts
        if a.kind in EXACT and not fits(a):
            raise Unanswered(f"{name} of a number this large")
        return replace(a, sql=f"{name}({a.sql})", constant=None)

    return apply


# --- moments ------------------------------------------------------------------------------------

DAY = 86_400_000_000


def micros(a: Value) -> str:
    """A day as its midnight."""
    return f"({a.sql} * {DAY})" if a.kind is ValueKind.DATE else a.sql


def span(template: str) -> Callable[[Value], Value]:
    """A length of time: months, days and microseconds, each by ``_APART`` from the next."""
    return lambda a: Value(template.format(a.sql).replace(" ; ", _APART), ValueKind.SPAN)


_APART = "\x1f"
"""What no text of an expression has in it."""


def of_time(sign: str, a: Value, b: Value) -> Value:
    """The difference of days, or a moment moved."""
    if sign == "-" and a.kind is b.kind is ValueKind.DATE:
        return Value(f"({a.sql} - {b.sql})", ValueKind.WHOLE, Reach(-1e8, 1e8, top=False, bottom=False))
    if sign in "+-" and a.kind in (ValueKind.DATE, ValueKind.TIMESTAMP) and b.kind is ValueKind.SPAN:
        parts = [part if sign == "+" else f"- {part}" for part in b.sql.split(_APART)]
        return Value(f"dp_moved({micros(a)}, {', '.join(parts)})", ValueKind.TIMESTAMP)
    raise Unanswered("arithmetic of two types")
