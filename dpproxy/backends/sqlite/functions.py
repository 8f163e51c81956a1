"""What SQLite is given to compute with: functions that it lacks, each total, of the values of one row.

A whole number of more than 63 bits, and the digits of a DECIMAL, are an integer where they fit and a text where they do
not: one form for each number. A day is the number of days since 1970, a moment that of microseconds.
"""

import hashlib
import math
import re
import sqlite3
from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache

from dpproxy.backends.servers.standard import changed_letters

Whole = int | str
DAY = 86_400_000_000
"""Microseconds."""
MOST_DIGITS = 15
"""Of a DECIMAL that SQLite keeps: as many as each DOUBLE tells apart."""
_DATE = re.compile(rb"(\d{4})-(\d\d)-(\d\d)")
_MOMENT = re.compile(rb"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?")


def held(number: int) -> Whole:
    """A whole number in its one form."""
    return number if -(2**63) <= number < 2**63 else str(number)


# --- reading columns ------------------------------------------------------------------------------


def _text(value: bytes) -> str | None:
    """A text of a column; NULL of what is no UTF-8, or has a zero character, at which SQLite stops."""
    try:
        return None if b"\0" in value else value.decode()
    except UnicodeDecodeError:
        return None


def _digits(value: float | None, precision: int, scale: int) -> int | None:
    """The digits of a DECIMAL that is kept as a number, rounded to its scale; NULL beyond its precision."""
    if value is None or not math.isfinite(value):
        return None
    near = value * 10.0**scale
    if abs(near) < _SURE and abs(near - round(near)) < 0.25:  # far from where it would be rounded otherwise
        return round(near) if abs(round(near)) < 10**precision else None
    moved = Decimal(repr(value)).scaleb(scale, _WIDE).quantize(Decimal(1), ROUND_HALF_UP, _WIDE)
    return int(moved) if abs(moved) < 10**precision else None


_WIDE = Context(prec=700)
_SURE = 2.0**50
"""What a DOUBLE tells from its neighbours by a quarter."""


def _day(value: bytes) -> int | None:
    """A day as ISO 8601 writes it; NULL of anything else."""
    found = _DATE.fullmatch(value)
    return None if found is None else _days(*map(int, found.groups()))


def _moment(value: bytes) -> int | None:
    """A moment without a zone, as ISO 8601 writes it or with a space; NULL of anything else."""
    found = _MOMENT.fullmatch(value)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction = found.groups(default=b"0")
    days = _days(int(year), int(month), int(day))
    if days is None or int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return None
    seconds = (int(hour) * 60 + int(minute)) * 60 + int(second)
    return days * DAY + seconds * 1_000_000 + int(fraction.ljust(6, b"0"))


def _days(year: int, month: int, day: int) -> int | None:
    if year < 1 or not 1 <= month <= 12 or not 1 <= day <= length_of(year, month):
        return None
    return days_of(year, month, day)


# --- the calendar ---------------------------------------------------------------------------------


_CYCLE = 146_097
"""Days of 400 years, after which the calendar and its weeks begin anew."""
_FIRST = 719_162
"""Days from the first one of the year 1 to 1970."""


def length_of(year: int, month: int) -> int:
    """Days of a month."""
    return monthrange((year - 1) % 400 + 1, month)[1]


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970 of a day of the proleptic Gregorian calendar, in any year.

    >>> days_of(2000, 3, 1)
    11017
    """
    cycle, of_cycle = divmod(year - 1, 400)
    return cycle * _CYCLE + date(of_cycle + 1, month, day).toordinal() - 1 - _FIRST


def _in_cycle(days: int) -> tuple[int, date]:
    """How many cycles lie before a day, and that day of the first one."""
    cycle, of_cycle = divmod(days + _FIRST, _CYCLE)
    return cycle, date.fromordinal(of_cycle + 1)


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day.

    >>> civil(11017)
    (2000, 3, 1)
    """
    cycle, found = _in_cycle(days)
    return found.year + 400 * cycle, found.month, found.day


_FIELDS: Mapping[str, Callable[[int, int], int]] = {
    "year": lambda d, _: civil(d)[0],
    "quarter": lambda d, _: (civil(d)[1] + 2) // 3,
    "month": lambda d, _: civil(d)[1],
    "day": lambda d, _: civil(d)[2],
    "week": lambda d, _: _in_cycle(d)[1].isocalendar().week,
    "doy": lambda d, _: d - days_of(civil(d)[0], 1, 1) + 1,
    "dow": lambda d, _: (d + 4) % 7,
    "isodow": lambda d, _: (d + 3) % 7 + 1,
    "hour": lambda _, m: m // 3_600_000_000,
    "minute": lambda _, m: m // 60_000_000 % 60,
}
FIELDS = frozenset(_FIELDS)
_STARTS: Mapping[str, Callable[[int], int]] = {
    "year": lambda d: days_of(civil(d)[0], 1, 1),
    "quarter": lambda d: days_of(civil(d)[0], (civil(d)[1] - 1) // 3 * 3 + 1, 1),
    "month": lambda d: days_of(civil(d)[0], civil(d)[1], 1),
    "week": lambda d: d - (d + 3) % 7,
}
_LENGTH = {"day": DAY, "hour": DAY // 24, "minute": DAY // 1440, "second": 1_000_000}
UNITS = frozenset({*_STARTS, *_LENGTH})


def _part(field: str, moment: int) -> int:
    """EXTRACT of a field."""
    return _FIELDS[field](*divmod(moment, DAY))


def _cut(unit: str, moment: int) -> int:
    """The first moment of a unit."""
    if unit in _LENGTH:
        return moment // _LENGTH[unit] * _LENGTH[unit]
    return _STARTS[unit](moment // DAY) * DAY


def _moved(moment: int, months: int, days: int, micros: int) -> int | None:
    """A moment so much later: by months first, the last day where a month is shorter. NULL beyond 64 bits."""
    day, rest = divmod(moment, DAY)
    if months:
        year, month, of_month = civil(day)
        year, month = divmod(year * 12 + month - 1 + months, 12)
        day = days_of(year, month + 1, min(of_month, length_of(year, month + 1)))
    found = (day + days) * DAY + rest + micros
    return found if abs(found) < 2**63 else None


# --- numbers --------------------------------------------------------------------------------------


def _towards_zero(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_EXACT: Mapping[str, Callable[[int, int], int | None]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: None if b == 0 else _towards_zero(a, b),
    "%": lambda a, b: None if b == 0 else a - b * _towards_zero(a, b),
    "/": lambda a, b: a // b,
    "?": lambda a, b: (a > b) - (a < b),
}


def _exactly(sign: str, a: Whole, b: Whole) -> Whole | None:
    """Arithmetic of whole numbers of any size; ``?`` compares them."""
    found = _EXACT[sign](int(a), int(b))
    return None if found is None else held(found)


def _total(high: Whole, low: Whole) -> Whole:
    """A sum of the upper and lower halves of many numbers, put together."""
    return held((int(high) << 32) + int(low))


class _Sum:
    """SUM of whole numbers of any size."""

    def __init__(self) -> None:
        self._total: int | None = None

    def step(self, value: Whole | None) -> None:
        """One more row."""
        if value is not None:
            self._total = (self._total or 0) + int(value)

    def finalize(self) -> Whole | None:
        """NULL of no values."""
        return None if self._total is None else held(self._total)


def _rescaled(value: Whole, digits: int) -> Whole:
    """With fewer digits, halves away from zero."""
    number, power = int(value), 10**digits
    rounded = (2 * abs(number) + power) // (2 * power)
    return held(rounded if number >= 0 else -rounded)


def _rounded(value: float, digits: int) -> float:
    """ROUND, halves away from zero, by the same steps as DuckDB."""
    power = 10.0 ** abs(digits)
    if digits > 0:
        return _half_away(value * power) / power
    return _half_away(value / power) * power if digits else _half_away(value)


def _half_away(value: float) -> float:
    if not math.isfinite(value):
        return value
    whole = float(math.trunc(value))
    return whole + math.copysign(1.0, value) if abs(value - whole) >= 0.5 else whole


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda value: float(function(value)) if math.isfinite(value) else value


def _power(value: float, exponent: float) -> float:
    try:
        return math.pow(value, exponent)
    except (OverflowError, ValueError):
        return math.inf


def _exponential(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


# --- texts ----------------------------------------------------------------------------------------


@cache
def _letters(name: str) -> dict[int, str]:
    before, after = changed_letters(name, 1)
    return dict(zip(map(ord, before), after, strict=True))


def _translated(text: str, old: str, new: str) -> str:
    """TRANSLATE: the first place of a character in a list counts; what has no counterpart is left out."""
    places = {ord(letter): (new[n] if n < len(new) else None) for n, letter in reversed(list(enumerate(old)))}
    return text.translate(places)


def _part_of(text: str, separator: str, place: int) -> str:
    """SPLIT_PART: from the end where the place is below zero; an empty text where there is none."""
    parts = text.split(separator) if separator else [text]
    index = place - 1 if place > 0 else len(parts) + place
    return parts[index] if 0 <= index < len(parts) else ""


@cache
def _pattern(pattern: str) -> tuple[tuple[re.Pattern[str], int], ...]:
    """The pieces between two ``%``, each with the number of characters that it stands for."""
    pieces = ("".join("." if c == "_" else re.escape(c) for c in piece) for piece in pattern.split("%"))
    return tuple(
        (re.compile(piece, re.DOTALL), len(written))
        for piece, written in zip(pieces, pattern.split("%"), strict=True)
    )


def _like(pattern: str, value: str) -> int:
    """LIKE without an escape: each piece between two ``%`` at its first place, so that it takes no second look."""
    (first, _), *others = _pattern(pattern)
    start = first.match(value)
    if start is None or not others:
        return int(start is not None and start.end() == len(value))
    place = start.end()
    for piece, _ in others[:-1]:
        found = piece.search(value, place)
        if found is None:
            return 0
        place = found.end()
    last, length = others[-1]
    end = len(value) - length
    return int(end >= place and last.fullmatch(value, end) is not None)


def _hashed(secret: str, *row: object) -> int:
    """A keyed hash of a row: one zero, whole numbers and texts by their characters."""
    if 0.0 in row:
        row = tuple(0.0 if value == 0 and isinstance(value, float) else value for value in row)
    digest = hashlib.blake2b(repr(row).encode(), digest_size=8, key=bytes.fromhex(secret)[:64]).digest()
    return int.from_bytes(digest, "big", signed=True)


def _strict(function: Callable[..., float | str | None]) -> Callable[..., float | str | None]:
    """NULL of NULL."""
    return lambda *values: None if None in values else function(*values)


_FUNCTIONS: Mapping[str, tuple[int, Callable[..., float | str | None]]] = {
    "dp_text": (1, _text),
    "dp_digits": (3, _digits),
    "dp_day": (1, _day),
    "dp_moment": (1, _moment),
    "dp_part": (2, _part),
    "dp_cut": (2, _cut),
    "dp_moved": (4, _moved),
    "dp_exact": (3, _exactly),
    "dp_total": (2, _total),
    "dp_rescaled": (2, _rescaled),
    "dp_float": (1, float),
    "dp_round": (2, _rounded),
    "dp_even": (1, _whole(round)),
    "dp_floor": (1, _whole(math.floor)),
    "dp_ceil": (1, _whole(math.ceil)),
    "dp_trunc": (1, _whole(math.trunc)),
    "dp_sqrt": (1, math.sqrt),
    "dp_ln": (1, lambda x: math.log(x) if x > 0 else -math.inf),
    "dp_log": (1, lambda x: math.log10(x) if x > 0 else -math.inf),
    "dp_exp": (1, _exponential),
    "dp_power": (2, _power),
    "dp_lower": (1, lambda text: text.translate(_letters("lower"))),
    "dp_upper": (1, lambda text: text.translate(_letters("upper"))),
    "dp_left": (2, lambda text, n: text[:n]),
    "dp_right": (2, lambda text, n: text[-n:] if n else ""),
    "dp_like": (2, _like),
    "dp_translate": (3, _translated),
    "dp_split_part": (3, _part_of),
}


def register(connection: sqlite3.Connection) -> None:
    """Have the functions in a connection."""
    for name, (arguments, function) in _FUNCTIONS.items():
        connection.create_function(name, arguments, _strict(function), deterministic=True)
    connection.create_function("dp_hash", -1, _hashed, deterministic=True)
    connection.create_aggregate("dp_sum", 1, _Sum)  # type: ignore[arg-type]
