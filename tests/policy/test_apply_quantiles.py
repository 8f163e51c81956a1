"""Quantiles as declared: what is kept of them, and what is refused."""

from datetime import date
from fractions import Fraction

import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.dump import dump
from dpproxy.policy.model import Counted, LimitQuantiles, Policy
from dpproxy.policy.store import change_of
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import DATE, INT4, TEXT, Column, Schema

SCHEMA = Schema({"t": (Column("id", INT4), Column("ward", TEXT), Column("day", DATE))})
OF_ROWS = "ALTER TABLE t SET PRIVACY QUANTILES OF ROWS"
OF_DAYS = "ALTER TABLE t ALTER COLUMN day SET PRIVACY QUANTILES OF VALUES"


def declared(*statements: str) -> Policy:
    policy = Policy()
    for sql in ("ALTER TABLE t SET PRIVACY KEY (id)", *statements):
        policy = apply(policy, change_of(sql), SCHEMA)
    return policy


def test_what_is_declared_is_kept_and_written():
    statements = (
        f"{OF_ROWS} (61.5 AT 1, 99 AT 20) WITHIN 0.5",
        f"{OF_DAYS} (0 AT DATE '2020-01-01', 100 AT DATE '2021-01-01') WITHIN 0",
        "ALTER TABLE t ALTER COLUMN ward SET PRIVACY QUANTILES OF GROUPS (100 AT 3) WITHIN 1",
    )
    policy = declared(*statements)
    table = policy.tables["t"]
    assert table.quantiles == LimitQuantiles(
        Counted.ROWS, ((Fraction("61.5"), 1), (Fraction(99), 20)), Fraction("0.5")
    )
    ends = ((Fraction(0), date(2020, 1, 1)), (Fraction(100), date(2021, 1, 1)))
    assert table.columns["day"].quantiles == LimitQuantiles(Counted.VALUES, ends, Fraction(0))
    assert set(statements) <= set(dump(policy))
    hidden = apply(policy, change_of("ALTER TABLE t SET PRIVACY HIDDEN"), SCHEMA)
    assert hidden.tables["t"].quantiles is None


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (" (2 AT 1, 1 AT 2) WITHIN 1", "ascending"),
        (" (1 AT 2, 2 AT 2) WITHIN 1", "ascending"),
        (" (101 AT 2) WITHIN 1", "percentages"),
        (" (1 AT 2) WITHIN -1", "percentages"),
        (" (1 AT 2.5) WITHIN 1", "whole numbers"),
        (" (1 AT NULL) WITHIN 1", "whole numbers"),
        (" (1 AT 2)", "expected WITHIN"),
        (f" ({', '.join(f'1 AT {mark}' for mark in range(1001))}) WITHIN 1", "at most 1000"),
    ],
)
def test_what_is_refused(rest: str, message: str):
    with pytest.raises(Refusal, match=message):
        declared(OF_ROWS + rest)


def test_a_value_that_is_null_is_refused():
    with pytest.raises(Refusal, match="none is NULL"):
        declared(f"{OF_DAYS} (1 AT NULL) WITHIN 1")
