"""Subqueries for one value that follow the row around them; what they answer is in tests/golden/two_stages.test."""

import pytest

from dpproxy.values.errors import Refusal
from tests.golden.world import World, plan_any, plan_of

BESIDE = "SELECT count(*) FROM visits v WHERE v.hours < ({})"


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT avg(x.hours) FROM visits x WHERE x.ward = v.ward",
        "SELECT 2 * max(x.hours) FROM visits x WHERE v.ward = x.ward AND x.hours > 1",
        "SELECT avg(x.hours) FROM visits x WHERE upper(x.ward) = upper(v.ward)",
        "SELECT count(*) FROM visits x JOIN people p ON p.id = x.person WHERE x.ward = v.ward AND x.hours = v.hours",
    ],
)
def test_groups_are_released_first(clinic: World, inner: str):
    first, second = plan_of(clinic, BESIDE.format(inner)).parts
    assert first.groups > 1
    assert len(second.inputs) > first.groups


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT avg(x.hours) FROM visits x WHERE x.ward < v.ward",
        "SELECT avg(x.hours) FROM visits x WHERE x.ward = v.ward AND x.hours < v.hours",
        "SELECT avg(x.hours + v.hours) FROM visits x WHERE x.ward = v.ward",
        "SELECT avg(x.hours) FROM visits x WHERE x.ward = v.ward GROUP BY x.hours",
        "SELECT x.hours FROM visits x WHERE x.ward = v.ward",
        "SELECT avg(x.hours) FROM visits x WHERE x.ward || v.ward = v.ward",
    ],
)
def test_others_are_refused(clinic: World, inner: str):
    with pytest.raises(Refusal) as caught:
        plan_any(clinic, BESIDE.format(inner))
    assert caught.value.sqlstate in ("PD002", "0A000")
