"""Moments of which only the unit of the calendar is known: of what a release of days or months is made."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta

from msgspec import Struct

from dpproxy.planner.reuse.terms import Term
from dpproxy.values.days import MICROSECOND, midnight

_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_LENGTHS = {"week": timedelta(days=7), "day": timedelta(days=1), "hour": timedelta(hours=1)}


class Span(Struct, frozen=True):
    """A moment from ``first`` to ``last``, both included, to the microsecond; of days, those of these moments."""

    first: datetime
    last: datetime

    def meets(self, other: "Span") -> bool:
        """Whether a moment can be in both."""
        return self.first <= other.last and other.first <= self.last


def unit_of(key: Term) -> tuple[str, Term] | None:
    """The unit and what it is of, where a term is the beginning of a moment's unit of the calendar."""
    match key:
        case ("call", "date_trunc", False, (("literal", True, str(unit)), of), ()) if unit in (
            *_MONTHS,
            *_LENGTHS,
        ):
            return unit, bare(of)
        case ("cast", "DATE", False, of) if of[0] == "column":
            return "day", of
        case _:
            return None


def bare(of: Term) -> Term:
    """A day that is a moment only to be taken apart: parts of both are the same."""
    return of[3] if of[:3] == ("cast", "TIMESTAMP", False) else of


def span_of(key: Term, value: object) -> tuple[Term, Span] | None:
    """What is known of a key's argument from its value; None where the key is of no such kind, or NULL."""
    found = unit_of(key)
    if found is None or not isinstance(value, date):
        return None
    unit, of = found
    first = midnight(value)
    try:
        return of, Span(first, _next(first, unit) - MICROSECOND)
    except (OverflowError, ValueError):
        return None


def truncated(value: datetime, unit: str) -> datetime:
    """The beginning of a moment's unit."""
    day = value.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "hour":
        return value.replace(minute=0, second=0, microsecond=0)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    months = _MONTHS.get(unit)
    return day if months is None else day.replace(day=1, month=(day.month - 1) // months * months + 1)


def _next(first: datetime, unit: str) -> datetime:
    if unit in _LENGTHS:
        return first + _LENGTHS[unit]
    months = first.month - 1 + _MONTHS[unit]
    return first.replace(year=first.year + months // 12, month=months % 12 + 1)


def beginning(value: object, unit: str) -> datetime | None:
    """The beginning of the unit of a moment, a day or a span that is inside one; None for all else."""
    if isinstance(value, date):
        return truncated(midnight(value), unit)
    if isinstance(value, Span):
        ends = truncated(value.first, unit), truncated(value.last, unit)
        return ends[0] if ends[0] == ends[1] else None
    return None


def gaps(spans: Sequence[Span]) -> Iterator[Span]:
    """What is outside of all spans, which do not overlap."""
    at = datetime.min  # noqa: DTZ901 - the type has no time zone
    for each in sorted(spans, key=lambda one: one.first):
        if each.first > at:
            yield Span(at, each.first - MICROSECOND)
        at = each.last + MICROSECOND
    yield Span(at, datetime.max)  # noqa: DTZ901


def is_less(left: object, right: object, *, or_equal: bool) -> bool | None:
    """Whether one is less than the other, where a span is on one side; None where that is not known.

    Beside a day, a span is of days.
    """
    for span, other in ((left, right), (right, left)):
        if not isinstance(span, Span) or not isinstance(other, date):
            continue
        first: date = span.first if isinstance(other, datetime) else span.first.date()
        last: date = span.last if isinstance(other, datetime) else span.last.date()
        low, high = ((first, last), (other, other)) if span is left else ((other, other), (first, last))
        if low[1] < high[0] or (or_equal and low[1] == high[0]):
            return True
        if low[0] > high[1] or (not or_equal and low[0] == high[1]):
            return False
    return None
