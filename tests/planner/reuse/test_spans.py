"""Moments in units of the calendar, one by one: what is said of a span holds of every moment in it."""

# ruff: noqa: DTZ001 - of a type without zone

from datetime import date, datetime, timedelta

import pytest

from dpproxy.planner.reuse.spans import Span, beginning, gaps, is_less, span_of, truncated, unit_of
from dpproxy.planner.reuse.terms import Term

AT: Term = ("column", ("item", 0, 0), "seen")
MONTH = Span(datetime(2024, 2, 1), datetime(2024, 2, 29, 23, 59, 59, 999999))


def trunc(unit: str) -> Term:
    return ("call", "date_trunc", False, (("literal", True, unit), AT), ())


@pytest.mark.parametrize(
    ("unit", "first", "last"),
    [
        ("year", datetime(2024, 1, 1), datetime(2024, 12, 31, 23, 59, 59, 999999)),
        ("quarter", datetime(2024, 10, 1), datetime(2024, 12, 31, 23, 59, 59, 999999)),
        ("month", MONTH.first, MONTH.last),
        ("week", datetime(2024, 2, 26), datetime(2024, 3, 3, 23, 59, 59, 999999)),
        ("day", datetime(2024, 2, 29), datetime(2024, 2, 29, 23, 59, 59, 999999)),
        ("hour", datetime(2024, 2, 29, 7), datetime(2024, 2, 29, 7, 59, 59, 999999)),
    ],
)
def test_a_unit_is_a_span_that_begins_with_it(unit: str, first: datetime, last: datetime):
    assert span_of(trunc(unit), first) == (AT, Span(first, last))
    assert truncated(last, unit) == first
    assert beginning(Span(first, last), unit) == first
    assert beginning(Span(first, last + timedelta(microseconds=1)), unit) is None


def test_other_terms_and_values_are_no_spans():
    assert unit_of(("call", "date_trunc", False, (("literal", True, "decade"), AT), ())) is None
    assert span_of(trunc("month"), None) is None
    assert span_of(trunc("month"), 7) is None
    assert span_of(("cast", "DATE", False, AT), date(2024, 2, 29)) == (
        AT,
        Span(datetime(2024, 2, 29), datetime(2024, 2, 29, 23, 59, 59, 999999)),
    )
    assert span_of(trunc("year"), datetime(9999, 1, 1)) is None


@pytest.mark.parametrize(
    "other",
    [datetime(2024, 2, d, h) for d in (1, 2, 29) for h in (0, 12)]
    + [datetime(2024, 1, 31), datetime(2024, 3, 1), MONTH.last],
)
@pytest.mark.parametrize("or_equal", [False, True])
def test_a_comparison_that_is_known_holds_of_both_ends_and_between(other: datetime, *, or_equal: bool):
    inside = [
        MONTH.first,
        datetime(2024, 2, 15),
        MONTH.last,
        *([other] if MONTH.first <= other <= MONTH.last else []),
    ]
    for left, right, pairs in (
        (MONTH, other, [(m, other) for m in inside]),
        (other, MONTH, [(other, m) for m in inside]),
    ):
        truths = {a <= b if or_equal else a < b for a, b in pairs}
        known = is_less(left, right, or_equal=or_equal)
        assert known is None or truths == {known}
        assert known is not None or len(truths) == 2


def test_beside_a_day_a_span_is_of_days():
    assert is_less(MONTH, date(2024, 2, 29), or_equal=True) is True
    assert is_less(MONTH, date(2024, 2, 29), or_equal=False) is None
    assert is_less(MONTH, date(2024, 2, 1), or_equal=False) is False
    assert is_less(3, 4, or_equal=False) is None


def test_gaps_are_all_that_is_outside():
    other = Span(datetime(2024, 4, 1), datetime(2024, 4, 30, 23, 59, 59, 999999))
    before, between, after = gaps([other, MONTH])
    assert (before.first, before.last) == (datetime.min, MONTH.first - timedelta(microseconds=1))  # noqa: DTZ901
    assert between == Span(datetime(2024, 3, 1), datetime(2024, 3, 31, 23, 59, 59, 999999))
    assert after.last == datetime.max  # noqa: DTZ901
    assert not between.meets(MONTH)
    assert between.meets(Span(MONTH.last, other.first))
