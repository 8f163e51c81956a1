"""Pieces of engine SQL: what is written is what is read."""

# ruff: noqa: DTZ001 - the type has no time zone

import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.policy.model import Scalar
from tests.empty import empty


def read(sql: str) -> object:
    with empty() as connection:
        row = connection.execute(f"SELECT {sql}").fetchone()
    return row[0] if row else None


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        2**63,
        -(2**100),
        True,
        False,
        'it\'s \\n "x" -- ; é',
        date(1, 1, 1),
        datetime(9999, 12, 31, 1, 2, 3, 4),
        None,
    ],
)
def test_a_constant_reads_back(value: Scalar | None):
    assert read(duck.text(duck.constant(value))) == value


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_a_double_reads_back_to_the_bit(values: list[float]):
    held = read("[" + ", ".join(duck.text(duck.double(v)) for v in values) + "]")
    assert held == values


@settings(deadline=None, derandomize=True)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])), min_size=1, max_size=20
    )
)
def test_a_text_reads_back(values: list[str]):
    assert read("[" + ", ".join(duck.text(duck.constant(v)) for v in values) + "]") == values


@pytest.mark.parametrize(
    ("value", "scale"), [("0.05", 2), ("-1234567890123456789012345678.1", 1), ("7", 0), ("-0.001", 3)]
)
def test_a_decimal_reads_back(value: str, scale: int):
    assert read(duck.text(duck.decimal(Fraction(value), scale))) == Decimal(value)


@pytest.mark.parametrize(
    ("value", "expected"), [(-5, 0), (3, 3), (99, 10), (math.nan, 10), (math.inf, 10), (-math.inf, 0)]
)
def test_clamp_maps_nan_to_the_upper_bound(value: float, expected: float):
    operand = duck.cast(nodes.Text(str(value)), "DOUBLE")
    assert read(duck.text(duck.clamp(operand, duck.double(0.0), duck.double(10.0)))) == expected


def test_names_are_quoted():
    assert duck.text(duck.column('a"b', "t")) == '"t"."a""b"'
