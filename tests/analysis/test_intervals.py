"""Constant intervals: read as PostgreSQL reads them, and added as it adds them."""

# ruff: noqa: DTZ001, E501 - the type has no time zone, tables of cases

from datetime import datetime, timedelta

import pytest

from dpproxy.analysis import duck
from dpproxy.analysis.intervals import Interval, moved, moved_sql, read_interval
from dpproxy.planner.accept import parse
from dpproxy.values.errors import InvalidText, NumberOutOfRange, Unsupported
from tests.empty import empty


def read(text: str) -> Interval:
    return read_interval(parse(f"SELECT interval {text}").expressions[0])


@pytest.mark.parametrize(
    ("text", "interval"),
    [("'90' day", Interval(days=90)), ("'1 year'", Interval(months=12)), ("'-3' month", Interval(months=-3)), ("'2 weeks'", Interval(days=14)),
     ("'1 year 2 mons -3 days 4 hours'", Interval(14, -3, 4 * 3_600_000_000)), ("'1-2'", Interval(14)), ("'2 days 01:00:00.5'", Interval(days=2, microseconds=3_600_500_000)), ("'5 milliseconds'", Interval(microseconds=5000))],
)  # fmt: skip
def test_numbers_and_units(text: str, interval: Interval):
    assert read(text) == interval


@pytest.mark.parametrize("text", ["'soon'", "'3 fortnights'", "''", "'1 day 2 days'", "'1-13'"])
def test_other_forms_are_refused(text: str):
    with pytest.raises(InvalidText):
        read(text)


def test_an_interval_is_a_constant():
    with pytest.raises(Unsupported):
        read("$1 day")


@pytest.mark.parametrize("text", ["'99999999999' year", "'5000000' day", "'-5000000' day"])
def test_an_interval_longer_than_all_dates_is_refused(text: str):
    with pytest.raises(NumberOutOfRange):
        read(text)


MOVES = [
    (datetime(2000, 1, 31), Interval(months=1), datetime(2000, 2, 29)),
    (datetime(2000, 3, 31), Interval(months=-1), datetime(2000, 2, 29)),
    (datetime(2000, 1, 31), Interval(months=1, days=1), datetime(2000, 3, 1)),
    (datetime(2000, 12, 1), Interval(months=1), datetime(2001, 1, 1)),
    (datetime(2000, 1, 1), Interval(microseconds=-1), datetime(2000, 1, 1) - timedelta(microseconds=1)),
]


@pytest.mark.parametrize(("start", "by", "end"), MOVES)
def test_months_then_days_then_time(start: datetime, by: Interval, end: datetime):
    assert moved(start, by) == end
    sql = duck.text(moved_sql(duck.constant(start), by))
    with empty() as connection:
        assert connection.execute(f"SELECT {sql}").fetchall() == [(end,)]


@pytest.mark.parametrize(
    "by", [Interval(months=12 * 8000), Interval(months=-12 * 3000), Interval(days=-800_000)]
)
def test_dates_have_an_end(by: Interval):
    with pytest.raises(OverflowError):
        moved(datetime(2000, 1, 1), by)
