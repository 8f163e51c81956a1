from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize.model import Categories, ConceptGraph, LatticeDomain
from dpproxy.values.pgtypes import BOOL, DATE, FLOAT8, INT4, NUMERIC, TEXT, TIMESTAMP, SqlType
from dpproxy.views.columns import (
    MOST_STEPS,
    Listed,
    MomentColumn,
    NumberColumn,
    PlacesOf,
    ViewColumn,
    decode,
    encode,
    shown_column,
    stored,
)
from tests.empty import empty

ONE = Fraction(1)
CENTS = NUMERIC.with_precision(38, 2)


def column(kind: SqlType, places: PlacesOf) -> ViewColumn:
    return ViewColumn("x", kind, places, "x")


def kept(one: ViewColumn, places: list[int]) -> list[object]:
    """What a view's file holds."""
    rows = pa.table({"x": decode(one, np.array(places, np.int64))})
    with empty() as connection:
        connection.register("rows", rows)
        return [v for (v,) in connection.execute(f"SELECT {stored('x', one.type)} FROM rows").fetchall()]


@pytest.mark.parametrize(
    ("one", "values", "places", "held"),
    [
        (column(INT4, NumberColumn(-5, 5, ONE)), [-5, 0, 7], [0, 5, 10], [-5, 0, 5]),
        (column(CENTS, NumberColumn(0, 1000, Fraction(1, 100))), [0, 25, 1000], [0, 25, 1000], [0, Decimal("0.25"), 10]),  # noqa: E501
        (column(FLOAT8, NumberColumn(-2, 2, Fraction(1, 4))), [-2, 1], [0, 3], [-0.5, 0.25]),
        (column(DATE, MomentColumn(0, 400, ONE, 1, date(1999, 12, 31))), [0, 1], [0, 1], [date(1999, 12, 31), date(2000, 1, 1)]),  # noqa: E501
        (
            column(TIMESTAMP, MomentColumn(0, 10, ONE, 5, datetime.fromisoformat("2000-01-01"))),
            [0, 10],
            [0, 2],
            [datetime.fromisoformat("2000-01-01"), datetime.fromisoformat("2000-01-01 00:00:00.000010")],
        ),
        (column(BOOL, Listed((False, True), ordered=True)), [True, False], [1, 0], [True, False]),
        (column(TEXT, Listed(("f", "m", None))), ["m", None], [1, 2], ["m", None]),
        (column(CENTS, Listed((150, 20))), [20], [1], [Decimal("0.20")]),
    ],
)  # fmt: skip
def test_values_become_places_and_places_values(
    one: ViewColumn, values: list[object], places: list[int], held: list[object]
):
    found, known = encode(one, pa.chunked_array([pa.array(values)]))
    assert found.tolist() == places
    assert known.all()
    assert kept(one, places) == held


def test_what_is_not_listed_has_no_place_and_null_only_where_it_is_listed():
    values = pa.chunked_array([pa.array(["f", "x", None])])
    assert encode(column(TEXT, Listed(("f", "m"))), values)[1].tolist() == [True, False, False]
    assert encode(column(TEXT, Listed(("f", None))), values)[1].tolist() == [True, False, True]
    numbers = pa.chunked_array([pa.array([1, None], pa.int64())])
    assert encode(column(INT4, NumberColumn(0, 9, ONE)), numbers)[1].tolist() == [True, False]


@given(st.integers(-(2**60), 2**60), st.integers(0, 2**61))
def test_a_lattice_is_never_finer_than_it_may_be(low: int, width: int):
    steps = NumberColumn.of(low, low + width, ONE)
    assert 0 <= steps.last <= MOST_STEPS
    assert (steps.last - 1) * steps.step < width <= steps.last * steps.step or width == steps.last == 0


def test_domains_as_methods_know_them():
    assert column(INT4, NumberColumn(3, 9, ONE)).domain == LatticeDomain(0, 6)
    assert column(TEXT, Listed(("a", "b"), ordered=True)).domain == Categories(2, ordered=True)
    assert column(TEXT, Listed(("a", "b"), parents=((), (0,)))).domain == ConceptGraph(((), (0,)))


def test_what_is_shown_of_a_column_without_its_rows():
    shown = shown_column(column(CENTS, NumberColumn(0, 1000, Fraction(1, 100))), inside=True)
    assert (shown.low, shown.high, shown.steps) == (0, 10, NumberColumn(0, 1000, Fraction(1, 100)))
    assert shown_column(column(TEXT, Listed(("a", "bcd", None))), inside=False).longest == 3
    days = shown_column(column(DATE, MomentColumn(0, 31, ONE, 1, date(2000, 1, 1))), inside=False)
    assert (days.first, days.last) == (date(2000, 1, 1), date(2000, 2, 1))
    assert shown_column(column(CENTS, Listed((150, 20))), inside=False).high == Fraction(3, 2)
