"""Declared constants read as their column's type."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import cast

from dpproxy.policy.constants import read_date, read_timestamp, read_timestamptz
from dpproxy.policy.model import Scalar
from dpproxy.policy.statements import Literal, LiteralKind
from dpproxy.values.days import midnight
from dpproxy.values.errors import InvalidText, NumberOutOfRange, TypeMismatch
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Column,
    SqlType,
)

_LARGEST_FLOAT = {FLOAT4.oid: Fraction(2**128 - 2**104), FLOAT8.oid: Fraction(2**1024 - 2**971)}
"""The largest finite values of IEEE 754 single and double precision."""


Clock = Callable[[datetime], datetime]
"""From local time in some zone to UTC, both without a zone. May raise ``OverflowError``."""


def of_utc(shown: datetime) -> datetime:
    """The clock of UTC."""
    return shown


def fit(literal: Literal, column: Column, clock: Clock = of_utc) -> Scalar | None:
    """The constant as a value of the column's type, None for NULL; ``clock`` converts timestamps without a zone.

    Raises:
        TypeMismatch: of another type, or the type has no domains.
        NumberOutOfRange: a number the column cannot hold.
        InvalidText: a text that does not read as the column's date or timestamp.
    """
    readers = _zoned(clock) if column.type.oid == TIMESTAMPTZ.oid else _READERS.get(column.type.oid)
    if readers is None:
        raise TypeMismatch(
            f'column "{column.name}" is of type {column.type.name}, which has no domains',
            position=literal.position,
        )
    if literal.kind is LiteralKind.NULL:
        return None
    read = readers.get(literal.kind)
    if read is None:
        wanted = next(iter(readers)).value
        raise TypeMismatch(
            f'column "{column.name}" is of type {column.type.name}, the constant is {literal.kind.value}',
            hint=f"Write {wanted}.",
            position=literal.position,
        )
    return read(literal, column.type)


def _integer(literal: Literal, kind: SqlType) -> int:
    value = _number(literal)
    if not isinstance(value, int):
        raise TypeMismatch(
            f"a column of type {kind.name} holds whole numbers only", position=literal.position
        )
    half = 1 << (8 * kind.size - 1)
    if not -half <= value < half:
        raise _out_of_range(kind, literal)
    return value


def _numeric(literal: Literal, kind: SqlType) -> int | Fraction:
    value = _number(literal)
    if kind.scale is None or kind.precision is None:
        return value
    scaled = Fraction(value) * 10**kind.scale
    if scaled.denominator != 1:
        message = (
            f"a column of type numeric({kind.precision},{kind.scale}) holds no more digits after the point"
        )
        raise TypeMismatch(message, position=literal.position)
    if abs(scaled) >= 10**kind.precision:
        raise _out_of_range(kind, literal)
    return value


def _float(literal: Literal, kind: SqlType) -> int | Fraction:
    value = _number(literal)
    if abs(Fraction(value)) > _LARGEST_FLOAT[kind.oid]:
        raise _out_of_range(kind, literal)
    return value


def _number(literal: Literal) -> int | Fraction:
    return cast("int | Fraction", literal.value)


def _out_of_range(kind: SqlType, literal: Literal) -> NumberOutOfRange:
    message = f"a number out of the range of type {kind.name}"
    return NumberOutOfRange(message, hint="Declare what the column can hold.", position=literal.position)


def _as_it_is(literal: Literal, _: SqlType) -> Scalar:
    return cast("Scalar", literal.value)


def _midnight(literal: Literal, _: SqlType) -> datetime:
    return midnight(cast("date", literal.value))


def _zoned(clock: Clock) -> "_Readers":
    """Readers of timestamps with time zone, in UTC."""

    def shown(moment: datetime, at: int | None) -> datetime:
        try:
            return clock(moment).replace(tzinfo=UTC)
        except OverflowError:
            raise NumberOutOfRange("a moment out of range", position=at) from None

    def text(literal: Literal, _: SqlType) -> datetime:
        written, at = str(literal.value), literal.position
        try:
            return shown(read_timestamp(written, at), at)
        except InvalidText:
            return read_timestamptz(written, at)

    return {
        LiteralKind.TIMESTAMPTZ: _as_it_is,
        LiteralKind.TIMESTAMP: lambda literal, _: shown(cast("datetime", literal.value), literal.position),
        LiteralKind.DATE: lambda literal, kind: shown(_midnight(literal, kind), literal.position),
        LiteralKind.TEXT: text,
    }


def _reading(read: Callable[[str, int | None], date]) -> Callable[[Literal, SqlType], Scalar]:
    return lambda literal, _: read(str(literal.value), literal.position)


_Readers = Mapping[LiteralKind, Callable[[Literal, SqlType], Scalar]]
_INTEGER: _Readers = {LiteralKind.NUMBER: _integer}
_FLOAT: _Readers = {LiteralKind.NUMBER: _float}
_TEXT: _Readers = {LiteralKind.TEXT: _as_it_is}
_READERS: dict[int, _Readers] = {
    INT2.oid: _INTEGER,
    INT4.oid: _INTEGER,
    INT8.oid: _INTEGER,
    NUMERIC.oid: {LiteralKind.NUMBER: _numeric},
    FLOAT4.oid: _FLOAT,
    FLOAT8.oid: _FLOAT,
    TEXT.oid: _TEXT,
    VARCHAR.oid: _TEXT,
    BOOL.oid: {LiteralKind.BOOL: _as_it_is},
    DATE.oid: {LiteralKind.DATE: _as_it_is, LiteralKind.TEXT: _reading(read_date)},
    TIMESTAMP.oid: {
        LiteralKind.TIMESTAMP: _as_it_is,
        LiteralKind.DATE: _midnight,
        LiteralKind.TEXT: _reading(read_timestamp),
    },
}
"""By type of column and kind of constant; messages ask for the first kind."""
