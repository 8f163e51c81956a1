"""``time`` and ``timetz`` in text and binary: microseconds of a day, and a zone in seconds west of Greenwich.

The end of a day, 24:00:00, is ``END_OF_DAY``, which ``datetime.time`` has no value for. Errors are ``ValueError``.
"""

import re
from datetime import time, timedelta, timezone
from typing import Final

SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND
END_OF_DAY: Final = timedelta(days=1)
_TEXT: Final = re.compile(
    r"(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,12}))?)?"
    r" ?(?P<zone>Z|UTC|(?P<sign>[+-])(?P<zh>\d\d)(?::?(?P<zm>\d\d)(?::?(?P<zs>\d\d))?)?)?",
    re.ASCII,
)


def of_ticks(ticks: int) -> time | timedelta:
    """The time for microseconds after midnight. Raises ``ValueError``."""
    if ticks == DAY:
        return END_OF_DAY
    if not 0 <= ticks < DAY:
        raise ValueError
    seconds, fraction = divmod(ticks, SECOND)
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, fraction)


def to_ticks(value: object) -> int:
    """Microseconds after midnight. Raises ``ValueError``."""
    if value == END_OF_DAY:
        return DAY
    if not isinstance(value, time):
        raise ValueError  # noqa: TRY004 - as for any value that the type cannot hold
    return ((value.hour * 60 + value.minute) * 60 + value.second) * SECOND + value.microsecond


def _matched(data: bytes) -> re.Match[str]:
    found = _TEXT.fullmatch(data.decode("ascii").strip())
    if found is None:
        raise ValueError
    return found


def _ticks(found: re.Match[str]) -> int:
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    if minute > 59 or second > 60:
        raise ValueError
    return ((hour * 60 + minute) * 60 + second) * SECOND + fraction(found["fraction"])


def fraction(digits: str | None) -> int:
    """The microseconds of a second's digits, rounded as PostgreSQL does: as a double, a half to the even one."""
    return round(float(f"0.{digits or 0}") * SECOND)


def read_text(data: bytes) -> time | timedelta:
    """HH:MM:SS.ffffff; a zone after it is checked and dropped."""
    found = _matched(data)
    _zone(found)
    return of_ticks(_ticks(found))


def read_tz_text(data: bytes) -> time:
    """HH:MM:SS.ffffff+HH:MM; UTC where no zone is written, and no 24:00:00."""
    found = _matched(data)
    value = of_ticks(_ticks(found))
    if not isinstance(value, time):
        raise ValueError  # noqa: TRY004 - as for any text that does not read
    return value.replace(tzinfo=_zone(found))


def _zone(found: re.Match[str]) -> timezone:
    return offset(found["sign"], found["zh"], found["zm"], found["zs"])


def offset(sign: str | None, *parts: str | None) -> timezone:
    """The zone of hours, minutes and seconds east of Greenwich, as they are written. Raises ``ValueError``."""
    hours, minutes, seconds = (int(part or 0) for part in parts)
    if minutes > 59 or seconds > 59 or hours > 15:
        raise ValueError
    east = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return timezone(-east if sign == "-" else east)


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def read_binary(data: bytes) -> time | timedelta:
    """Microseconds, 8 bytes."""
    if len(data) != 8:
        raise ValueError
    return of_ticks(_number(data))


def read_tz_binary(data: bytes) -> time:
    """Microseconds, 8 bytes, and seconds west of Greenwich, 4 bytes."""
    value = of_ticks(_number(data[:8]))
    if len(data) != 12 or not isinstance(value, time):
        raise ValueError
    return value.replace(tzinfo=timezone(timedelta(seconds=-_number(data[8:]))))


def write_text(value: object) -> bytes:
    """HH:MM:SS, with the fraction of the second if it has one."""
    hour, minute, second, fraction = clock_parts(to_ticks(value))
    return f"{hour:02d}:{minute:02d}:{second:02d}{fraction_text(fraction)}".encode()


def clock_parts(ticks: int) -> tuple[int, int, int, int]:
    """Hours, minutes, seconds and microseconds, of a size."""
    seconds, fraction = divmod(ticks, SECOND)
    return seconds // 3600, seconds // 60 % 60, seconds % 60, fraction


def fraction_text(microseconds: int) -> str:
    """The digits behind a second, with the point."""
    return f".{microseconds:06d}".rstrip("0") if microseconds else ""


def write_tz_text(value: object) -> bytes:
    """The same, followed by the zone."""
    return write_text(value) + offset_text(_east(value))


def write_binary(value: object) -> bytes:
    """Microseconds, 8 bytes."""
    return to_ticks(value).to_bytes(8, "big", signed=True)


def write_tz_binary(value: object) -> bytes:
    """Microseconds, 8 bytes, and seconds west of Greenwich, 4 bytes."""
    return write_binary(value) + (-_east(value)).to_bytes(4, "big", signed=True)


def _east(value: object) -> int:
    offset = value.utcoffset() if isinstance(value, time) else None
    return 0 if offset is None else round(offset.total_seconds())


def offset_text(east: int) -> bytes:
    """A zone as PostgreSQL writes it: minutes and seconds only where there are any."""
    return f"{'-' if east < 0 else '+'}{short_clock(abs(east))}".encode()


def short_clock(seconds: int) -> str:
    """Hours, and minutes and seconds where there are any."""
    hours, rest = divmod(seconds, 3600)
    parts = [hours, *divmod(rest, 60)]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return ":".join(f"{part:02d}" for part in parts)
