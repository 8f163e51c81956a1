"""Marks, the statement that counts between them, and the bounds read off the counts."""

from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import pairwise

import pytest

from dpproxy.policy.model import (
    Between,
    Budget,
    ColumnPolicy,
    Counted,
    Grant,
    LimitQuantiles,
    Policy,
    TablePolicy,
    Unit,
)
from dpproxy.policy.suggest_probe import COUNTS, PAYER, PeopleProbe, Probe, limit, probe
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    SqlType,
)


@pytest.mark.parametrize(
    ("kind", "last", "least"),
    [
        (INT2, 2**15 - 1, 1),
        (INT4, 2**31 - 1, 1),
        (INT8, 10**12, 1),
        (FLOAT4, 10**12, Fraction(1, 1000)),
        (FLOAT8, 10**12, Fraction(1, 1000)),
        (NUMERIC.with_precision(8, 2), Fraction(99_999_999, 100), Fraction(1, 100)),
        (NUMERIC.with_precision(38, 0), 10**12, 1),
        (NUMERIC.with_precision(1, 0), 9, 1),
    ],
)
def test_marks_of_numbers(kind: SqlType, last: Fraction, least: Fraction):
    found = probe(Column("c", kind))
    assert found is not None
    marks = [Fraction(mark) for mark in found.marks if isinstance(mark, int | Fraction)]
    assert len(marks) == len(found.marks)
    assert all(low < high for low, high in pairwise(marks))
    assert marks == [-mark for mark in reversed(marks)]
    assert marks[-1] == last
    assert min(mark for mark in marks if mark > 0) == least
    assert all(high <= low * Fraction(5, 2) for low, high in pairwise(marks) if low > 0)


def test_marks_of_dates():
    for kind, day in ((DATE, date), (TIMESTAMP, datetime)):
        found = probe(Column("c", kind))
        assert found is not None
        assert found.marks[:3] == (day(1800, 1, 1), day(1900, 1, 1), day(1905, 1, 1))
        assert found.marks[-2:] == (day(2100, 1, 1), day(2200, 1, 1))
        assert {type(mark) for mark in found.marks} == {day}


def test_marks_of_moments_have_a_zone():
    found = probe(Column("c", TIMESTAMPTZ))
    assert found is not None
    assert found.marks[0] == datetime(1800, 1, 1, tzinfo=UTC)
    assert "TIMESTAMPTZ '1900-01-01 00:00:00+00:00'" in found.sql("t")


@pytest.mark.parametrize("kind", [TEXT, BOOL, NUMERIC, NUMERIC.with_precision(38, 20)])
def test_other_types_are_not_probed(kind: SqlType):
    assert probe(Column("c", kind)) is None


def test_the_statement_counts_each_interval():
    assert Probe("Cost", (-9, Fraction(-1, 2), 0, 9)).sql("odd name") == (
        'SELECT "Cost", dp.ci_low(count(*)), count(*), dp.noise_sd(count(*)) FROM '
        '(SELECT CASE WHEN "Cost" < -0.5 THEN 0 WHEN "Cost" < 0 THEN 1 ELSE 2 END AS "Cost" FROM "odd name" '
        'WHERE "Cost" IS NOT NULL) AS marked GROUP BY 1'
    )


@pytest.mark.parametrize(
    ("lows", "bounds"),
    [
        ((-3.0, 5.0, -1.0, 0.5), (10, 40)),
        ((5.0, -5.0, -5.0, -5.0), (0, 10)),
        ((-1.0, -1.0, 0.0, -1.0), None),
    ],
)
def test_bounds_are_the_outermost_marks_around_rows(lows: tuple[float, ...], bounds: tuple[int, int] | None):
    marks = Probe("c", (0, 10, 20, 30, 40))
    assert marks.bounds(list(enumerate(lows))) == bounds
    assert marks.bounds(reversed(list(enumerate(lows)))) == bounds


def test_what_is_asked_of():
    columns = {"kept": ColumnPolicy(Between(0, 1))}
    table, other = TablePolicy("t", unit=Unit("id"), columns=columns), TablePolicy("u")
    policy = Policy(7, 3, {"t": table, "u": other}, {"b": Budget("b", Fraction(1))}, (Grant("t", "r", "b"),))
    found = Probe("c", (-9, 0, 9)).policy(policy, "t")
    assert found.tables["t"].columns == {**columns, "c": ColumnPolicy(Between(-9, 9))}
    assert found.tables["u"] == other
    assert list(found.budgets) == [PAYER]
    assert found.grants == (Grant("t", "admin", PAYER),)
    assert (found.version, found.data_version) == (7, 3)


def test_one_row_of_each_person_is_counted():
    policy = Policy(tables={"t": TablePolicy("t", unit=Unit("id", max_rows=9, max_groups=4))})
    assert Probe("c", (0, 1)).policy(policy, "t").tables["t"].unit == Unit("id")


def test_people_are_counted_by_their_rows_up_to_a_cap_beyond_the_last_mark():
    policy = Policy(tables={"t": TablePolicy("t", unit=Unit("id", max_rows=9, max_groups=4))})
    assert PeopleProbe("id").policy(policy, "t").tables["t"].unit == Unit("id", max_rows=2 * COUNTS[-1])
    sql = PeopleProbe("Id", "ward").sql("t")
    assert sql.startswith(
        "SELECT m, dp.ci_low(count(*)), count(*), dp.noise_sd(count(*)) FROM (SELECT CASE WHEN n <= 1 "
    )
    assert 'SELECT "Id", count(DISTINCT ward) AS n FROM t GROUP BY 1' in sql
    assert f"ELSE {len(COUNTS)} END" in sql


def released(counts: dict[int, int], sd: float) -> list[tuple[int, float, int, float]]:
    return [(number, 0.0, counts.get(number, 0), sd) for number in range(len(COUNTS) + 1)]


def test_shares_are_of_the_released_total():
    found = PeopleProbe("id").quantiles(released({0: 600, 1: 300, 3: 95, len(COUNTS): 5}, 1.0))
    assert found is not None
    assert found.of is Counted.ROWS
    assert found.shares[:4] == ((60, 1), (90, 2), (90, 3), (Fraction("99.5"), 5))
    assert found.shares[-1] == (Fraction("99.5"), 1000)
    assert found.within == 1  # percent: 2.2 standard deviations of 17 counts, of 1,000, rounded up
    assert limit(found) == 5


def test_noise_that_lowers_a_share_leaves_it():
    found = PeopleProbe("id").quantiles(released({0: 900, 1: -20, 2: 120}, 1.0))
    assert found is not None
    assert found.shares == ((90, 1), (90, 2), (100, 3), (100, 1000))


def test_too_much_noise_says_nothing():
    assert PeopleProbe("id").quantiles(released({0: 100}, 3.0)) is None
    assert PeopleProbe("id").quantiles(released({0: -100}, 1.0)) is None


def test_no_limit_where_none_leaves_people_whole():
    assert limit(LimitQuantiles(Counted.ROWS, ((Fraction(50), 1000),), Fraction(1))) is None


def test_values_between_bounds_lie_between_marks():
    found = Probe("c", (0, 10, 20, 30)).quantiles(
        [(0, 0.0, 100, 0.1), (1, 0.0, 800, 0.1), (2, 0.0, 100, 0.1)]
    )
    assert found is not None
    assert found.shares == ((0, 0), (10, 10), (90, 20), (100, 30))
    assert [found.inside(*ends) for ends in ((0, 30), (10, 20), (5, 25), (10, 19), (40, 50))] == [
        100,
        80,
        80,
        0,
        0,
    ]


def test_marks_between_which_there_is_only_noise_are_left_out():
    marks = tuple(range(0, 90, 10))
    counts = (0, 3, 2, 300, 400, 290, 2, 0, 3)
    found = Probe("c", marks).quantiles([(n, 0.0, count, 2.0) for n, count in enumerate(counts)])
    assert found is not None
    assert [mark for _, mark in found.shares] == [0, 10, 30, 40, 50, 60, 80]
    assert found.inside(30, 60) == found.upto(60) - found.upto(30) == 99
