"""Constants and parameters: literals as exact values; a text literal takes the type beside it."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck, plain
from dpproxy.analysis.clocks import utc_of
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope, exact
from dpproxy.analysis.typed import WIDEST, Typed, as_scaled, null, number
from dpproxy.analysis.unseen import Unseen
from dpproxy.values.errors import (
    DateOutOfRange,
    InvalidMoment,
    InvalidText,
    NumberOutOfRange,
    Refusal,
    TooComplex,
    UndefinedParameter,
    Unsupported,
)
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOATS,
    INT2,
    INT4,
    INT8,
    INTEGERS,
    MOMENTS,
    NUMERIC,
    PLAIN,
    TEXT,
    TEXTS,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    SqlType,
)  # fmt: skip
from dpproxy.wire import datetimes

LONGEST_NUMBER = 60
LONGEST_LITERAL = 999
"""Characters; fewer than are read of a text without listed values."""
LIMITS = {INT2.oid: 2**15, INT4.oid: 2**31, INT8.oid: 2**63}
"""The integer types hold numbers from minus this to below this."""
_SPACES = " \t\n\v\f\r"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_DIGITS = re.compile(r"[-+.0-9\s]*", re.ASCII).fullmatch
_MOST_SCALE = 30
_ENDLESS = re.compile(r"nan|[+-]?inf(inity)?").fullmatch
"""Numbers that nothing bounds: over released values only."""
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


def literal(node: exp.Literal) -> Typed:
    """A number (exact) or a quoted literal, whose type is unknown until something beside it tells."""
    if node.is_string:
        return _text(str(node.this), node, UNKNOWN)
    text = str(node.this)
    try:
        value = number(_parse_number(text))
        # 7.0 is a numeric as in PostgreSQL, or 7.0 / 2 would be a whole number.
        return value if text.isdigit() else replace(value, type=NUMERIC)
    except (ValueError, OverflowError) as error:
        raise NumberOutOfRange("number out of range") from error


def as_written(value: Typed, text: str, scope: Scope) -> Typed:
    """A numeric constant with the digits that it is written with, ``1.50``; beside rows nobody sees them."""
    if (
        scope.level is ExpressionLevel.ROW
        or value.type is not NUMERIC
        or value.scale is None
        or not _DIGITS(text)
    ):
        return value
    digits = len(text.strip(_SPACES).partition(".")[2])
    if not value.scale < digits <= _MOST_SCALE or (value.magnitude or 0) * 10**digits >= WIDEST:
        return value
    return replace(value, sql=as_scaled(value, digits), scale=digits)


def _parse_number(text: str) -> Fraction:
    mantissa, _, exponent = text.lower().partition("e")
    if (
        not _NUMBER.fullmatch(text)
        or len(mantissa) > LONGEST_NUMBER
        or not -300 <= int(exponent or "0") <= 308
    ):
        raise ValueError("not a number, or too long")
    return Fraction(text)


def _parse_whole(text: str) -> int:
    if not _WHOLE.fullmatch(text) or len(text) > LONGEST_NUMBER:
        raise ValueError("not a whole number, or too long")
    return int(text)


def _text(text: str, node: exp.Expr | None, kind: SqlType = TEXT) -> Typed:
    """A constant text. Raises ``InvalidText`` where the engine could not read it, ``TooComplex`` for a long one."""
    if len(text) > LONGEST_LITERAL:
        raise TooComplex(f"a text has more than {LONGEST_LITERAL} characters")
    try:
        exact(text)
    except ValueError:
        raise InvalidText("invalid character in a text", position=position(node)) from None
    return Typed(nodes.Text(text), kind, nullable=False, is_constant=True, constant=text, longest=len(text))


def from_value(value: object, kind: SqlType) -> Typed:
    """A bound parameter as a constant of its type.

    Errors: those of ``exact``; ``OverflowError`` and ``ValueError`` for a number its type cannot hold.
    """
    if kind.oid in PLAIN:
        return Typed(plain.constant(value, kind), kind, nullable=value is None)
    held = exact(value)
    if held is None:
        return null(kind)
    if isinstance(held, bool):
        return Typed(duck.constant(held), BOOL, nullable=False, is_constant=True, constant=held)
    if isinstance(held, int | Fraction):
        return _typed_number(Fraction(held), kind)
    if isinstance(held, str):
        return _text(held, None, kind if kind.oid in TEXTS else TEXT)
    own = TIMESTAMP if isinstance(held, datetime) else DATE
    return Typed(
        duck.constant(held), own, nullable=False, is_constant=True, constant=held, first=held, last=held
    )


def _typed_number(value: Fraction, kind: SqlType) -> Typed:
    if kind.oid in FLOATS:
        return number(value, float_type=kind)
    if kind.oid == NUMERIC.oid:
        return replace(number(value), type=NUMERIC)
    if kind.oid not in INTEGERS:
        return number(value)
    if value.denominator != 1:
        raise ValueError("not a whole number")
    if not -LIMITS[kind.oid] <= value < LIMITS[kind.oid]:
        raise OverflowError(f"out of range for type {kind.shown}")
    return replace(number(value), type=kind)


def parameter(node: exp.Parameter, scope: Scope) -> Typed:
    """``$n``: its value once bound; before that an open place whose type the context may infer."""
    this = node.this
    if (
        not isinstance(this, exp.Literal)
        or this.is_string
        or not str(this.this).isdigit()
        or len(this.this) > 9
    ):
        raise UndefinedParameter("a parameter is written $1, $2, ...", position=position(node))
    index = int(this.this)
    if not 1 <= index <= 1000:
        raise UndefinedParameter(f"there is no parameter ${index}")
    known = scope.parameters.types.get(index)
    if scope.parameters.values is not None:
        return _bound(scope.parameters.value(index, position(node)), known or TEXT, scope)
    if known is None:
        return Typed(nodes.Null(), UNKNOWN, parameter=index)
    is_number = known.oid in INTEGERS or known.oid in FLOATS or known.oid == NUMERIC.oid
    bounds = Fraction(1) if is_number else None  # any value: only the type is asked for
    unbound = null(known)
    moment = unbound.first if known.oid != TIMESTAMPTZ.oid else datetime(2000, 1, 1)  # noqa: DTZ001 - in UTC
    scale = None if known.oid in FLOATS else 0
    return Typed(unbound.sql, known, scale, bounds, bounds, parameter=index, first=moment, last=moment)


def _bound(value: object, kind: SqlType, scope: Scope) -> Typed:
    if isinstance(value, Unseen):
        return _unseen(value, kind)
    if kind.oid == TIMESTAMPTZ.oid and isinstance(value, datetime):
        return constant_moment(_in_utc(value), scope)
    try:
        return from_value(value, kind)
    except (ValueError, OverflowError, TypeError) as error:
        raise NumberOutOfRange(
            f"a parameter is not a value of type {kind.shown}",
            hint="Numbers must be finite, timestamps without time zone.",
        ) from error


_MOMENTS = {DATE.oid: "DATE", TIMESTAMP.oid: "TIMESTAMP"}


def _unseen(value: Unseen, kind: SqlType) -> Typed:
    held: Any = value  # whatever takes it for a value looks at it
    if isinstance(value.kind, str):
        form = "TEXT" if kind is UNKNOWN or kind.oid in TEXTS else _MOMENTS.get(kind.oid, "")
        made = Typed(value.text(form), kind, nullable=False, is_constant=True, constant=held)
        return replace(made, longest=held) if form == "TEXT" else replace(made, first=held, last=held)
    sql = value.double() if value.kind is None else value.scaled(value.kind)
    return Typed(sql, kind, value.kind, held, held, nullable=False, is_constant=True, constant=held)


def settle(value: Typed, kind: SqlType, scope: Scope, node: exp.Expr) -> Typed:
    """Give an open parameter or a quoted literal the type of what stands beside it; others pass unchanged."""
    if value.parameter is not None and value.type is UNKNOWN:
        scope.parameters.infer(value.parameter, kind)
        return parameter(exp.Parameter(this=exp.Literal.number(value.parameter)), scope)
    if value.type is not UNKNOWN:
        return value
    if value.unseen is not None:
        return _unseen(value.unseen, TEXT if kind.oid in TEXTS or kind is UNKNOWN else kind)
    if value.constant is None:
        return null(kind)
    return read_constant(str(value.constant), kind, scope, node)


def read_constant(text: str, kind: SqlType, scope: Scope, node: exp.Expr) -> Typed:
    """A quoted literal as a constant of a type. Raises ``InvalidText``."""
    if kind.oid == TIMESTAMPTZ.oid:
        return read_moment(text, node, scope)
    if (
        scope.level is ExpressionLevel.RELEASED
        and kind.oid in FLOATS
        and _ENDLESS(text.strip(_SPACES).lower())
    ):
        return Typed(duck.cast(nodes.Text(text.strip(_SPACES)), "DOUBLE"), kind, None, nullable=False)
    value = read_as(text, kind, node)
    return as_written(value, text, scope) if kind.oid == NUMERIC.oid else value


def constant_moment(moment: datetime, scope: Scope) -> Typed:
    """A moment of UTC as a constant with a time zone: beside rows it is held as the time in UTC."""
    is_row = scope.level is ExpressionLevel.ROW
    sql = duck.constant(moment) if is_row else plain.constant(moment, TIMESTAMPTZ)
    return Typed(
        sql, TIMESTAMPTZ, nullable=False, is_constant=True, constant=moment, first=moment, last=moment
    )


def read_moment(text: str, node: exp.Expr, scope: Scope) -> Typed:
    """A quoted literal as a moment, by the session's clock where it names no zone. Raises as ``read_as``."""
    try:
        east, west = (datetimes.read_timestamptz_text(text.encode(), zone) for zone in ("-1", "1"))
        shown = datetimes.read_timestamp_text(text.encode())
    except (ValueError, OverflowError):
        return read_as(text, TIMESTAMPTZ, node)
    if isinstance(east, datetimes.Endless) or isinstance(shown, datetimes.Endless):
        return read_as(text, TIMESTAMPTZ, node)
    try:
        moment = _in_utc(east) if east == west else utc_of(shown, scope.parameters.zone)
    except OverflowError:
        raise NumberOutOfRange("a moment out of range", position=position(node)) from None
    return constant_moment(moment, scope)


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def read_as(text: str, kind: SqlType, node: exp.Expr) -> Typed:
    """A quoted literal read as a type. Raises ``InvalidText``."""
    if kind.oid in PLAIN:
        return _read_plain(text, kind, node)
    try:
        if kind.oid in TEXTS or kind is UNKNOWN:
            return _text(text, node)
        return from_value(_READERS[kind.oid](text.strip(_SPACES)), kind)
    except OverflowError as error:
        raise NumberOutOfRange(f"value out of range for type {kind.shown}") from error
    except (ValueError, KeyError) as error:
        is_moment = kind.oid in MOMENTS
        if isinstance(error, datetimes.NoSuchMoment):
            raise DateOutOfRange("date/time field value out of range", position=position(node)) from error
        invalid = (InvalidMoment if is_moment else InvalidText)(
            f"invalid input syntax for type {kind.shown}", position=position(node)
        )
        if kind.oid not in {*INTEGERS, BOOL.oid} and (found := _ENDLESS(text.strip(_SPACES).lower())):
            if is_moment and found.group() == "nan":
                raise invalid from error
            raise Unsupported(
                "NaN and infinity are not computed with beside rows",
                hint="Leave the condition out: every moment is before infinity."
                if is_moment
                else "Leave it out: SELECT 'NaN'::float8 alone is answered.",
            ) from error
        raise invalid from error


def _read_plain(text: str, kind: SqlType, node: exp.Expr) -> Typed:
    try:
        return from_value(plain.read(text, kind), kind)
    except Refusal as refusal:
        refusal.position = position(node)
        raise
    except ValueError as error:
        raise InvalidText(
            f"a value of type {kind.shown} is written with its zone here",
            hint="Write it behind the time: 2024-01-02 03:04:05+00.",
            position=position(node),
        ) from error


def _finite(value: object) -> object:
    """Nothing is computed with what has no end. Raises ``ValueError``."""
    if isinstance(value, datetimes.Endless):
        raise ValueError  # noqa: TRY004 - that is how readers refuse
    return value


def _read_bool(text: str) -> bool:
    """A word, or the beginning of one."""
    found = {value for word, value in _TRUTHS.items() if word.startswith(text.lower())} if text else set()
    if len(found) != 1:
        raise ValueError("no truth value")
    return found.pop()


_TRUTHS = {
    "true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip


_READERS: dict[int, Callable[[str], object]] = {
    BOOL.oid: _read_bool,
    DATE.oid: lambda text: _finite(datetimes.read_date_text(text.encode())),
    TIMESTAMP.oid: lambda text: _finite(datetimes.read_timestamp_text(text.encode())),
    NUMERIC.oid: _parse_number,
    **dict.fromkeys(INTEGERS, _parse_whole),
    **dict.fromkeys(FLOATS, _parse_number),
}
