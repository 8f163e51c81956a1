"""DOUBLE in PostgreSQL: the same bits, but what overflows or underflows raises there, and a row must not.

So it is followed what a value can be. An operation that cannot leave the range is written as it is; one that can become
zero or infinity only through a tiny operand is guarded, with the exact result beside; any other is refused.
"""

import math
import sys
from collections.abc import Callable

from msgspec.structs import replace

from dpproxy.backends.servers.dialect import ANYTHING, Reach, Value, ValueKind, unbounded

LARGEST = sys.float_info.max
LEAST = 5e-324
SMALL = 1e-150
"""The product of two such, and the quotient of one and its inverse, is a number still."""
SCALE = 2.0**600
"""Brings the tiniest DOUBLE near ``SMALL``, exactly."""
TINIEST_POWER = 1e-300
"""A power nearer to zero is zero here, and has no more than a few digits in DuckDB."""
TIE = 2.0**-475
"""What is at most half the tiniest DOUBLE, scaled, becomes zero."""


def number(value: float) -> str:
    """A DOUBLE literal: the shortest text that reads back as it."""
    return f"'{value!r}'::float8"


def constant(value: float) -> Value:
    """A literal and its reach. Raises ``Unsupported`` for a constant sum or product that is no number."""
    if not math.isfinite(value):
        raise unbounded()
    size = abs(value) or LEAST
    return Value(
        number(value),
        ValueKind.DOUBLE,
        Reach(value, value, size, top=False, bottom=False),
        constant=repr(value),
    )


def _made(sql: str, low: float, high: float, least: float, *values: Value) -> Value:
    """What was computed of finite values; one that is none gives one that is none."""
    special = any(v.reach.top or v.reach.bottom for v in values)
    return Value(sql, ValueKind.DOUBLE, Reach(low, high, max(least, LEAST), top=special, bottom=special))


def added(sign: str) -> Callable[[Value, Value], Value]:
    """``a + b`` or ``a - b``: underflow is exact, so only their size matters."""

    def apply(a: Value, b: Value) -> Value:
        x, y = a.reach, b.reach
        if x.most + y.most >= LARGEST:
            raise unbounded()
        low, high = (x.low + y.low, x.high + y.high) if sign == "+" else (x.low - y.high, x.high - y.low)
        return _made(f"({a.sql} {sign} {b.sql})", low, high, LEAST, a, b)

    return apply


def exact(sign: str, a: Value, b: Value) -> Reach:
    """Of exact numbers: nothing of them raises here, but they may become a DOUBLE."""
    x, y = a.reach, b.reach
    if x.most * y.most >= LARGEST or x.most + y.most >= LARGEST:
        return ANYTHING
    if sign == "*":
        corners = [p * q for p in (x.low, x.high) for q in (y.low, y.high)]
        return replace(ANYTHING, low=min(corners), high=max(corners))
    low, high = (x.low + y.low, x.high + y.high) if sign == "+" else (x.low - y.high, x.high - y.low)
    return replace(ANYTHING, low=low, high=high)


def multiplied(a: Value, b: Value) -> Value:
    """``a * b``."""
    x, y = a.reach, b.reach
    if x.most * y.most >= LARGEST:
        raise unbounded()
    corners = [p * q for p in (x.low, x.high) for q in (y.low, y.high)]
    made = _made("", min(corners), max(corners), x.least * y.least, a, b)
    plain = f"({a.sql} * {b.sql})"
    if x.least * y.least > sys.float_info.min:
        return replace(made, sql=plain)
    for one, other in ((a, b), (b, a)):
        if one.constant is not None:
            return replace(made, sql=_scaled(float(one.constant), other, plain, lambda v, c: v * c))
    return replace(made, sql=_careful(a, b, plain, _PRODUCT))


def divided(a: Value, b: Value) -> Value:
    """``a / b``, where b is NULL and never zero."""
    x, y = a.reach, b.reach
    if b.constant is not None:
        value = float(b.constant)
        if x.most / abs(value) >= LARGEST:
            raise unbounded()
        ends = [x.low / value, x.high / value]
        sql = _scaled(value, a, f"({a.sql} / {b.sql})", lambda v, c: v / c)
        return _made(sql, min(ends), max(ends), x.least / abs(value), a)
    if max(x.most, y.most) > 1 / SMALL:
        raise unbounded()
    most = min(x.most / y.least, LARGEST) if y.least > sys.float_info.min else LARGEST
    signed = 0.0 if x.low >= 0 and y.low >= 0 else -most
    made = _made("", signed, most, x.least / max(y.most, LEAST), a, b)
    if x.most / y.least >= LARGEST:  # by a tiny divisor: infinity
        made = replace(made, reach=replace(made.reach, top=True, bottom=True))
    plain = f"({a.sql} / {b.sql})"
    if x.least / max(y.most, LEAST) > sys.float_info.min and x.most / y.least < LARGEST:
        return replace(made, sql=plain)
    return replace(made, sql=_careful(a, b, plain, _QUOTIENT))


def _scaled(by: float, value: Value, plain: str, operation: Callable[[float, float], float]) -> str:
    """A product or quotient with a constant: below a known size it is zero."""
    size = abs(by)
    if by == 0.0 or operation(value.reach.least, size) != 0.0:
        return plain
    low, high = LEAST, 1.0
    if operation(high, size) == 0.0:
        raise unbounded()
    while math.nextafter(low, 1.0) < high:  # the least number that does not become zero
        middle = _between(low, high)
        low, high = (low, middle) if operation(middle, size) != 0.0 else (middle, high)
    zero = number(math.copysign(0.0, by))
    return f"(CASE WHEN abs({value.sql}) < {number(high)} THEN {value.sql} * {zero} ELSE {plain} END)"


def _between(low: float, high: float) -> float:
    """A number strictly between two that are not neighbours: by their exponents first, which are many."""
    if high / low > 4:
        return math.ldexp(1.0, (math.frexp(low)[1] + math.frexp(high)[1]) // 2)
    return low + (high - low) / 2


def _careful(a: Value, b: Value, plain: str, otherwise: str) -> str:
    """The plain operation where no operand is tiny; else the exact result, each operand computed once more."""
    safe = " AND ".join(
        f"(abs({v.sql}) >= {number(SMALL)} OR {v.sql} = {number(0.0)})"
        for v in (a, b)
        if v.reach.least < SMALL
    )
    # OFFSET keeps the planner from writing the operands wherever they are read.
    inner = f"(SELECT {a.sql} AS a, {b.sql} AS b OFFSET 0) AS given"
    return f"(CASE WHEN {safe} THEN {plain} ELSE (SELECT {otherwise} FROM {inner}) END)"  # noqa: S608 - our own


_A_TINY, _B_TINY = (f"abs({v}) < {number(SMALL)}" for v in "ab")
_UP = number(SCALE)
_ZERO = "(sign(a) * sign(b) * '0'::float8)"
_PRODUCT = (
    f"CASE WHEN a = 0 OR b = 0 OR abs(a) >= 1 OR abs(b) >= 1 THEN a * b "
    f"WHEN {_A_TINY} AND {_B_TINY} THEN "
    f"CASE WHEN abs((a * {_UP}) * (b * {_UP})) > {number(TIE * SCALE)} THEN a * b ELSE {_ZERO} END "
    f"WHEN {_A_TINY} THEN CASE WHEN abs(a * {_UP} * b) > {number(TIE)} THEN a * b ELSE {_ZERO} END "
    f"ELSE CASE WHEN abs(b * {_UP} * a) > {number(TIE)} THEN a * b ELSE {_ZERO} END END"
)
_INFINITE = "(sign(a) * sign(b) * 'Infinity'::float8)"
_QUOTIENT = (
    f"CASE WHEN a = 0 OR ({_A_TINY} AND {_B_TINY}) THEN a / b "
    f"WHEN {_A_TINY} THEN CASE WHEN abs(a * {_UP} / b) > {number(TIE)} THEN a / b ELSE {_ZERO} END "
    f"WHEN {_B_TINY} THEN CASE WHEN abs(a / (b * {_UP})) < {number(2.0**424)} THEN a / b ELSE {_INFINITE} END "
    "ELSE a / b END"
)


def rounded(value: Value) -> Value:
    """ROUND, halves away from zero: to the nearest even number is what PostgreSQL's own does."""
    whole = f"trunc({value.sql})"
    sql = f"(CASE WHEN abs({value.sql} - {whole}) >= 0.5::float8 THEN {whole} + sign({value.sql}) ELSE {whole} END)"
    reach = value.reach
    low, high = (math.floor(b) if abs(b) < 2**52 else b for b in (reach.low, reach.high))
    return replace(value, sql=sql, constant=None, reach=replace(reach, low=low, high=high + 1.0, least=1.0))


def rounded_to(value: Value, digits: int) -> Value:
    """ROUND to digits after the point, by the same steps as DuckDB."""
    if digits == 0:
        return rounded(value)
    if not value.reach.is_finite:
        raise unbounded()
    power = constant(10.0 ** abs(digits))
    if digits > 0:
        return divided(rounded(multiplied(value, power)), power)
    return multiplied(rounded(divided(value, power)), power)


def whole(name: str) -> Callable[[Value], Value]:
    """FLOOR, CEIL and TRUNC."""

    def apply(value: Value) -> Value:
        reach = value.reach
        inside = replace(reach, low=reach.low - 1.0, high=reach.high + 1.0, least=1.0)
        return replace(value, sql=f"{name}({value.sql})", constant=None, reach=inside)

    return apply


def absolute(value: Value) -> Value:
    """ABS."""
    reach = replace(value.reach, low=0.0, high=value.reach.most, bottom=False)
    top = value.reach.top or value.reach.bottom
    return replace(value, sql=f"abs({value.sql})", constant=None, reach=replace(reach, top=top))


def root(value: Value) -> Value:
    """SQRT: correctly rounded everywhere; NaN below zero."""
    reach = value.reach
    high = math.sqrt(max(reach.high, 0.0)) + 1.0
    inside = Reach(
        0.0, high, math.sqrt(reach.least) / 2, top=reach.top or reach.low < 0 or reach.bottom, bottom=False
    )
    return Value(_defined("sqrt", value, ">=", "'NaN'::float8"), ValueKind.DOUBLE, inside)


def logarithm(name: str) -> Callable[[Value], Value]:
    """LN and LOG, of the C library: minus infinity at zero, NaN below."""

    def apply(value: Value) -> Value:
        reach = value.reach
        least = reach.low if reach.low > 0 else reach.least
        low, high = (math.log(least) - 1.0, math.log(max(reach.high, least)) + 1.0)
        undefined = f"CASE WHEN {value.sql} = 0 THEN '-Infinity'::float8 ELSE 'NaN'::float8 END"
        special = reach.low <= 0 or reach.bottom
        inside = Reach(low, high, 1e-17, top=reach.top or special, bottom=special)
        return Value(_defined(name, value, ">", undefined), ValueKind.DOUBLE, inside)

    return apply


def exponential(value: Value) -> Value:
    """EXP, of the C library, where it neither overflows nor underflows."""
    reach = value.reach
    if not reach.is_finite or not -700.0 <= reach.low <= reach.high <= 700.0:
        raise unbounded()
    low, high = math.exp(reach.low) * 0.999, math.exp(reach.high) * 1.001
    return Value(f"exp({value.sql})", ValueKind.DOUBLE, Reach(low, high, low, top=False, bottom=False))


def power(value: Value, exponent: Value) -> Value:
    """POWER with a constant exponent, of the C library, where it stays inside the range."""
    if exponent.constant is None or not value.reach.is_finite:
        raise unbounded()
    by, reach = float(exponent.constant), value.reach
    smallest = reach.low if reach.low > 0 else reach.least
    if not by.is_integer() and reach.low < 0:
        raise unbounded()
    if by < 0 and reach.low <= 0:
        raise unbounded()
    if by > 0 and _raised(smallest, by) < TINIEST_POWER:  # what is nearer to zero counts as zero
        smallest = _raised(TINIEST_POWER, 1 / by)
        held = f"CASE WHEN abs({value.sql}) < {number(smallest)} THEN 0 ELSE {value.sql} END"
        value = replace(value, sql=f"({held})")
    ends = [_raised(abs(end), by) for end in (smallest, reach.most)]
    if max(ends) >= LARGEST / 2 or min(ends) < sys.float_info.min * 2:
        raise unbounded()
    high = max(ends) * 1.001
    low = -high if reach.low < 0 else 0.0
    inside = Reach(low, high, min(ends) * 0.999, top=False, bottom=False)
    return Value(f"power({value.sql}, {exponent.sql})", ValueKind.DOUBLE, inside)


def _raised(base: float, by: float) -> float:
    """A power of a positive number, or the refusal of one that is none."""
    try:
        return float(base**by)
    except OverflowError:
        raise unbounded() from None


def _defined(name: str, value: Value, sign: str, undefined: str) -> str:
    """A function where it has a value; NaN stands above all numbers, and stays NaN."""
    held = value.sql
    return f"(CASE WHEN {held} {sign} 0 THEN {name}({held}) WHEN {held} IS NOT NULL THEN {undefined} END)"


def bounded(value: Value, low: float | None, high: float | None) -> Value:
    """What is known of a value between literals: one above them all is the upper one, infinite or not."""
    reach = value.reach
    if low is not None:
        reach = replace(reach, low=max(reach.low, low), high=max(reach.high, low), bottom=False)
        reach = replace(reach, least=min(reach.least, abs(low) or reach.least))
    if high is not None:
        reach = replace(reach, low=min(reach.low, high), high=min(reach.high, high), top=False)
        reach = replace(reach, least=min(reach.least, abs(high) or reach.least))
    if reach.low > 0 or reach.high < 0:
        reach = replace(reach, least=max(reach.least, min(abs(reach.low), abs(reach.high))))
    return replace(value, reach=reach)
