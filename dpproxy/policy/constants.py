"""Constants of privacy statements: numbers stay exact, dates and timestamps are ISO 8601 only."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import TypeVar

from dpproxy.policy.statements import Amount, Literal, LiteralKind
from dpproxy.sql.cursor import Cursor
from dpproxy.sql.lexer import TokenKind
from dpproxy.values.errors import InvalidMoment, NumberOutOfRange, SyntaxRefused

_MOST_DIGITS = 400
"""Before the point, and after it; more fit no column type."""
_LONGEST = 1000
"""Characters of a number, and its exponent; checked before the value is built."""

_Moment = TypeVar("_Moment", date, datetime)
_DECIMAL = re.compile(r"[0-9.]+([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?", re.ASCII)
_ZONED = re.compile(_TIMESTAMP.pattern + r"(Z|[+-]\d{2}(:\d{2})?)", re.ASCII)


def number(cursor: Cursor, after: str) -> int | Fraction:
    """A number, its sign before it; int where it is whole."""
    start = cursor.token.position
    signed = cursor.token.kind is TokenKind.SYMBOL and cursor.token.text in "+-"
    negative = signed and cursor.take().text == "-"
    if cursor.token.kind is not TokenKind.NUMBER:
        cursor.refuse(["a number"], after)
    value = _exact(cursor.take().text, start)
    return -value if negative else value


def amount(cursor: Cursor, clause: str) -> Amount:
    """The number of a clause."""
    position = cursor.token.position
    return Amount(clause, number(cursor, clause), position)


def literal(cursor: Cursor, after: str) -> Literal:
    """A constant: number, 'text', TRUE, FALSE, NULL, DATE '...', TIMESTAMP '...', TIMESTAMPTZ '...'."""
    token = cursor.token
    if token.kind is TokenKind.TEXT:
        cursor.take()
        return Literal(LiteralKind.TEXT, token.text, token.position)
    if token.kind is TokenKind.WORD and token.text in _TYPED:
        kind, read = _TYPED[cursor.take().text]
        if cursor.token.kind is not TokenKind.TEXT:
            cursor.refuse(["a text in quotes"], token.text.upper())
        return Literal(kind, read(cursor.token.text, cursor.take().position), token.position)
    if token.kind is TokenKind.WORD and token.text in _WORDS:
        kind, value = _WORDS[cursor.take().text]
        return Literal(kind, value, token.position)
    if token.kind is TokenKind.NUMBER or (token.kind is TokenKind.SYMBOL and token.text in "+-"):
        return Literal(LiteralKind.NUMBER, number(cursor, after), token.position)
    return cursor.refuse(["a constant"], after)


def read_date(text: str, position: int | None) -> date:
    """A date.

    Raises:
        InvalidMoment: not YYYY-MM-DD.
    """
    found = _existing(date.fromisoformat, text, _DATE)
    if found is None:
        raise InvalidMoment("not a date", hint="Write YYYY-MM-DD.", position=position)
    return found


def read_timestamp(text: str, position: int | None) -> datetime:
    """A timestamp without time zone; a date is its midnight.

    Raises:
        InvalidMoment: not YYYY-MM-DD HH:MM:SS.
    """
    found = _existing(datetime.fromisoformat, text, _TIMESTAMP, _DATE)
    if found is None:
        raise InvalidMoment("not a timestamp", hint="Write YYYY-MM-DD HH:MM:SS.", position=position)
    return found


def read_timestamptz(text: str, position: int | None) -> datetime:
    """A timestamp with its offset, in UTC.

    Raises:
        InvalidMoment: not YYYY-MM-DD HH:MM:SS+00:00; an offset left out would depend on a session's setting.
    """
    found = _existing(lambda zoned: datetime.fromisoformat(zoned).astimezone(UTC), text, _ZONED)
    if found is None:
        hint = "Write YYYY-MM-DD HH:MM:SS+00:00, the offset included."
        raise InvalidMoment("not a timestamp with time zone", hint=hint, position=position)
    return found


def _existing(read: Callable[[str], _Moment], text: str, *forms: re.Pattern[str]) -> _Moment | None:
    """A text of one of the forms; None where it has another, or where there is no such day or hour."""
    if not any(form.fullmatch(text) for form in forms):
        return None
    try:
        return read(text)
    except (ValueError, OverflowError):
        return None


def _exact(text: str, position: int) -> int | Fraction:
    """The value of a number's text."""
    if not _DECIMAL.fullmatch(text):
        raise SyntaxRefused("a letter or digit stands right after a number", position=position)
    digits, _, exponent = text.lower().partition("e")
    if len(text) > _LONGEST or abs(int(exponent or "0")) > _LONGEST:
        raise NumberOutOfRange("a number out of every type's range", position=position)
    value = Fraction(digits + "0" if digits.endswith(".") else digits) * Fraction(10) ** int(exponent or "0")
    if abs(value) >= 10**_MOST_DIGITS or (value * 10**_MOST_DIGITS).denominator != 1:
        raise NumberOutOfRange("a number out of every type's range", position=position)
    return int(value) if value.denominator == 1 else value


_TYPED: dict[str, tuple[LiteralKind, Callable[[str, int | None], date]]] = {
    "date": (LiteralKind.DATE, read_date),
    "timestamp": (LiteralKind.TIMESTAMP, read_timestamp),
    "timestamptz": (LiteralKind.TIMESTAMPTZ, read_timestamptz),
}
_WORDS: dict[str, tuple[LiteralKind, bool | None]] = {
    "true": (LiteralKind.BOOL, True),
    "false": (LiteralKind.BOOL, False),
    "null": (LiteralKind.NULL, None),
}
