"""What clocks of time zones show, and when they change."""

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from msgspec import Struct

MOST_CHANGES = 120
"""Of a zone's clock between the bounds of a column: that many years have about twice as many."""
_STEP = timedelta(days=7)
"""No zone changes its clock twice within it and back."""
_MARGIN = timedelta(days=2)


class Change(Struct, frozen=True):
    """A zone's clock from a moment of UTC on, and before."""

    at: datetime
    before: timedelta
    after: timedelta


def fixed_offset(zone: tzinfo) -> timedelta | None:
    """Of a zone whose clock never changes."""
    return None if isinstance(zone, ZoneInfo) else zone.utcoffset(None)


def offset_at(zone: tzinfo, moment: datetime) -> timedelta:
    """How far east of UTC the clock is at a moment of UTC."""
    return moment.replace(tzinfo=UTC).astimezone(zone).utcoffset() or timedelta()


def local_of(moment: datetime, zone: tzinfo) -> datetime:
    """What the clock shows at a moment of UTC. Raises ``OverflowError``."""
    return moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)


def utc_of(shown: datetime, zone: tzinfo) -> datetime:
    """The moment when the clock shows this: as PostgreSQL, the later of two, and as if it had not changed for none.

    Raises ``OverflowError``.
    """
    offsets = [shown.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta() for fold in (0, 1)]
    return shown - min(offsets)


@lru_cache(maxsize=256)
def changes(zone: tzinfo, low: datetime, high: datetime) -> tuple[Change, ...] | None:
    """The changes of a zone's clock between two times, in order; None for more than ``MOST_CHANGES``."""
    try:
        at, end = low - _MARGIN, high + _MARGIN
    except OverflowError:
        return None
    if (end - at) / timedelta(days=365) > MOST_CHANGES:
        return None
    found: list[Change] = []
    before = offset_at(zone, at)
    while at < end:
        following = min(at + _STEP, end)
        after = offset_at(zone, following)
        if after != before:
            found.append(Change(_turn(zone, at, following, before), before, after))
        at, before = following, after
    return tuple(found) if len(found) <= MOST_CHANGES else None


def _turn(zone: tzinfo, low: datetime, high: datetime, before: timedelta) -> datetime:
    """The second from which on the offset is another."""
    while high - low > timedelta(seconds=1):
        middle = (low + (high - low) / 2).replace(microsecond=0)
        low, high = (middle, high) if offset_at(zone, middle) == before else (low, middle)
    return high.replace(microsecond=0)
