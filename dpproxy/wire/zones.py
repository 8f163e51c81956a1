"""Time zones by the names that PostgreSQL takes: of the tz database, in any case, and offsets."""

import re
from datetime import UTC, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from dpproxy.wire.intervals import read_text
from dpproxy.wire.times import SECOND, short_clock

_HOURS: Final = re.compile(r"[+-]?\d{1,2}(?:\.\d{1,6})?", re.ASCII)
_POSIX: Final = re.compile(
    r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+:-]{1,}>|)([+-]?)(\d{1,2})(?::([0-5]\d))?(?::([0-5]\d))?", re.ASCII
)
_INTERVAL: Final = re.compile(r"interval\s*'([^']*)'\s*", re.ASCII | re.IGNORECASE)
_UTC: Final = frozenset({"utc", "etc/utc", "gmt", "etc/gmt", "zulu", "etc/zulu", "uct", "etc/uct", "z"})
_MOST: Final = 15 * 3600
"""Seconds."""
_WANTED: Final = "the name of a time zone"


@lru_cache(maxsize=64)
def zone(name: str) -> tzinfo:
    """The zone of a name: ``Europe/Berlin``, hours east of Greenwich, ``5.5``, or POSIX's hours west of it, ``UTC+3``.

    Hours may also be an interval, ``interval '05:30'``.

    Errors: ``ValueError`` for a name that is none.
    """
    text = name.strip()
    if text.lower() in _UTC or not text:
        return UTC
    east = _east(text)
    if east is not None:
        return _fixed(east)
    known = _zone_names().get(text.lower())
    if known is not None:
        return ZoneInfo(known)
    found = _POSIX.fullmatch(text)
    if found is None:
        raise ValueError(_WANTED)
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    west = hours * 3600 + minutes * 60 + seconds
    return _fixed(west if found[1] == "-" else -west)


def zone_name(name: str) -> str:
    """A zone's name as PostgreSQL stores it: hours east of Greenwich in POSIX notation.

    Errors: as of `zone`.

    >>> zone_name("europe/berlin"), zone_name("-8.5"), zone_name("interval '1 hour'"), zone_name("UTC+3")
    ('Europe/Berlin', '<-08:30>+08:30', '<+01>-01', 'UTC+3')
    """
    text = name.strip()
    found = zone(text)
    east = _east(text)
    if east is not None:
        clock = short_clock(abs(east))
        return f"<{'-' if east < 0 else '+'}{clock}>{'+' if east < 0 else '-'}{clock}"
    if isinstance(found, ZoneInfo):
        return found.key
    return _zone_names().get(text.lower(), text)


def _east(text: str) -> int | None:
    """Seconds that are written as a number of hours or an interval, None for a name. Errors: ``ValueError``."""
    if _HOURS.fullmatch(text):
        return round(float(text) * 3600)
    found = _INTERVAL.fullmatch(text)
    if found is None:
        return None
    try:
        interval = read_text(found[1].encode("ascii"))
    except (ValueError, OverflowError):
        raise ValueError(_WANTED) from None
    if interval.months or interval.days:
        raise ValueError("an interval without months and days")
    return int(interval.microseconds / SECOND)


@lru_cache(maxsize=1)
def _zone_names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}


def _fixed(east: int) -> timezone:
    if abs(east) > _MOST:
        raise ValueError(_WANTED)
    return timezone(timedelta(seconds=east))
