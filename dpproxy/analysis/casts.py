"""CAST, by allow-list: between number types, and of literals; a row-level cast is proved to be in range."""

import re
from datetime import datetime
from fractions import Fraction

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.arithmetic import check_range, half_away, rounded
from dpproxy.analysis.clocks import local_of, offset_at
from dpproxy.analysis.dates import to_date, to_timestamp
from dpproxy.analysis.instants import is_instant, to_instant, to_local
from dpproxy.analysis.literals import LIMITS, from_value, read_constant, settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.spans import to_time
from dpproxy.analysis.typed import (
    WIDEST,
    Typed,
    as_double,
    as_scaled,
    boolean,
    bounded_exactly,
    exactly,
    inexact,
    nearest_double,
    null,
)
from dpproxy.analysis.written import FLOAT4 as FLOAT4_TEXT
from dpproxy.analysis.written import FLOAT8 as FLOAT8_TEXT
from dpproxy.analysis.written import INTERVAL as INTERVAL_TEXT
from dpproxy.analysis.written import NUMERIC as NUMERIC_TEXT
from dpproxy.analysis.written import written
from dpproxy.values.errors import InvalidParameter, NumberOutOfRange, Unsupported
from dpproxy.values.pgtypes import (
    BOOL,
    BY_OID,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    FLOATS,
    INT2,
    INT4,
    INT8,
    INTEGERS,
    INTERVAL,
    JSON,
    NUMERIC,
    TEXT,
    TEXTS,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    UUID,
    VARCHAR,
    SqlType,
    array_of,
    element_of,
)  # fmt: skip
from dpproxy.wire.datetimes import write_timestamp_text
from dpproxy.wire.times import offset_text

_NAMES: dict[exp.DType, SqlType] = {
    exp.DType.SMALLINT: INT2, exp.DType.INT: INT4, exp.DType.BIGINT: INT8, exp.DType.DECIMAL: NUMERIC,
    exp.DType.FLOAT: FLOAT4, exp.DType.DOUBLE: FLOAT8, exp.DType.BOOLEAN: BOOL, exp.DType.TEXT: TEXT,
    exp.DType.VARCHAR: VARCHAR, exp.DType.DATE: DATE, exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMPTZ, exp.DType.TIME: TIME, exp.DType.INTERVAL: INTERVAL, exp.DType.UUID: UUID,
    exp.DType.VARBINARY: BYTEA, exp.DType.JSON: JSON,
}  # fmt: skip


_WRITTEN_ALIKE = {
    **dict.fromkeys((*INTEGERS, BOOL.oid, DATE.oid), 20),
    TIME.oid: 15,
    TIMESTAMP.oid: 26,
    UUID.oid: 36,
    JSON.oid: None,
}
"""Types whose values the engine writes as PostgreSQL does, and the most characters of one."""
_WRITTEN = {
    FLOAT8.oid: (FLOAT8_TEXT, 24),
    INTERVAL.oid: (INTERVAL_TEXT, 64),
    NUMERIC.oid: (NUMERIC_TEXT, 330),
}
"""Those it writes otherwise."""

_DIGITS = re.compile("[0-9]{1,4}").fullmatch
_LENGTH = re.compile("[0-9]{1,9}").fullmatch
LONGEST_VARCHAR = 10_485_760


def is_known(oid: int) -> bool:
    """Whether values of a type can be computed with: by its OID, or 0 for one that nobody declared."""
    kind = BY_OID.get(oid)
    return oid == 0 or (kind is not None and (element_of(kind) or kind).oid in _KNOWN)


_KNOWN = frozenset(kind.oid for kind in _NAMES.values())


def target_type(node: exp.Cast) -> SqlType:
    """The type a CAST names. Raises ``Unsupported``."""
    return _named_type(node, node.to)


def _named_type(node: exp.Cast, to: exp.Expr) -> SqlType:
    if to.this == exp.DType.ARRAY and len(to.expressions) == 1:
        return array_of(_named_type(node, to.expressions[0]))
    kind = _NAMES.get(to.this) if isinstance(to, exp.DataType) else None
    if kind is None or to.args.get("nested"):
        raise Unsupported("this type is not supported in a cast")
    parameters = [str(p.this) for p in to.expressions]
    if parameters and kind.oid == NUMERIC.oid and all(map(_DIGITS, parameters)):
        precision, scale = int(parameters[0]), int([*parameters, "0"][1])
        if not (1 <= precision <= 38 and scale <= precision):
            raise NumberOutOfRange("numeric precision must be 1 to 38")
        return NUMERIC.with_precision(precision, scale)
    if len(parameters) == 1 and kind.oid == VARCHAR.oid and _LENGTH(parameters[0]):
        if not 1 <= int(parameters[0]) <= LONGEST_VARCHAR:
            raise InvalidParameter(f"length for type varchar must be 1 to {LONGEST_VARCHAR}")
        return replace(kind, modifier=int(parameters[0]) + 4)
    if parameters:
        raise Unsupported("a length in a cast is not supported")
    return kind


def cast(node: exp.Cast, value: Typed, scope: Scope) -> Typed:
    """CAST(value AS type). Raises ``Unsupported`` or ``NumberOutOfRange``."""
    if type(node) is not exp.Cast or node.args.get("format") or node.args.get("safe"):
        raise Unsupported("only CAST(x AS type) is supported", position=position(node))
    kind = target_type(node)
    if value.parameter is not None and value.type is UNKNOWN:
        return settle(value, replace(kind, modifier=-1), scope, node)
    if value.type is UNKNOWN:
        if value.unseen is None and value.constant is None:
            return null(kind)
        value = settle(value, replace(kind, modifier=-1), scope, node)
    if value.unseen is not None and not value.is_number and value.type.oid != kind.oid:
        value.unseen.look()
    return _convert(node, value, kind, scope)


def _convert(node: exp.Cast, value: Typed, kind: SqlType, scope: Scope) -> Typed:
    if isinstance(value.constant, str) and kind.oid not in TEXTS:
        return _convert(
            node, read_constant(value.constant, replace(kind, modifier=-1), scope, node), kind, scope
        )
    if value.is_number and kind.oid in _RULES:
        return _RULES[kind.oid](node, value, kind, scope)
    if value.type.oid in TEXTS and kind.oid in TEXTS:
        return _shortened(value, kind)
    if value.type.oid == kind.oid:
        return value
    if scope.level is ExpressionLevel.RELEASED and {value.type.oid, kind.oid} == {BOOL.oid, INT4.oid}:
        return _of_truth(value, kind)
    if (moment := _moment(node, value, kind, scope)) is not None:
        return moment
    if kind.oid in TEXTS and (text := as_text(value, scope)) is not None:
        return _shortened(text, kind)
    raise Unsupported(f"cannot cast type {value.type.shown} to {kind.shown} here")


def _moment(node: exp.Cast, value: Typed, kind: SqlType, scope: Scope) -> Typed | None:
    """One of the three types of moments as another; None for other types."""
    if value.type.oid == DATE.oid and kind.oid == TIMESTAMP.oid:
        return to_timestamp(value)
    if value.type.oid == TIMESTAMP.oid and kind.oid == DATE.oid:
        return to_date(value)
    if value.is_moment and kind.oid == TIMESTAMPTZ.oid:
        return to_instant(value, scope.parameters.zone, node, scope)
    if value.type.oid == TIMESTAMP.oid and kind.oid == TIME.oid and scope.level is ExpressionLevel.RELEASED:
        return to_time(value)
    if is_instant(value) and kind.oid in (DATE.oid, TIMESTAMP.oid):
        shown = to_local(value, scope.parameters.zone, node, scope)
        return shown if kind.oid == TIMESTAMP.oid else to_date(shown)
    return None


def _of_truth(value: Typed, kind: SqlType) -> Typed:
    """A truth value as 0 or 1, or an integer as whether it is another one than 0."""
    if kind.oid == BOOL.oid:
        return boolean(nodes.Binary("<>", value.sql, duck.integer(0)), nullable=value.nullable)
    number = duck.cast(value.sql, "INTEGER")
    return Typed(number, kind, 0, Fraction(0), Fraction(1), value.nullable)


def _shortened(value: Typed, kind: SqlType) -> Typed:
    """A text as another type of text: of ``varchar(n)`` the first n characters, without a word, as in PostgreSQL."""
    size = kind.modifier - 4
    if size < 0 or (value.longest is not None and value.longest <= size):
        return replace(value, type=kind)
    if isinstance(value.constant, str):
        return replace(from_value(value.constant[:size], TEXT), type=kind)
    longest = size if value.longest is None else min(value.longest, size)
    sql = duck.call("left", value.sql, duck.integer(size))
    return Typed(sql, kind, nullable=value.nullable, presence=value.presence, longest=longest)


def as_text(value: Typed, scope: Scope) -> Typed | None:
    """As PostgreSQL writes it; None where that is not known. Of rows whole numbers and truth values only."""
    if value.type.oid in TEXTS:
        return value
    if scope.level is ExpressionLevel.ROW and value.type.oid not in (*INTEGERS, BOOL.oid):
        return None
    if value.is_integer and isinstance(value.constant, int):
        return from_value(str(value.constant), TEXT)
    if is_instant(value) and isinstance(value.constant, datetime):
        shown = local_of(value.constant, scope.parameters.zone)
        offset = offset_at(scope.parameters.zone, value.constant)
        text = write_timestamp_text(shown) + offset_text(round(offset.total_seconds()))
        return from_value(text.decode(), TEXT)
    return _to_text(value, TEXT)


def _to_text(value: Typed, kind: SqlType) -> Typed | None:
    if value.type.oid in _WRITTEN_ALIKE:
        sql, longest = duck.cast(value.sql, "VARCHAR"), _WRITTEN_ALIKE[value.type.oid]
    elif value.type.oid == NUMERIC.oid and value.scale:
        return _with_point(value, kind)
    elif value.type.oid == NUMERIC.oid and value.scale == 0:
        sql, longest = duck.cast(value.sql, "VARCHAR"), 40
    elif value.type.oid == FLOAT4.oid:
        sql, longest = written(FLOAT4_TEXT, duck.cast(value.sql, "FLOAT")), 24
    elif value.type.oid in _WRITTEN and (value.type.oid == INTERVAL.oid or _is_bare(value)):
        template, longest = _WRITTEN[value.type.oid]
        sql = written(template, value.sql)
    else:
        return None
    return Typed(sql, kind, nullable=value.nullable, presence=value.presence, longest=longest)


def _is_bare(value: Typed) -> bool:
    """A DOUBLE that is to be shown with as many digits as it has."""
    return value.scale is None and value.type.modifier < 0


def _with_point(value: Typed, kind: SqlType) -> Typed:
    """The digits of a number that is held as a whole one, with the point in its place."""
    scale = value.scale or 0
    shown = duck.cast(duck.call("abs", value.sql), "VARCHAR")
    is_short = nodes.Binary("<=", duck.call("length", shown), duck.integer(scale))
    padded = duck.call("lpad", shown, duck.integer(scale + 1), nodes.Text("0"))
    digits = duck.case([(is_short, padded)], shown)
    negative = nodes.Binary("<", value.sql, duck.integer(0))
    sign = duck.case([(negative, nodes.Text("-"))], nodes.Text(""))
    whole = duck.call("left", digits, duck.integer(-scale))
    parts = [sign, whole, nodes.Text("."), duck.call("right", digits, duck.integer(scale))]
    sql = duck.case([(nodes.IsNull(value.sql), nodes.Null())], duck.call("concat", *parts))
    return Typed(sql, kind, nullable=value.nullable, presence=value.presence, longest=41)


def _to_float(_: exp.Cast, value: Typed, kind: SqlType, scope: Scope) -> Typed:
    if kind.oid == FLOAT4.oid and scope.level is ExpressionLevel.RELEASED and value.unseen is None:
        sql = duck.cast(duck.cast(as_double(value), "FLOAT"), "DOUBLE")
        return inexact(sql, kind, value.low, value.high, nullable=value.nullable)
    low, high = nearest_double(value.low), nearest_double(value.high)
    return replace(value, sql=as_double(exactly(value)), type=kind, scale=None, low=low, high=high)


def _to_integer(node: exp.Cast, value: Typed, kind: SqlType, scope: Scope) -> Typed:
    limit, value = LIMITS[kind.oid], bounded_exactly(value)
    if value.scale == 0 and (value.is_integer and LIMITS[value.type.oid] <= limit):
        return replace(value, type=kind)
    ends = [None if end is None else half_away(end, 0) for end in (value.low, value.high)]
    if scope.level is ExpressionLevel.ROW and not _inside(ends, limit):
        raise NumberOutOfRange(f"{kind.shown} could go out of range by the declared bounds")
    check_range(node, kind, value.low, value.high, scope)
    if value.scale is not None:
        return rounded(value, 0, kind)
    if value.low is None or value.high is None:  # over released values only
        low, high = Fraction(-limit), Fraction(limit - 1)
    else:
        low, high = Fraction(round(value.low)), Fraction(round(value.high))
    rounding = "round_even" if value.type.oid in FLOATS else "round"
    return Typed(_round_total(value, low, high, rounding), kind, 0, low, high, value.nullable)


def _inside(ends: list[Fraction | None], limit: int) -> bool:
    return all(end is not None and -limit <= end < limit for end in ends)


def _round_total(value: Typed, low: Fraction, high: Fraction, rounding: str) -> nodes.Expr:
    """ROUND of a DOUBLE that stays inside whole bounds, whatever the value: NaN counts as above the upper one.

    Halves of double precision go to the even neighbour, as in PostgreSQL: ``round_even``.

    Clamped twice: before, so that the cast holds; after, because a bound over 53 bits is no DOUBLE.
    """
    near = duck.clamp(as_double(value), duck.double(float(low)), duck.double(float(high)))
    digits = [duck.integer(0)] if rounding == "round_even" else []
    whole = duck.cast(duck.call(rounding, near, *digits), "HUGEINT")
    if max(abs(low), abs(high)) <= 2**53:
        return whole
    return duck.clamp(whole, duck.integer(int(low)), duck.integer(int(high)))


def _to_numeric(_: exp.Cast, value: Typed, kind: SqlType, scope: Scope) -> Typed:
    scale, precision = kind.scale, kind.precision
    if scale is None or precision is None:
        if value.type.oid == FLOAT4.oid and scope.level is ExpressionLevel.RELEASED:
            digits = duck.cast(duck.call("format", nodes.Text("{:.6g}"), value.sql), "DOUBLE")
            return inexact(digits, kind, value.low, value.high, nullable=value.nullable)
        return replace(value, type=kind)
    value = bounded_exactly(value)
    if scope.level is ExpressionLevel.ROW and (
        value.magnitude is None or value.magnitude >= 10 ** (precision - scale)
    ):
        raise NumberOutOfRange("numeric field overflow is possible by the declared bounds")
    if value.scale is not None and value.scale <= scale and _is_small(value, scale):
        return replace(value, sql=as_scaled(value, scale), type=kind, scale=scale)
    if value.scale is not None and value.scale > scale:
        return rounded(value, scale, kind)
    step = Fraction(1, 10**scale)
    low = None if value.low is None else value.low - step
    high = None if value.high is None else value.high + step
    sql = duck.call("round", as_double(value), duck.integer(scale))
    return inexact(sql, kind, low, high, nullable=value.nullable)


def _is_small(value: Typed, scale: int) -> bool:
    return value.magnitude is None or value.magnitude * 10**scale < WIDEST


_RULES = {
    INT2.oid: _to_integer,
    INT4.oid: _to_integer,
    INT8.oid: _to_integer,
    FLOAT4.oid: _to_float,
    FLOAT8.oid: _to_float,
    NUMERIC.oid: _to_numeric,
}
