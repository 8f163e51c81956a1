"""What a policy says when little was declared."""

from fractions import Fraction

import pytest

from dpproxy.policy.model import Budget, Exposure, Policy, TablePolicy, Unit


def test_undeclared_is_hidden():
    assert TablePolicy("t").exposure is Exposure.HIDDEN
    assert TablePolicy("t").unit is None
    assert Policy().tables == {}


@pytest.mark.parametrize(
    ("rows", "groups", "expected"), [(1, None, 1), (20, None, 20), (20, 5, 5), (2, 5, 2)]
)
def test_groups_are_bounded_by_rows(rows: int, groups: int | None, expected: int):
    assert Unit("id", None, rows, groups).groups == expected


def test_a_statement_may_use_a_hundredth_of_delta():
    assert Budget("b", Fraction(8), Fraction(1, 10**6)).default_delta == Fraction(1, 10**8)
    assert Budget("b", Fraction(8)).default_delta == 0
