"""``interval`` in text, in the four styles of PostgreSQL, and binary: months, days and microseconds, kept apart.

Facts: PostgreSQL, src/backend/utils/adt/datetime.c (EncodeInterval, DecodeInterval). Errors are ``ValueError`` and
``OverflowError``.
"""

import re
import struct
from collections.abc import Callable, Mapping
from datetime import timedelta
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from dpproxy.wire.times import SECOND, clock_parts, fraction_text

HOUR: Final = 3600 * SECOND
DAY: Final = 24 * HOUR
_BINARY: Final = struct.Struct("!qii")
_MONTHS: Final = 2**31
_MICROSECONDS: Final = 2**63

_UNITS: Final[Mapping[str, tuple[str, int]]] = MappingProxyType({
    **dict.fromkeys(("microsecond", "us", "usec"), ("time", 1)),
    **dict.fromkeys(("millisecond", "ms", "msec"), ("time", 1000)),
    **dict.fromkeys(("second", "sec", "s"), ("time", SECOND)),
    **dict.fromkeys(("minute", "min", "m"), ("time", 60 * SECOND)),
    **dict.fromkeys(("hour", "hr", "h"), ("time", HOUR)),
    **dict.fromkeys(("day", "d"), ("days", 1)),
    **dict.fromkeys(("week", "w"), ("days", 7)),
    **dict.fromkeys(("month", "mon"), ("months", 1)),
    **dict.fromkeys(("year", "yr", "y"), ("months", 12)),
    **dict.fromkeys(("decade", "dec"), ("months", 120)),
    **dict.fromkeys(("century", "centurie", "c", "cent"), ("months", 1200)),
    **dict.fromkeys(("millennium", "millennia", "mil"), ("months", 12_000)),
})  # fmt: skip
_SINGULAR: Final = frozenset({"us", "ms", "s"})
"""Units that end in an s of their own."""
_NUMBER: Final = r"[+-]?(?:\d{1,18}(?:\.\d{0,9})?|\.\d{1,9})"
_TOKEN: Final = re.compile(
    r"\s*(?:"
    r"(?P<sign>[+-]?)(?P<hour>\d{1,10}):(?P<minute>\d\d?)(?::(?P<second>\d\d?(?:\.\d{0,9})?))?"
    r"|(?P<years>[+-]?\d{1,9})-(?P<months>\d\d?)"
    rf"|(?P<number>{_NUMBER})\s*(?P<unit>[a-z]*)"
    r")\s*,?",
    re.ASCII,
)
_ISO: Final = re.compile(
    r"P(?=.)" + "".join(rf"(?:({_NUMBER}){unit})?" for unit in "YMWD")
    + r"(?:T" + "".join(rf"(?:({_NUMBER}){unit})?" for unit in "HMS") + ")?",
    re.ASCII,
)  # fmt: skip
_ISO_UNITS: Final = ("year", "month", "week", "day", "hour", "minute", "second")


class Interval(Struct, frozen=True):
    """So many months, days and microseconds; none of them is turned into another."""

    months: int = 0
    days: int = 0
    microseconds: int = 0

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(
            self.months + other.months, self.days + other.days, self.microseconds + other.microseconds
        )

    def __neg__(self) -> "Interval":
        return Interval(-self.months, -self.days, -self.microseconds)


def of(value: object) -> Interval:
    """An interval, also from a ``timedelta``. Raises ``ValueError``."""
    if isinstance(value, Interval):
        return value
    if isinstance(value, timedelta):
        return Interval(0, value.days, value.seconds * SECOND + value.microseconds)
    raise ValueError


def _checked(interval: Interval) -> Interval:
    if not (
        -_MONTHS <= interval.months < _MONTHS
        and -_MONTHS <= interval.days < _MONTHS
        and -_MICROSECONDS <= interval.microseconds < _MICROSECONDS
    ):
        raise OverflowError
    return interval


# --- reading -------------------------------------------------------------------------------------------


def read_text(data: bytes) -> Interval:
    """``1 year 2 mons -3 days 04:05:06.7``, units by name or letter, ``1-2``, ``ago``; and ISO 8601's ``P1Y2M``."""
    text = data.decode("ascii").strip()
    if text.startswith("P"):
        found = _ISO.fullmatch(text)
        if found is None:
            raise ValueError
        given = zip(found.groups(), _ISO_UNITS, strict=True)
        parts = [_of_unit(number, unit) for number, unit in given if number is not None]
        return _checked(sum(parts, Interval()))
    text = text.lower().removeprefix("@").strip()
    is_past = text.endswith(" ago")
    whole = _sum(text.removesuffix(" ago"))
    return _checked(-whole if is_past else whole)


def _sum(text: str) -> Interval:
    """Each unit may stand once."""
    whole, units, at = Interval(), list[str](), 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError
        whole += _part(found)
        units += _units(found)
        at = found.end()
    if not units or len(set(units)) < len(units):
        raise ValueError
    return whole


def _units(found: re.Match[str]) -> tuple[str, ...]:
    if found["hour"] is not None:
        return "time 3600000000", "time 60000000", "time 1000000"
    if found["years"] is not None:
        return ("months 1",)
    kind, size = _UNITS[_singular(found["unit"] or "second")]
    return (f"{kind} {size}",)


def _part(found: re.Match[str]) -> Interval:
    if found["hour"] is not None:
        second = Fraction(found["second"] or "0")
        if int(found["minute"]) > 59 or second > 60:
            raise ValueError
        ticks = int(found["hour"]) * HOUR + int(found["minute"]) * 60 * SECOND + _ticks(second * SECOND)
        return Interval(0, 0, -ticks if found["sign"] == "-" else ticks)
    if found["years"] is not None:
        if int(found["months"]) > 11:
            raise ValueError
        months = abs(int(found["years"])) * 12 + int(found["months"])
        return Interval(-months if found["years"].startswith("-") else months)
    return _of_unit(found["number"], found["unit"] or "second")


def _of_unit(number: str, name: str) -> Interval:
    """A number of one unit; what is left of a unit that is counted whole goes to the next smaller one."""
    kind, size = _UNITS[_singular(name)]
    amount = Fraction(number) * size
    if kind == "time":
        return Interval(0, 0, _ticks(amount))
    whole = int(amount)
    if kind == "days":
        return Interval(0, whole, _ticks((amount - whole) * DAY))
    if size > 1:  # PostgreSQL rounds years to months
        return Interval(round(amount))
    days = (amount - whole) * 30
    return Interval(whole, int(days), _ticks((days - int(days)) * DAY))


def _singular(name: str) -> str:
    """The unit of a name. Raises ``ValueError``."""
    unit = name if name in _SINGULAR or len(name) == 1 else name.removesuffix("s")
    if unit not in _UNITS:
        raise ValueError
    return unit


def _ticks(amount: Fraction) -> int:
    return round(amount)


def read_binary(data: bytes) -> Interval:
    """Microseconds, days, months: 16 bytes."""
    if len(data) != _BINARY.size:
        raise ValueError
    microseconds, days, months = _BINARY.unpack(data)
    return Interval(months, days, microseconds)


# --- writing -------------------------------------------------------------------------------------------


def write_binary(value: object) -> bytes:
    """Microseconds, days, months: 16 bytes."""
    interval = _checked(of(value))
    return _BINARY.pack(interval.microseconds, interval.days, interval.months)


def write_text(value: object, style: str = "postgres") -> bytes:
    """In the style of IntervalStyle."""
    return _STYLES[style or "postgres"](_checked(of(value))).encode()


def _years(interval: Interval) -> tuple[int, int]:
    """Years and months, both with the sign of the months."""
    sign = -1 if interval.months < 0 else 1
    years, months = divmod(abs(interval.months), 12)
    return sign * years, sign * months


def _postgres(interval: Interval) -> str:
    parts: list[str] = []
    was_negative = False
    for count, unit in zip((*_years(interval), interval.days), ("year", "mon", "day"), strict=True):
        if count:
            parts.append(
                f"{'+' if was_negative and count > 0 else ''}{count} {unit}{'' if count == 1 else 's'}"
            )
            was_negative = count < 0
    ticks = interval.microseconds
    if ticks or not parts:
        hour, minute, second, fraction = clock_parts(abs(ticks))
        sign = "-" if ticks < 0 else "+" if was_negative else ""
        parts.append(f"{sign}{hour:02d}:{minute:02d}:{second:02d}{fraction_text(fraction)}")
    return " ".join(parts)


def _verbose(interval: Interval) -> str:
    """Every number after the first negative or positive one is shown in its direction, ``ago`` at the end."""
    ticks = interval.microseconds
    hour, minute, second, fraction = clock_parts(abs(ticks))
    sign = -1 if ticks < 0 else 1
    counts = (*_years(interval), interval.days, sign * hour, sign * minute)
    first = next((count for count in (*counts, ticks) if count), 0)
    ago = -1 if first < 0 else 1
    names = ("year", "mon", "day", "hour", "min")
    parts = [
        f"{ago * count} {name}{'' if ago * count == 1 else 's'}"
        for count, name in zip(counts, names, strict=True) if count
    ]  # fmt: skip
    if second or fraction:
        minus = "-" if sign * ago < 0 else ""
        exactly_one = second == 1 and not fraction
        parts.append(f"{minus}{second}{fraction_text(fraction)} sec{'' if exactly_one else 's'}")
    return " ".join(["@", *(parts or ["0"]), *(["ago"] if ago < 0 else [])])


def _iso(interval: Interval) -> str:
    years, months = _years(interval)
    date = "".join(f"{n}{unit}" for n, unit in zip((years, months, interval.days), "YMD", strict=True) if n)
    ticks = interval.microseconds
    hour, minute, second, fraction = clock_parts(abs(ticks))
    sign = "-" if ticks < 0 else ""
    clock = "".join(f"{sign}{n}{unit}" for n, unit in ((hour, "H"), (minute, "M")) if n)
    if second or fraction:
        clock += f"{sign}{second}{fraction_text(fraction)}S"
    return f"P{date}{'T' if clock else ''}{clock}" if date or clock else "PT0S"


def _standard(interval: Interval) -> str:
    years, months = _years(interval)
    days, ticks = interval.days, interval.microseconds
    hour, minute, second, fraction = clock_parts(abs(ticks))
    clock = f"{hour}:{minute:02d}:{second:02d}{fraction_text(fraction)}"
    signs = {count > 0 for count in (interval.months, days, ticks) if count}
    has_day_time = bool(days or ticks)
    if not signs:
        return "0"
    if len(signs) > 1 or (interval.months and has_day_time):
        marks = ["-" if count < 0 else "+" for count in (interval.months, days, ticks)]
        return f"{marks[0]}{abs(years)}-{abs(months)} {marks[1]}{abs(days)} {marks[2]}{clock}"
    sign = "-" if signs == {False} else ""
    if interval.months:
        return f"{sign}{abs(years)}-{abs(months)}"
    return f"{sign}{abs(days)} {clock}" if days else f"{sign}{clock}"


_STYLES: Final[Mapping[str, Callable[[Interval], str]]] = MappingProxyType({
    "postgres": _postgres,
    "postgres_verbose": _verbose,
    "sql_standard": _standard,
    "iso_8601": _iso,
})  # fmt: skip
