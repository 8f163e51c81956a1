"""Time zones by the names that PostgreSQL takes: of the tz database, in any case, and offsets."""

import re
from datetime import UTC, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

_HOURS: Final = re.compile(r"[+-]?\d{1,2}(?:\.\d{1,6})?", re.ASCII)
_POSIX: Final = re.compile(
    r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{1,}>|)([+-]?)(\d{1,2})(?::([0-5]\d))?(?::([0-5]\d))?", re.ASCII
)
_UTC: Final = frozenset({"utc", "etc/utc", "gmt", "etc/gmt", "zulu", "etc/zulu", "uct", "etc/uct", "z"})
_MOST: Final = 15 * 3600
"""Seconds."""
_WANTED: Final = "the name of a time zone"


@lru_cache(maxsize=64)
def zone(name: str) -> tzinfo:
    """The zone of a name: ``Europe/Berlin``, hours east of Greenwich, ``5.5``, or POSIX's hours west of it, ``UTC+3``.

    Errors: ``ValueError`` for a name that is none.
    """
    text = name.strip()
    if text.lower() in _UTC or not text:
        return UTC
    if _HOURS.fullmatch(text):
        return _fixed(round(float(text) * 3600))
    known = _known().get(text.lower())
    if known is not None:
        return ZoneInfo(known)
    found = _POSIX.fullmatch(text)
    if found is None:
        raise ValueError(_WANTED)
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    west = hours * 3600 + minutes * 60 + seconds
    return _fixed(west if found[1] == "-" else -west)


@lru_cache(maxsize=1)
def _known() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}


def _fixed(east: int) -> timezone:
    if abs(east) > _MOST:
        raise ValueError(_WANTED)
    return timezone(timedelta(seconds=east))
