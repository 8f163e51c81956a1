"""Arithmetic over numbers: total at row level, with bounds by interval arithmetic over declared domains."""

import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.analysis.quotients import quotient
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import INT64, WIDEST, Typed, as_double, as_scaled, exactly, inexact, with_digits
from dpproxy.values.errors import DivisionByZero, NumberOutOfRange, UndefinedFunction
from dpproxy.values.pgtypes import FLOAT4, FLOAT8, FLOATS, INT2, INT4, INT8, INTEGERS, NUMERIC, SqlType

Interval = tuple[Fraction | None, Fraction | None]
_LIMITS = {INT2.oid: 2**15, INT4.oid: 2**31, INT8.oid: 2**63}
_MOST_SCALE = 30
_QUOTIENT_SCALE = 20
LARGEST = Fraction(sys.float_info.max)
TINIEST = Fraction(1, 10**300)
"""A DOUBLE whose bounds come nearer to zero may be rounded to zero."""
_RANK = [INT2.oid, INT4.oid, INT8.oid, NUMERIC.oid, FLOAT4.oid, FLOAT8.oid]


def common_type(left: SqlType, right: SqlType) -> SqlType:
    """PostgreSQL's result type of arithmetic on two numbers; float4 beside anything else becomes float8."""
    if left.oid == right.oid:
        return replace(left, modifier=-1)
    if FLOAT4.oid in (left.oid, right.oid):
        return FLOAT8
    best = max(left, right, key=lambda t: _RANK.index(t.oid))
    return replace(best, modifier=-1)


def require_numbers(sign: str, *operands: Typed) -> None:
    """Raise ``UndefinedFunction`` unless every operand is a number."""
    if not all(o.is_number for o in operands):
        kinds = f" {sign} ".join(o.type.shown for o in operands)
        raise UndefinedFunction(
            f"operator does not exist: {kinds}",
            hint="No type is converted silently: write a CAST or compare values of one type.",
        )


def _spread(values: list[Fraction | None]) -> Interval:
    known = [v for v in values if v is not None]
    return (min(known), max(known)) if len(known) == len(values) else (None, None)


def _add(a: Typed, b: Typed) -> Interval:
    return (
        None if a.low is None or b.low is None else a.low + b.low,
        None if a.high is None or b.high is None else a.high + b.high,
    )


def _subtract(a: Typed, b: Typed) -> Interval:
    return (
        None if a.low is None or b.high is None else a.low - b.high,
        None if a.high is None or b.low is None else a.high - b.low,
    )


def _multiply(a: Typed, b: Typed) -> Interval:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None, None
    return _spread([x * y for x in (a.low, a.high) for y in (b.low, b.high)])


_SIMPLE: dict[type[exp.Expr], tuple[str, Callable[[Typed, Typed], Interval]]] = {
    exp.Add: ("+", _add),
    exp.Sub: ("-", _subtract),
    exp.Mul: ("*", _multiply),
}


def simple(node: exp.Binary, a: Typed, b: Typed, scope: Scope) -> Typed:
    """``+``, ``-`` and ``*``: exact on exact numbers while 128 bits hold them, DOUBLE otherwise."""
    sign, interval = _SIMPLE[type(node)]
    require_numbers(sign, a, b)
    low, high = interval(a, b)
    kind = common_type(a.type, b.type)
    nullable = a.nullable or b.nullable
    scale = _exact_scale(node, a, b)
    if scale is not None and kind.oid not in FLOATS:
        if isinstance(node, exp.Mul):
            left, right = a.sql, b.sql
        else:
            left, right = as_scaled(a, scale), as_scaled(b, scale)
        width = _integer_type(a, b, low, high, scale, scope)
        if width is not None:
            sql = duck.binary(duck.OPERATORS[type(node)], duck.cast(left, width), duck.cast(right, width))
            return Typed(sql, _fits(kind, low, high, node, scope), scale, low, high, nullable)
    sql = duck.binary(duck.OPERATORS[type(node)], as_double(a), as_double(b))
    check_double(node, low, high, scope)
    if kind.oid in INTEGERS:
        raise _beyond(node, kind, "numeric")
    held, one, other = inexact(sql, kind, low, high, nullable=nullable), exactly(a), exactly(b)
    return held if one is a and other is b else with_digits(held, simple(node, one, other, scope))


def _exact_scale(node: exp.Binary, a: Typed, b: Typed) -> int | None:
    if a.scale is None or b.scale is None:
        return None
    scale = a.scale + b.scale if isinstance(node, exp.Mul) else max(a.scale, b.scale)
    return scale if scale <= _MOST_SCALE else None


def _integer_type(
    a: Typed, b: Typed, low: Fraction | None, high: Fraction | None, scale: int, scope: Scope
) -> str | None:
    if scope.level is ExpressionLevel.RELEASED:
        return "HUGEINT"
    sizes = [low, high, a.low, a.high, b.low, b.high]
    if any(s is None for s in sizes):
        return None
    largest = max(abs(s) for s in sizes if s is not None) * 10**scale
    return "BIGINT" if largest <= INT64 else "HUGEINT" if largest < WIDEST else None


def check_range(
    node: exp.Expr, kind: SqlType, low: Fraction | None, high: Fraction | None, scope: Scope
) -> None:
    """Raise ``NumberOutOfRange`` where a value over released ones is outside its type whatever they are."""
    limit = _LIMITS.get(kind.oid)
    if limit is None or not is_known(node, scope):
        return
    if (low is not None and low >= limit) or (high is not None and high < -limit):
        raise NumberOutOfRange(f"{kind.shown} out of range", position=position(node))


def check_double(node: exp.Expr, low: Fraction | None, high: Fraction | None, scope: Scope) -> None:
    """Raise ``NumberOutOfRange`` where a DOUBLE over released values is infinite whatever they are."""
    above = low is not None and low > LARGEST
    if is_known(node, scope) and (above or (high is not None and high < -LARGEST)):
        raise NumberOutOfRange("value out of range: overflow", position=position(node))


def is_known(node: exp.Expr, scope: Scope) -> bool:
    """Over released values, with the values of all parameters: bounds are those of the values themselves."""
    is_bound = scope.parameters.values is not None or node.find(exp.Parameter) is None
    return scope.level is ExpressionLevel.RELEASED and is_bound


def widened(node: exp.Expr, kind: str) -> str:
    """The first operand of an expression with a wider type."""
    operand = node.this if isinstance(node.this, exp.Expr) else node
    return f"CAST({operand.sql('postgres', comments=False)} AS {kind})"


def _fits(
    kind: SqlType, low: Fraction | None, high: Fraction | None, node: exp.Expr, scope: Scope
) -> SqlType:
    """The type PostgreSQL gives, refused where its range could be left (there the row would raise)."""
    check_range(node, kind, low, high, scope)
    limit = _LIMITS.get(kind.oid)
    if limit is None or scope.level is ExpressionLevel.RELEASED:
        return kind
    if low is None or high is None or low < -limit or high >= limit:
        raise _beyond(node, kind, "bigint" if kind.oid != INT8.oid else "numeric")
    return kind


def _beyond(node: exp.Expr, kind: SqlType, wider: str) -> NumberOutOfRange:
    return NumberOutOfRange(
        f"{kind.shown} could go out of range by the declared bounds",
        hint=f"Cast an operand: {widened(node, wider)}.",
    )


def is_inside(value: Typed) -> bool:
    """Whether the bounds of a number are inside its type; of a type without a range they are."""
    limit = _LIMITS.get(value.type.oid)
    if limit is None:
        return True
    return value.low is not None and value.high is not None and -limit <= value.low and value.high < limit


def divide(node: exp.Binary, a: Typed, b: Typed, scope: Scope) -> Typed:
    """``/``: whole for integers (towards zero), DOUBLE otherwise; a division by zero gives NULL."""
    require_numbers("/", a, b)
    _check_divisor(node, b, scope)
    kind = common_type(a.type, b.type)
    if kind.oid == NUMERIC.oid and (constant := _quotient_of_constants(a, b, scope)) is not None:
        return constant
    low, high = _quotient(a, b)
    nullable = a.nullable or b.nullable or not _excludes_zero(b)
    if kind.oid in INTEGERS:
        width = _division_type(a, b, scope)
        whole = None if a.magnitude is None else Fraction(a.magnitude)
        least = None if whole is None else -whole
        divisor = duck.call("nullif", duck.cast(b.sql, width), duck.integer(0))
        sql = duck.binary("//", duck.cast(a.sql, width), divisor)
        return Typed(sql, kind, 0, least, whole, nullable)
    divided_by = _kept_off_zero(b) or duck.call("nullif", as_double(b), duck.double(0.0))
    held = inexact(duck.binary("/", as_double(a), divided_by), kind, low, high, nullable=nullable)
    return with_digits(
        held, _rounded_quotient(exactly(a), exactly(b), scope) if kind.oid == NUMERIC.oid else None
    )


def _rounded_quotient(a: Typed, b: Typed, scope: Scope) -> Typed | None:
    """Rounded to 20 digits after the point, or as many as 128 bits hold; None where there is no room for any more."""
    if scope.level is not ExpressionLevel.ROW or a.scale is None or b.scale is None:
        return None
    if a.magnitude is None or b.magnitude is None:
        return None
    low, high = _quotient(a, b)
    if low is None or high is None:
        high = a.magnitude * 10**b.scale
        low = -high
    reach = max(abs(low), abs(high))
    for scale in range(_QUOTIENT_SCALE, max(a.scale, b.scale), -1):
        sizes = 2 * a.magnitude * 10 ** (scale + b.scale) + 2 * b.magnitude * 10**b.scale
        if max(sizes, reach * 10**scale) < WIDEST:
            break
    else:
        return None
    over = duck.cast(b.sql, "HUGEINT")
    half = duck.call("abs", over)
    nudge = duck.case(
        [(nodes.Binary("<", a.sql, duck.integer(0)), duck.binary("-", duck.integer(0), half))], half
    )
    twice = duck.binary("*", duck.cast(a.sql, "HUGEINT"), duck.integer(2 * 10 ** (scale + b.scale - a.scale)))
    divisor = duck.call("nullif", duck.binary("*", over, duck.integer(2)), duck.integer(0))
    sql = duck.binary("//", duck.binary("+", twice, nudge), divisor)
    nullable = a.nullable or b.nullable or not _excludes_zero(b)
    return Typed(sql, NUMERIC, scale, half_away(low, scale), half_away(high, scale), nullable)


def _kept_off_zero(b: Typed) -> nodes.Expr | None:
    """A computed DOUBLE whose bounds leave zero out, held to the bound that does: rounding may have passed it."""
    if b.scale is not None or b.is_constant or not _excludes_zero(b):
        return None
    sign, bound = (">", b.high) if b.low is None or b.low <= TINIEST else ("<", b.low)
    end = duck.double(float(bound or 0))
    return duck.case([(nodes.Binary(sign, b.sql, end), end)], b.sql)


def _check_divisor(node: exp.Expr, b: Typed, scope: Scope) -> None:
    """Raise ``DivisionByZero`` over released values where the divisor is 0 whatever they are."""
    if not is_known(node, scope) or b.is_null or b.low is None or b.high is None:
        return
    if b.low == b.high == 0:
        raise DivisionByZero("division by zero", position=position(node))


def _quotient_of_constants(a: Typed, b: Typed, scope: Scope) -> Typed | None:
    """Of two exact constants, with PostgreSQL's number of digits; None of others, and where there are too many."""
    texts = [_digits_of(a), _digits_of(b)]
    if scope.level is ExpressionLevel.ROW or None in texts or not b.constant:
        return None
    shown = quotient(str(texts[0]), str(texts[1]))
    value, scale = Fraction(shown), len(shown.partition(".")[2])
    if scale > _MOST_SCALE or abs(value) * 10**scale >= WIDEST:
        return None
    held = duck.integer(int(value * 10**scale))
    return Typed(held, NUMERIC, scale, value, value, nullable=False, is_constant=True, constant=value)


def _digits_of(value: Typed) -> str | None:
    """An exact constant as it is shown."""
    if not value.is_constant or value.scale is None or not isinstance(value.constant, int | Fraction):
        return None
    whole = int(value.constant * 10**value.scale)
    return format(Decimal((int(whole < 0), tuple(map(int, str(abs(whole)))), -value.scale)), "f")


def _division_type(a: Typed, b: Typed, scope: Scope) -> str:
    """BIGINT where both operands and any quotient fit: the least BIGINT over -1 does not."""
    sizes = (a.magnitude, b.magnitude)
    small = scope.level is ExpressionLevel.ROW and all(s is not None and s <= INT64 for s in sizes)
    return "BIGINT" if small else "HUGEINT"


def _excludes_zero(b: Typed) -> bool:
    return (b.low is not None and b.low > TINIEST) or (b.high is not None and b.high < -TINIEST)


def _quotient(a: Typed, b: Typed) -> Interval:
    if a.low is None or a.high is None or b.low is None or b.high is None or not _excludes_zero(b):
        return None, None
    return _spread([x / y for x in (a.low, a.high) for y in (b.low, b.high)])


def modulo(node: exp.Binary, a: Typed, b: Typed, scope: Scope) -> Typed:
    """``%`` on exact numbers, sign of the dividend; modulo zero gives NULL."""
    require_numbers("%", a, b)
    _check_divisor(node, b, scope)
    scale = None if a.scale is None or b.scale is None else max(a.scale, b.scale)
    sizes = [m * 10 ** (scale or 0) for m in (a.magnitude, b.magnitude) if m is not None]
    if scale is None or any(o.type.oid in FLOATS for o in (a, b)) or any(s >= WIDEST for s in sizes):
        raise UndefinedFunction("operator % is answered for exact numbers only")
    width = "HUGEINT" if scale else _division_type(a, b, scope)
    divisor = duck.call("nullif", duck.cast(as_scaled(b, scale), width), duck.integer(0))
    reach = None
    if a.magnitude is not None and b.magnitude is not None:  # at least one step less than the divisor
        reach = min(a.magnitude, max(b.magnitude - Fraction(1, 10**scale), Fraction(0)))
    low = None if reach is None else (-reach if a.low is None or a.low < 0 else Fraction(0))
    nullable = a.nullable or b.nullable or not _excludes_zero(b)
    sql = duck.binary("%", duck.cast(as_scaled(a, scale), width), divisor)
    return Typed(sql, common_type(a.type, b.type), scale, low, reach, nullable)


def divided(a: Typed, digits: int, below: int, above: int) -> nodes.Expr:
    """The integer of an exact number, ``digits`` digits shorter, in 128 bits.

    Division drops what is left towards zero; ``below`` is added first to a number below zero, ``above`` to others.
    """
    zero = duck.integer(0)
    nudge = duck.case([(nodes.Binary("<", a.sql, zero), duck.integer(below))], duck.integer(above))
    moved = duck.binary("+", duck.cast(a.sql, "HUGEINT"), nudge)
    return duck.binary("//", moved, duck.integer(10**digits))


def rounded(a: Typed, digits: int, kind: SqlType) -> Typed:
    """ROUND of an exact number to ``digits`` after the point, halves away from zero; negative counts before it."""
    scale = a.scale or 0
    if a.is_null or digits >= scale:
        return replace(a, type=kind)
    half = 10 ** (scale - digits) // 2
    sql = divided(a, scale - digits, -half, half)
    if digits < 0:
        sql = duck.binary("*", sql, duck.integer(10 ** (-digits)))
    bounds = [None if b is None else half_away(b, digits) for b in (a.low, a.high)]
    return Typed(sql, kind, max(digits, 0), bounds[0], bounds[1], a.nullable, presence=a.presence)


def half_away(value: Fraction, digits: int) -> Fraction:
    """ROUND of a bound."""
    step = Fraction(10) ** -digits
    whole = int(abs(value) / step + Fraction(1, 2)) * step
    return -whole if value < 0 else whole


def negate(node: exp.Expr, a: Typed) -> Typed:
    """Unary minus."""
    require_numbers("-", a)
    low = None if a.high is None else -a.high
    high = None if a.low is None else -a.low
    a = replace(a, type=replace(a.type, modifier=-1))
    if a.is_constant and isinstance(a.constant, int | Fraction):
        return replace(a, sql=duck.binary("-", duck.integer(0), a.sql) if a.scale is None else _minus(a),
                       low=low, high=high, constant=-a.constant)  # fmt: skip
    operand = a.sql if a.scale is None else duck.cast(a.sql, "HUGEINT")
    held = replace(a, sql=nodes.Paren(nodes.Negative(operand)), low=low, high=high, is_constant=False)
    exact = exactly(a)
    return held if exact is a else with_digits(held, negate(node, exact))


def _minus(a: Typed) -> nodes.Expr:
    return duck.integer(-int(Fraction(a.constant) * 10 ** (a.scale or 0)))  # type: ignore[arg-type]
