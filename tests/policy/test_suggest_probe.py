"""Marks, the statement that counts between them, and the bounds read off the counts."""

from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import pairwise

import pytest

from dpproxy.policy.model import Between, Budget, ColumnPolicy, Grant, Policy, TablePolicy, Unit
from dpproxy.policy.suggest_probe import PAYER, Probe, probe, probing_policy
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
        'SELECT "Cost", dp.ci_low(count(*)) FROM '
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
    found = probing_policy(policy, "t", [Probe("c", (-9, 0, 9))])
    assert found.tables["t"].columns == {**columns, "c": ColumnPolicy(Between(-9, 9))}
    assert found.tables["u"] == other
    assert list(found.budgets) == [PAYER]
    assert found.grants == (Grant("t", "admin", PAYER),)
    assert (found.version, found.data_version) == (7, 3)
