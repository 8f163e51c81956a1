"""Parameters of a statement and the exact form of their values."""

# ruff: noqa: DTZ001, E501 - the type has no time zone, tables of cases

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from dpproxy.analysis.scopes import Parameters, exact
from dpproxy.values.errors import UndefinedParameter
from dpproxy.values.pgtypes import INT4, INT8, TEXT


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), (True, True), (5, 5), (0.5, Fraction(1, 2)), (Decimal("0.10"), Fraction(1, 10)), ("é", "é"), (Decimal("0e99999"), 0),
     (date(2000, 1, 1), date(2000, 1, 1)), (datetime(2000, 1, 1, 2), datetime(2000, 1, 1, 2))],
)  # fmt: skip
def test_a_value_is_exact(value: object, expected: object):
    assert exact(value) == expected


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), Decimal("NaN"), Decimal("Infinity"), Decimal("1e999999999"), Decimal("1e-999999999"), 10**400, "a\x00",
     "\ud800", datetime(2000, 1, 1, tzinfo=UTC), b"x", [1], object()],
)  # fmt: skip
def test_other_values_have_no_exact_form(value: object):
    with pytest.raises((ValueError, OverflowError, TypeError)):
        exact(value)


def test_the_first_type_inferred_stays():
    parameters = Parameters()
    parameters.infer(2, INT4)
    parameters.infer(2, INT8)
    assert parameters.all_types() == (TEXT, INT4)


def test_a_parameter_has_a_value_only_once_bound():
    with pytest.raises(UndefinedParameter):
        Parameters().value(1, None)
    assert Parameters(values=(7,)).value(1, None) == 7
