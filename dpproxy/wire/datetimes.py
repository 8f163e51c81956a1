"""``date``, ``timestamp`` and ``timestamptz`` in text (ISO) and binary.

Binary counts days or microseconds from 2000-01-01. Years are 1 to 9999, the range of ``datetime``: BC is not read.
Infinity is an ``Endless``. A ``timestamp`` has no zone; a ``timestamptz`` is shown in the session's zone, and read in
it when no zone is written. Errors are ``ValueError`` and ``OverflowError``.
"""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from typing import Final

from dpproxy.wire.times import fraction, fraction_text, offset, offset_text
from dpproxy.wire.zones import zone as zone_of

_TEXT: Final = re.compile(
    r"(?P<day>\d{4}-\d\d?-\d\d?|\d{8}(?!-))"
    r"(?:[ T](?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,12}))?)?|(?!-))"
    r" ?(?:(?P<utc>Z|UTC)|(?P<sign>[+-])(?P<zh>\d\d)(?:(?P<zmm>\d\d)|:(?P<zm>\d\d)(?::(?P<zs>\d\d))?)?)?",
    re.ASCII | re.IGNORECASE,
)
_EPOCH: Final = "1970-01-01 00:00:00Z"
_SPACES: Final = " \t\n\v\f\r"
_DAY: Final = date(2000, 1, 1)
_MOMENT: Final = datetime(2000, 1, 1, tzinfo=UTC)
_TICK: Final = timedelta(microseconds=1)


class NoSuchMoment(ValueError):
    """A date or a time with a field that is out of its range, as in 2024-13-01."""


class Endless(Enum):
    """The moments after and before all others, as they are written."""

    LATE = b"infinity"
    EARLY = b"-infinity"

    def number(self, size: int) -> bytes:
        """Its binary form, of the given number of bytes."""
        most = 1 << (8 * size - 1)
        return (most - 1 if self is Endless.LATE else -most).to_bytes(size, "big", signed=True)


_ENDLESS: Final = {one.value: one for one in Endless}
_NUMBERS: Final = {one.number(size): one for one in Endless for size in (4, 8)}


def _matched(data: bytes) -> dict[str, str | None]:
    text = data.decode("ascii").strip(_SPACES)
    match = _TEXT.fullmatch(_EPOCH if text.lower() == "epoch" else text)
    if match is None:
        raise ValueError
    return match.groupdict()


def _local(parts: dict[str, str | None]) -> datetime:
    """The written date and time, without a zone."""
    written = parts["day"] or ""
    year, month, day = written.split("-") if "-" in written else (written[:4], written[4:6], written[6:])
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    try:
        moment = datetime(int(year), int(month), int(day), hour, minute, second)  # noqa: DTZ001 - it has no zone
    except ValueError as error:
        raise NoSuchMoment from error
    return moment + fraction(parts["fraction"]) * _TICK


def _zone(parts: dict[str, str | None]) -> timezone:
    return offset(parts["sign"], parts["zh"], parts["zmm"] or parts["zm"], parts["zs"])


def read_date_text(data: bytes) -> date | Endless:
    """YYYY-MM-DD; a time and a zone after it are checked and dropped, without rounding to the next day."""
    if (endless := _ENDLESS.get(data.strip().lower())) is not None:
        return endless
    parts = _matched(data)
    _zone(parts)
    return _local({**parts, "fraction": None}).date()


def read_timestamp_text(data: bytes) -> datetime | Endless:
    """YYYY-MM-DD HH:MM:SS.ffffff; a zone after it is checked and dropped."""
    if (endless := _ENDLESS.get(data.strip().lower())) is not None:
        return endless
    parts = _matched(data)
    _zone(parts)
    return _local(parts)


def read_timestamptz_text(data: bytes, zone: str = "") -> datetime | Endless:
    """YYYY-MM-DD HH:MM:SS.ffffff+HH:MM; of the zone that is named where none is written, UTC for none."""
    if (endless := _ENDLESS.get(data.strip().lower())) is not None:
        return endless
    parts = _matched(data)
    written = parts["utc"] or parts["sign"]
    return _local(parts).replace(tzinfo=_zone(parts) if written else zone_of(zone)).astimezone(UTC)


def _signed(data: bytes, size: int) -> int:
    if len(data) != size:
        raise ValueError
    return int.from_bytes(data, "big", signed=True)


def read_date_binary(data: bytes) -> date | Endless:
    """Days, 4 bytes."""
    if data in _NUMBERS and len(data) == 4:
        return _NUMBERS[data]
    return _DAY + timedelta(days=_signed(data, 4))


def read_timestamp_binary(data: bytes) -> datetime | Endless:
    """Microseconds, 8 bytes."""
    moment = read_timestamptz_binary(data)
    return moment if isinstance(moment, Endless) else moment.replace(tzinfo=None)


def read_timestamptz_binary(data: bytes) -> datetime | Endless:
    """Microseconds, 8 bytes."""
    if data in _NUMBERS and len(data) == 8:
        return _NUMBERS[data]
    return _MOMENT + _signed(data, 8) * _TICK


def _as_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def write_date_text(value: date | Endless) -> bytes:
    """YYYY-MM-DD."""
    if isinstance(value, Endless):
        return value.value
    return f"{value.year:04d}-{value.month:02d}-{value.day:02d}".encode()


def write_timestamp_text(value: datetime | Endless) -> bytes:
    """YYYY-MM-DD HH:MM:SS, with the fraction of the second if it has one."""
    if isinstance(value, Endless):
        return value.value
    return write_date_text(value) + f" {value:%H:%M:%S}{fraction_text(value.microsecond)}".encode()


def write_timestamptz_text(value: datetime | Endless, zone: str = "") -> bytes:
    """The same in a zone, UTC where none is named, followed by its offset."""
    if isinstance(value, Endless):
        return value.value
    local = _as_utc(value).astimezone(zone_of(zone))
    east = local.utcoffset() or timedelta()
    return write_timestamp_text(local) + offset_text(round(east.total_seconds()))


def write_date_binary(value: date | Endless) -> bytes:
    """Days, 4 bytes."""
    if isinstance(value, Endless):
        return value.number(4)
    return (date(value.year, value.month, value.day) - _DAY).days.to_bytes(4, "big", signed=True)


def write_timestamp_binary(value: datetime | Endless) -> bytes:
    """Microseconds, 8 bytes; a zone is ignored."""
    if isinstance(value, Endless):
        return value.number(8)
    return write_timestamptz_binary(value.replace(tzinfo=UTC))


def write_timestamptz_binary(value: datetime | Endless) -> bytes:
    """Microseconds, 8 bytes."""
    if isinstance(value, Endless):
        return value.number(8)
    return ((_as_utc(value) - _MOMENT) // _TICK).to_bytes(8, "big", signed=True)
