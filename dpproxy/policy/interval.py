"""How often a budget refills: days, weeks or calendar months, counted in UTC from fixed anchors."""

import re
from datetime import date, timedelta
from enum import Enum

from msgspec import Struct

from dpproxy.values.errors import InvalidParameter

MOST = 10_000
"""Days, weeks or months of an interval."""
_TEXT = re.compile(r"\s*([0-9]{1,6})\s+(day|week|month)s?\s*", re.ASCII | re.IGNORECASE)
_EPOCH = date(1970, 1, 1)
_MONDAY = 4
"""The day number of 5 January 1970, a Monday: weeks are counted from it."""


class Step(Enum):
    """What an interval counts."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class CalendarInterval(Struct, frozen=True):
    """So many days, weeks or calendar months; days are numbered from 1 January 1970.

    >>> str(CalendarInterval(1, Step.MONTH)), str(CalendarInterval(2, Step.WEEK))
    ('1 month', '2 weeks')
    """

    count: int
    step: Step

    def __str__(self) -> str:
        return f"{self.count} {self.step.value}{'' if self.count == 1 else 's'}"

    def period(self, day: int) -> tuple[int, int]:
        """The first day of the period that holds a day, and the first day of the next one.

        >>> first, after = CalendarInterval(1, Step.MONTH).period(day_of(date(2024, 2, 29)))
        >>> str(date_of(first)), str(date_of(after))
        ('2024-02-01', '2024-03-01')
        """
        match self.step:
            case Step.MONTH:
                at = date_of(day)
                months = (at.year - _EPOCH.year) * 12 + at.month - 1
                first = months - months % self.count
                return _first_of(first), _first_of(first + self.count)
            case Step.DAY | Step.WEEK:
                length, anchor = (self.count, 0) if self.step is Step.DAY else (7 * self.count, _MONDAY)
                first = day - (day - anchor) % length
                return first, first + length


def parse(text: str, position: int | None) -> CalendarInterval:
    """Read an interval such as ``2 weeks``.

    Raises:
        InvalidParameter: not a number from 1 to 10,000 of days, weeks or months.
    """
    found = _TEXT.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= MOST:
        raise InvalidParameter(
            f"REFRESH EVERY takes 1 to {MOST} days, weeks or months",
            hint="REFRESH EVERY '1 month'; months are calendar months in UTC.",
            position=position,
        )
    return CalendarInterval(int(found[1]), Step(found[2].lower()))


def day_of(at: date) -> int:
    """The number of a day."""
    return (at - _EPOCH).days


def date_of(day: int) -> date:
    """The date of a day's number; the last date that Python has, where a period ends later."""
    return _EPOCH + timedelta(min(day, (date.max - _EPOCH).days))


def _first_of(months: int) -> int:
    """The day number of the first of a month, counted from January 1970."""
    year, month = divmod(months, 12)
    if _EPOCH.year + year > date.max.year:
        return day_of(date.max)
    return day_of(date(_EPOCH.year + year, month + 1, 1))
