"""What a policy says when little was declared."""

import pytest

from dpproxy.policy.model import Exposure, Policy, TablePolicy, Unit


def test_undeclared_is_hidden():
    assert TablePolicy("t").exposure is Exposure.HIDDEN
    assert TablePolicy("t").unit is None
    assert Policy().tables == {}


@pytest.mark.parametrize(
    ("rows", "groups", "expected"), [(1, None, 1), (20, None, 20), (20, 5, 5), (2, 5, 2)]
)
def test_groups_are_bounded_by_rows(rows: int, groups: int | None, expected: int):
    assert Unit("id", None, rows, groups).groups == expected
