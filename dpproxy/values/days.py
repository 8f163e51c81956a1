"""Days, and moments without a zone."""

from datetime import date, datetime, timedelta

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the type has no time zone
MICROSECOND = timedelta(microseconds=1)


def midnight(day: date) -> datetime:
    """A day's first moment; a ``datetime`` is one already."""
    if isinstance(day, datetime):
        return day
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001 - the type has no time zone


def micros(day: date) -> int:
    """Microseconds from 1970 to a moment, or to the first one of a day.

    >>> micros(date(1970, 1, 2))
    86400000000
    """
    return (midnight(day) - EPOCH) // MICROSECOND
