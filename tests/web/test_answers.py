"""Answers as tables and files."""

import pytest

from dpproxy.web.answers import Value, as_csv, is_number, rounded, table
from dpproxy.web.wire import Column, Rows

COLUMNS = (
    Column("k", "text"),
    Column("n", "int8"),
    Column("n_ci_low", "float8"),
    Column("n_ci_high", "float8"),
    Column("x", "numeric"),
)


def test_intervals_stand_beside_their_values():
    found = table(Rows(COLUMNS, (("a", "10", "4", "14", "1"), (None, None, None, None, "2"))))
    assert [c.name for c in found.columns] == ["k", "n", "x"]
    assert found.rows == (("a", Value(10.0, 4.0, 14.0), "1"), (None, None, "2"))
    assert found.labels == ("a · 1", "none · 2")
    assert found.series[0].values == (Value(10.0, 4.0, 14.0), None)
    assert not found.is_ordered


def test_keys_that_are_numbers_have_an_order():
    assert table(Rows((Column("age", "int4"), *COLUMNS[1:4]), (("1", "2", "1", "3"),))).is_ordered


def test_a_value_says_how_far_off_it_may_be():
    value = Value(39.1818805765271, 39.029, 39.333)
    assert (value.text, value.error, value.interval) == ("39.18", "0.15", "39.03 to 39.33")
    assert Value(3.0, 0.0, 5.0).half == 3


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (20398, 52, "20,398"),
        (870431, 5135, "870,400"),
        (-0.0001, 0.5, "0.00"),
        (2.5, 0, "2.5"),
        (float("nan"), 1, "nan"),
    ],
)
def test_numbers_are_rounded_to_their_error(value: float, error: float, text: str):
    assert rounded(value, error) == text


def test_values_without_a_finite_interval_are_shown_as_they_are():
    found = table(Rows(COLUMNS[:4], (("a", "10", "-Infinity", "Infinity"),)))
    assert found.rows == (("a", "10"),)


def test_files_have_all_digits_and_no_formulas():
    rows = Rows((Column("=k", "text"), Column("n", "int8")), (("=HYPERLINK(1)", "-5"), ('a"b,c', None)))
    assert as_csv(rows) == '\'=k,n\r\n\'=HYPERLINK(1),-5\r\n"a""b,c",\r\n'


def test_numbers_are_shown_to_the_right():
    assert is_number(Column("n", "int8"))
    assert not is_number(Column("k", "text"))
