"""Every column is mapped into its domain where it is read."""

from fractions import Fraction

import pytest

from dpproxy.analysis.domains import read_column
from dpproxy.errors import BoundsMissing
from dpproxy.pgtypes import FLOAT8, INT4, NUMERIC, TEXT, Column
from dpproxy.policy.model import Between, Members, Outside
from tests.analysis.rows import COLUMNS, SIZE, columns, connect, mapped, value_of, values_of


def test_each_type_of_column_is_read_inside_its_domain():
    connection = connect()
    for name, column in columns().items():
        typed = read_column(column, COLUMNS[name].domain)
        held = [value_of(v, typed) for v in values_of(connection, typed.sql)]
        expected = [mapped(name, row) for row in range(SIZE)]
        if typed.scale is not None:
            assert held == expected, name
        assert [v is None for v in held] == [v is None for v in expected], name
        if typed.presence is not None:
            present = values_of(connection, typed.presence)
            assert [v is None for v in present] == [v is None for v in held], name
    connection.close()


def test_nan_counts_as_above_the_upper_bound():
    connection = connect()
    typed = read_column(columns()["real4"], COLUMNS["real4"].domain)
    assert 1000.0 in values_of(connection, typed.sql)
    connection.close()


@pytest.mark.parametrize(
    ("column", "bound"),
    [
        (Column("x", NUMERIC.with_precision(38, 0)), 10**38 - 1),
        (Column("x", FLOAT8), 10**305),
        (Column("x", NUMERIC.with_precision(38, 18)), 100),
    ],
)
def test_bounds_that_no_exact_number_holds_are_refused(column: Column, bound: int):
    with pytest.raises(BoundsMissing) as refused:
        read_column(column, Between(0, bound))
    assert "SET PRIVACY DOMAIN" in str(refused.value.hint)


def test_a_domain_of_null_alone_is_null():
    typed = read_column(Column("x", INT4), Members((None,)))
    assert typed.is_null
    assert (typed.low, typed.high) == (0, 0)


def test_a_text_is_as_long_as_its_longest_member():
    assert read_column(Column("x", TEXT), Members(("a", "abc", None))).longest == 3


def test_not_null_holds_only_where_the_domain_makes_no_null():
    column = Column("x", INT4, not_null=True)
    assert not read_column(column, Between(0, 1)).nullable
    assert read_column(column, Between(0, 1, Outside.NULL)).nullable
    assert read_column(column, Members((1,))).nullable


def test_a_float_bound_is_the_nearest_double():
    assert read_column(Column("x", FLOAT8), Between(Fraction("0.1"), 1)).low == Fraction(0.1)
