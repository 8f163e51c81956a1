"""Quotients are compared with PostgreSQL's in tests/pgcatalog/test_expressions.py, too."""

import pytest

from dpproxy.analysis.quotients import quotient
from dpproxy.values.errors import DivisionByZero


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ("1", "3", "0.33333333333333333333"),
        ("2", "3", "0.66666666666666666667"),
        ("-7.0", "2", "-3.5000000000000000"),
        ("123456789", "7", "17636684.142857142857"),
        ("0", "5", "0.00000000000000000000"),
    ],
)
def test_quotients(left: str, right: str, found: str):
    assert quotient(left, right) == found


def test_nothing_is_divided_by_zero():
    with pytest.raises(DivisionByZero):
        quotient("1", "0.00")
