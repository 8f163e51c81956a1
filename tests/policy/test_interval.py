"""Periods of days, weeks and calendar months."""

from datetime import date, timedelta

import pytest

from dpproxy.policy.interval import CalendarInterval, Step, date_of, day_of, parse
from dpproxy.values.errors import InvalidParameter

INTERVALS = [CalendarInterval(n, step) for n in (1, 2, 3, 5, 12) for step in Step]


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("1 month", CalendarInterval(1, Step.MONTH)),
        ("  2   Weeks ", CalendarInterval(2, Step.WEEK)),
        ("10000 days", CalendarInterval(10_000, Step.DAY)),
        ("1 day", CalendarInterval(1, Step.DAY)),
    ],
)
def test_what_is_written_is_read(text: str, interval: CalendarInterval):
    assert parse(text, 3) == interval
    assert parse(str(interval), None) == interval


@pytest.mark.parametrize(
    "text",
    ["", "1", "month", "0 days", "-1 day", "1.5 weeks", "10001 days", "1 year", "1 month 2 days", "¹ day"],
)
def test_anything_else_is_refused_at_its_place(text: str):
    with pytest.raises(InvalidParameter, match="REFRESH EVERY takes") as caught:
        parse(text, 7)
    assert caught.value.position == 7


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
def test_periods_follow_one_another_without_gap_or_overlap(interval: CalendarInterval):
    """Over nine years, leap days included, every day lies in one period, and all its days name the same one."""
    day, last = day_of(date(2019, 12, 30)), day_of(date(2029, 1, 2))
    first, after = interval.period(day)
    assert first <= day < after
    while day <= last:
        if day == after:
            first, after = after, interval.period(after)[1]
        assert interval.period(day) == (first, after)
        day += 1


def test_months_are_calendar_months_and_quarters_begin_in_january():
    first, after = CalendarInterval(3, Step.MONTH).period(day_of(date(2023, 5, 31)))
    assert (date_of(first), date_of(after)) == (date(2023, 4, 1), date(2023, 7, 1))


def test_weeks_begin_on_monday():
    first, after = CalendarInterval(1, Step.WEEK).period(day_of(date(2026, 11, 21)))
    assert (date_of(first).weekday(), date_of(after) - date_of(first)) == (0, timedelta(7))


def test_the_last_days_there_are_have_a_period():
    for interval in INTERVALS:
        first, after = interval.period(day_of(date.max) - 1)
        assert first < after
    assert date_of(10**9) == date.max
