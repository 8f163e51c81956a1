"""Group keys: exactly the declared values."""

# ruff: noqa: E501 - tables of cases

from datetime import date
from fractions import Fraction

import pytest

from dpproxy.analysis import duck
from dpproxy.analysis.keys import MOST_KEYS, check_size, group_key, inside
from dpproxy.policy.model import Between, Domain, Members, References
from dpproxy.values.errors import BoundsMissing, TooComplex
from dpproxy.values.pgtypes import DATE, FLOAT8, INT4, NUMERIC, TEXT, Column
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


def test_some_of_many_values_without_a_gap_are_inside_their_ends():
    key = group_key(Column("x", INT4), Between(0, 999), None)
    some = key.only(tuple(n for n in key.values if n != 5 and n > 0))
    text = duck.text(inside(some))
    assert ">= 1 AND" in text
    assert "<= 999" in text
    assert "IN (" not in text
    assert key.only(key.values) == key
    odd = group_key(Column("x", INT4), Members(tuple(range(0, 600, 2))), None)
    assert "IN (" in duck.text(inside(odd.only(odd.values[1:])))


def test_the_keys_of_another_table_are_its_values_but_null():
    key = group_key(Column("x", TEXT), References("u", "c"), None, lambda *_: ("b", None, "a"))
    assert key.values == ("b", "a")
    assert key.is_raw
    price = group_key(
        Column("x", NUMERIC.with_precision(9, 2)), References("u", "c"), None, lambda *_: (Fraction("1.5"), 2)
    )
    assert price.values == (150, 200)
    with pytest.raises(BoundsMissing):
        group_key(Column("x", FLOAT8), References("u", "c"), 3, lambda *_: (1,))


EVEN, ALL = tuple(range(0, 500, 2)), (*range(200, 400), None, *range(200))


@pytest.mark.parametrize(
    ("domain", "is_list"),
    [(Between(0, 500), False), (Members(ALL), False), (Members(EVEN), True), (Members((1, 2, 3)), True)],
)
def test_many_keys_without_a_gap_are_told_by_their_ends(domain: Domain, *, is_list: bool):
    key = group_key(Column("age", INT4), domain, None)
    assert (" IN (" in duck.text(inside(key)).replace(duck.text(key.typed.sql), "x")) is is_list


def test_the_days_of_a_century_are_told_by_their_ends():
    key = group_key(columns()["born"], COLUMNS["born"].domain, None)
    assert len(duck.text(inside(key))) < 1_000
