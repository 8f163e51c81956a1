"""Functions of numbers: exact on exact numbers, DOUBLE otherwise, with bounds.

A DOUBLE function answers NaN or an infinity where PostgreSQL raises; the clamp of an aggregate's argument removes both.
Over released values it raises, as PostgreSQL does, where it would whatever they are.
"""

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.arithmetic import (
    TINIEST,
    divided,
    half_away,
    is_inside,
    is_known,
    negate,
    require_numbers,
    rounded,
)
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import (
    WIDEST,
    Typed,
    as_double,
    as_scaled,
    bounded_exactly,
    exactly,
    inexact,
    with_digits,
)
from dpproxy.values.errors import NoLogarithm, NoPower, NumberOutOfRange, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import FLOAT8, FLOATS, INT4, NUMERIC, SqlType

Rule = Callable[[Any, list[Typed], Scope], Typed]

MOST_BUCKETS = 100_000
_LARGEST_EXPONENT = Fraction(math.log(sys.float_info.max))
_LEAST_EXPONENT = -746
"""exp of less is zero as a DOUBLE."""
_SLACK = Fraction(1, 10**9)
"""Bounds of a DOUBLE function are widened by this part: the engine's last digits may differ from ours."""


def _number(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    value = settle(arguments[0], NUMERIC, scope, node)
    require_numbers(type(node).__name__.lower(), value)
    return value


def absolute(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """ABS."""
    value = _number(node, arguments, scope)
    if value.is_constant and isinstance(value.constant, int | Fraction):
        return negate(node, value) if value.constant < 0 else value
    high = value.magnitude
    spans_zero = value.low is None or value.high is None or value.low <= 0 <= value.high
    low = Fraction(0) if spans_zero else min(abs(value.low or Fraction(0)), abs(value.high or Fraction(0)))
    operand = value.sql if value.scale is None else duck.cast(value.sql, "HUGEINT")
    kind = replace(value.type, modifier=-1)
    found = replace(value, sql=duck.call("abs", operand), type=kind, low=low, high=high, is_constant=False)
    exact = exactly(value)
    return found if exact is value else with_digits(found, absolute(node, [exact], scope))


def sign(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """SIGN."""
    value = exactly(_number(node, arguments, scope))
    sql, low, high = duck.call("sign", value.sql), Fraction(-1), Fraction(1)
    if value.scale is None:
        return inexact(duck.cast(sql, "DOUBLE"), FLOAT8, low, high, nullable=value.nullable)
    return Typed(sql, NUMERIC, 0, low, high, value.nullable)


def whole(name: str) -> Rule:
    """FLOOR or CEIL: of exact numbers by whole numbers, of others by the engine."""
    pick = math.floor if name == "floor" else math.ceil

    def apply(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        if len(arguments) > 1:
            raise UndefinedFunction(f"{name} takes one number", position=position(node))
        value = bounded_exactly(_number(node, arguments, scope))
        if value.scale == 0:
            return value
        low, high = (None if b is None else Fraction(pick(b)) for b in (value.low, value.high))
        if value.scale is None:
            return inexact(duck.call(name, value.sql), _wide(value), low, high, nullable=value.nullable)
        rest = 10**value.scale - 1
        sql = divided(value, value.scale, *((-rest, 0) if name == "floor" else (0, rest)))
        return Typed(sql, NUMERIC, 0, low, high, value.nullable, presence=value.presence)

    return apply


def rounding(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """ROUND: halves away from zero; of double precision to the even neighbour, as in PostgreSQL."""
    value = bounded_exactly(_number(node, arguments, scope))
    digits = _digits("round", arguments[1]) if len(arguments) > 1 else 0
    if value.scale is not None:
        whole = rounded(value, digits, value.type if value.is_integer else NUMERIC)
        # Tens of the largest integers are out of their type; PostgreSQL's is numeric for all.
        return whole if is_inside(whole) else replace(whole, type=NUMERIC)
    is_even = len(arguments) == 1 and value.type.oid in FLOATS
    bounds = value.low, value.high
    low, high = (
        None if b is None else Fraction(round(b)) if is_even else half_away(b, digits) for b in bounds
    )
    sql = duck.call("round_even" if is_even else "round", value.sql, duck.integer(digits))
    return inexact(sql, _wide(value), low, high, nullable=value.nullable)


def _wide(value: Typed) -> SqlType:
    """The type of what is rounded: PostgreSQL has no rounding of real alone."""
    return FLOAT8 if value.type.oid in FLOATS else value.type


def _digits(name: str, digits: Typed) -> int:
    if digits.parameter is not None:  # its value is not known yet
        return 0
    if not digits.is_integer or not isinstance(digits.constant, int) or not -15 <= digits.constant <= 15:
        raise Unsupported(f"{name} takes a constant number of digits, -15 to 15")
    return digits.constant


def root(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """SQRT; NaN below zero."""
    value = _number(node, arguments, scope)
    if _is_below_zero(value) and is_known(node, scope):
        raise NoPower("cannot take square root of a negative number", position=position(node))
    high = None if value.magnitude is None else Fraction(math.isqrt(math.ceil(value.magnitude)) + 1)
    return inexact(duck.call("sqrt", as_double(value)), FLOAT8, Fraction(0), high, nullable=value.nullable)


def _is_below_zero(value: Typed) -> bool:
    return not value.nullable and value.high is not None and value.high < 0


def _check_logarithm(node: exp.Expr, value: Typed, scope: Scope) -> None:
    if not is_known(node, scope) or value.nullable or value.high is None or value.high > 0:
        return
    if value.high < 0 or value.low == 0:
        words = "zero" if value.high == 0 else "a negative number"
        raise NoLogarithm(f"cannot take logarithm of {words}", position=position(node))


def logarithm(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """LN; -infinity at zero and NaN below."""
    value = _number(node, arguments, scope)
    _check_logarithm(node, value, scope)
    low = high = None
    if value.low is not None and value.high is not None and float(value.low) > 0:
        low, high = Fraction(math.log(value.low)) - 1, Fraction(math.log(value.high)) + 1
    return inexact(duck.call("ln", as_double(value)), FLOAT8, low, high, nullable=value.nullable)


def _check_exponent(node: exp.Expr, value: Typed) -> None:
    if value.low is not None and value.low > _LARGEST_EXPONENT:
        raise NumberOutOfRange("value out of range: overflow", position=position(node))
    if value.high is not None and value.high < _LEAST_EXPONENT and value.type.oid != NUMERIC.oid:
        raise NumberOutOfRange("value out of range: underflow", position=position(node))


def exponential(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """EXP; infinity where it overflows."""
    value = _number(node, arguments, scope)
    if not value.nullable and is_known(node, scope):
        _check_exponent(node, value)
    low, high = Fraction(0), None
    if value.high is not None and value.high < 700:
        high = Fraction(math.exp(value.high)) * Fraction(1001, 1000)
    return inexact(duck.call("exp", as_double(value)), FLOAT8, low, high, nullable=value.nullable)


def truncation(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """TRUNC: towards zero, to a constant number of digits of an exact number."""
    value = bounded_exactly(_number(node, arguments, scope))
    digits = _digits("trunc", arguments[1]) if len(arguments) > 1 else 0
    if value.scale is None:
        if digits:
            raise Unsupported(
                "trunc takes digits of exact numbers only",
                hint="CAST to numeric(precision, scale) first, or use round.",
            )
        low, high = (None if b is None else Fraction(math.trunc(b)) for b in (value.low, value.high))
        return inexact(duck.call("trunc", value.sql), _wide(value), low, high, nullable=value.nullable)
    kind = value.type if value.is_integer else NUMERIC
    if value.is_null or digits >= value.scale:
        return replace(value, type=kind)
    sql = divided(value, value.scale - digits, 0, 0)
    if digits < 0:
        sql = duck.binary("*", sql, duck.integer(10 ** (-digits)))
    step = Fraction(10) ** -digits
    low, high = (None if b is None else math.trunc(b / step) * step for b in (value.low, value.high))
    return Typed(sql, kind, max(digits, 0), low, high, value.nullable, presence=value.presence)


def power(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """POWER(x, constant) and ``x ^ constant``, as DOUBLE."""
    value = _number(node, arguments, scope)
    exponent = _constant_number(node, "power", arguments[1], scope)
    if not value.nullable and is_known(node, scope):
        _check_power(node, value, exponent)
    low, high = _power_bounds(value, exponent)
    sql = duck.call("power", as_double(value), duck.double(float(exponent)))
    kind = NUMERIC if value.type.oid == NUMERIC.oid else FLOAT8
    return inexact(sql, kind, low, high, nullable=value.nullable)


def _check_power(node: exp.Expr, value: Typed, exponent: Fraction) -> None:
    """Raise where the power of every value inside the bounds is not a number, or not a finite one."""
    if value.low == value.high == 0 and exponent < 0:
        raise NoPower("zero raised to a negative power is undefined", position=position(node))
    if _is_below_zero(value) and exponent.denominator != 1:
        words = "a negative number raised to a non-integer power yields a complex result"
        raise NoPower(words, position=position(node))
    if value.low is not None and value.low == value.high:
        try:
            float(value.low) ** float(exponent)
        except OverflowError:
            raise NumberOutOfRange("value out of range: overflow", position=position(node)) from None


def _power_bounds(value: Typed, exponent: Fraction) -> tuple[Fraction | None, Fraction | None]:
    """At the ends, and 0 between them for an even power; none near a pole, or of a negative number's root."""
    if value.low is None or value.high is None:
        return None, None
    if exponent < 0 and value.low <= Fraction(1, 10**9):
        return None, None
    if exponent.denominator != 1 and value.low < 0:
        return None, None
    try:
        ends = [Fraction(float(b) ** float(exponent)) for b in (value.low, value.high)]
    except (OverflowError, ZeroDivisionError):
        return None, None
    if exponent % 2 == 0 and value.low < 0 < value.high:
        ends.append(Fraction(0))
    return _widened(min(ends), max(ends))


def _widened(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    return low - abs(low) * _SLACK, high + abs(high) * _SLACK


def _constant_number(node: exp.Expr, name: str, value: Typed, scope: Scope) -> Fraction:
    value = settle(value, NUMERIC, scope, node)
    if value.parameter is not None:  # its value is not known yet
        return Fraction(1)
    number = value.constant
    if not value.is_number or isinstance(number, bool) or not isinstance(number, int | Fraction):
        raise Unsupported(f"{name} takes constant numbers here")
    return Fraction(number)


def common_logarithm(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """LOG and LOG10 of base 10; LOG(constant base, x)."""
    base = Fraction(10)
    if len(arguments) > 1:
        base = _constant_number(node, "log", arguments[0], scope)
        arguments = arguments[1:]
    value = _number(node, arguments, scope)
    _check_logarithm(node, value, scope)
    if float(base) <= 1:  # the quotient below is of its logarithm as a DOUBLE
        raise Unsupported("log takes a base above 1")
    low = high = None
    if value.low is not None and value.high is not None and float(value.low) > 0:
        low, high = (Fraction(math.log(b, float(base))) for b in (value.low, value.high))
        low, high = low - _SLACK * (1 + abs(low)), high + _SLACK * (1 + abs(high))
    sql: nodes.Expr = duck.call("log", as_double(value))
    if base != 10:
        sql = duck.binary("/", duck.call("ln", as_double(value)), duck.double(math.log(float(base))))
    return inexact(sql, FLOAT8, low, high, nullable=value.nullable)


def scaled_angle(factor: float) -> Rule:
    """DEGREES and RADIANS."""

    def apply(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        value = _number(node, arguments, scope)
        low, high = (None if b is None else b * Fraction(factor) for b in (value.low, value.high))
        sql = duck.binary("*", as_double(value), duck.double(factor))
        return inexact(sql, FLOAT8, low, high, nullable=value.nullable)

    return apply


def width_bucket(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """WIDTH_BUCKET(x, low, high, n): 0 below, n + 1 from ``high`` on and for NaN, else the bucket from 1 on."""
    value = exactly(_number(node, arguments, scope))
    low, high, count = (_constant_number(node, "width_bucket", a, scope) for a in arguments[1:])
    if any(a.parameter is not None for a in arguments[1:]):  # their values are not known yet
        low, high, count = Fraction(0), Fraction(1), Fraction(1)
    if high - low < TINIEST or count.denominator != 1 or not 1 <= count <= MOST_BUCKETS:
        raise NumberOutOfRange(f"width_bucket takes low < high and 1 to {MOST_BUCKETS} buckets")
    buckets = int(count)
    sql = _exact_bucket(value, low, high, buckets) or _double_bucket(value, low, high, buckets)
    bounds = [
        Fraction(side) if b is None else Fraction(_bucket(b, low, high, buckets))
        for b, side in ((value.low, 0), (value.high, buckets + 1))
    ]
    if value.scale is None:  # rounding may move a value over the edge of a bucket
        bounds = [max(bounds[0] - 1, Fraction(0)), Fraction(buckets + 1)]
    return Typed(sql, INT4, 0, bounds[0], bounds[1], value.nullable, presence=value.presence)


def _bucket(value: Fraction, low: Fraction, high: Fraction, count: int) -> int:
    if value < low:
        return 0
    return count + 1 if value >= high else math.floor((value - low) * count / (high - low)) + 1


def _exact_bucket(value: Typed, low: Fraction, high: Fraction, count: int) -> nodes.Expr | None:
    """Of an exact number in whole numbers, None where they would not fit 128 bits."""
    if value.scale is None or value.type.oid in FLOATS:
        return None
    digits = [s for s in range(31) if all(10**s % b.denominator == 0 for b in (low, high))]
    if not digits:
        return None
    scale = max(digits[0], value.scale)
    first, last = int(low * 10**scale), int(high * 10**scale)
    reach = max(abs(first), abs(last), int((value.magnitude or Fraction(0)) * 10**scale))
    if value.magnitude is None or reach * 2 * count >= WIDEST:
        return None
    steps = duck.cast(as_scaled(value, scale), "HUGEINT")
    moved = duck.binary("-", steps, duck.integer(first))
    inside = duck.binary("//", duck.binary("*", moved, duck.integer(count)), duck.integer(last - first))
    return _buckets(steps, duck.integer(first), duck.integer(last), inside, count)


def _double_bucket(value: Typed, low: Fraction, high: Fraction, count: int) -> nodes.Expr:
    """Of a DOUBLE: what is divided is inside [low, high), so that the cast cannot fail; kept below n all the same."""
    number = as_double(value)
    moved = duck.binary("-", number, duck.double(float(low)))
    span = float(high) - float(low) or 1.0  # without a span no value is inside
    share = duck.binary("/", moved, duck.double(span))  # first, as in PostgreSQL: it is rounded
    number_of = duck.binary("*", duck.double(float(count)), share)
    kept = duck.clamp(number_of, duck.double(0.0), duck.double(float(count - 1)))
    inside = duck.cast(duck.call("floor", kept), "BIGINT")
    return _buckets(number, duck.double(float(low)), duck.double(float(high)), inside, count)


def _buckets(
    value: nodes.Expr, low: nodes.Expr, high: nodes.Expr, inside: nodes.Expr, count: int
) -> nodes.Expr:
    below, above = nodes.Binary("<", value, low), nodes.Binary(">=", value, high)
    missing = nodes.IsNull(value)
    number = duck.binary("+", inside, duck.integer(1))
    return duck.case(
        [(missing, nodes.Null()), (below, duck.integer(0)), (above, duck.integer(count + 1))], number
    )
