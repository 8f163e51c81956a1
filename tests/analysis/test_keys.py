"""Group keys: exactly the declared values."""

# ruff: noqa: E501 - tables of cases

from datetime import date
from fractions import Fraction

import pytest

from dpproxy.analysis import duck
from dpproxy.analysis.keys import MOST_KEYS, check_size, group_key, inside
from dpproxy.errors import BoundsMissing, TooComplex
from dpproxy.pgtypes import DATE, FLOAT8, INT4, NUMERIC, TEXT, Column
from dpproxy.policy.model import Between, Domain, Members
from tests.analysis.rows import COLUMNS, columns, connect, values_of


def test_whole_numbers_and_days_enumerate():
    assert group_key(Column("x", INT4), Between(-1, 2), None).values == (-1, 0, 1, 2)
    days = group_key(Column("x", DATE), Between(date(2024, 2, 28), date(2024, 3, 1)), None).values
    assert days == (date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1))


def test_a_decimal_key_is_a_whole_number_of_its_last_digit():
    key = group_key(Column("x", NUMERIC.with_precision(4, 1)), Members((Fraction("1.5"), 3)), None)
    assert key.values == (15, 30)


@pytest.mark.parametrize(
    ("column", "domain"),
    [(Column("x", FLOAT8), Members((1, 2))), (Column("x", FLOAT8), Between(0, 1)), (Column("x", NUMERIC.with_precision(9, 2)), Between(0, 1)),
     (Column("x", NUMERIC.with_precision(9, 2)), Members((1, None)))],
)  # fmt: skip
def test_a_domain_that_does_not_enumerate_is_refused(column: Column, domain: Domain):
    with pytest.raises(BoundsMissing):
        group_key(column, domain, 7)


@pytest.mark.parametrize("high", [MOST_KEYS, 2**31 - 1])
def test_too_many_keys_are_refused_before_they_are_listed(high: int):
    with pytest.raises(TooComplex):
        group_key(Column("x", INT4), Between(0, high), None)


def test_the_limit_itself_passes():
    check_size(MOST_KEYS, None)


@pytest.mark.parametrize("name", ["odd", "never", "grade", "name", "flag", "age", "wide"])
def test_only_declared_values_come_inside(name: str):
    column, domain = columns()[name], COLUMNS[name].domain
    if name == "wide":
        domain = Members((3, 10**30))
    key = group_key(column, domain, None)
    connection = connect()
    kept = values_of(connection, inside(key))
    groups = values_of(connection, key.raw)
    connection.close()
    inner = {v for v, k in zip(groups, kept, strict=True) if k}
    assert inner <= set(key.values)
    assert duck.text(inside(key))


def test_null_is_a_key_only_where_it_is_listed():
    assert "IS NULL" in duck.text(inside(group_key(Column("x", TEXT), Members(("a", None)), None)))
    assert "IS NULL" not in duck.text(inside(group_key(Column("x", TEXT), Members(("a",)), None)))
