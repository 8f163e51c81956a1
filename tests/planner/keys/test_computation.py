"""Keys of columns that are computed of one person's rows."""

import pytest

from dpproxy.values.errors import BoundsMissing
from tests.golden.world import World, plan_of
from tests.planner.answers import answered

EACH = "SELECT k, count(*) FROM (SELECT {} AS k, person FROM visits GROUP BY person) t GROUP BY k"


@pytest.mark.parametrize(
    ("expression", "rows"),
    [
        ("min(ward)", [("A", 2), ("B", 0)]),
        ("max(ward) FILTER (WHERE hours > 3)", [("A", 1), ("B", 0), (None, 1)]),
        ("lower(min(ward)) || max(ward)", [("aA", 1), ("aB", 1), ("bA", 0), ("bB", 0)]),
        ("count(*)", [(0, 0), (1, 1), (2, 1)]),
        ("CASE WHEN sum(hours) > 3 THEN 'long' WHEN count(*) > 1 THEN 'many' ELSE 'few' END",
         [("few", 0), ("long", 1), ("many", 1)]),
        ("sum(hours) / 4", [(0, 1), (1, 1), (2, 0), (None, 0)]),
        ("max(hours) > 3 AND min(ward) = 'A'", [(False, 1), (True, 1)]),
    ],
)  # fmt: skip
def test_the_values_are_those_of_the_expression(
    clinic: World, expression: str, rows: list[tuple[object, ...]]
):
    assert sorted(answered(clinic, EACH.format(expression)), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize("expression", ["avg(hours)", "sqrt(sum(hours))", "round(avg(hours), 1)"])
def test_what_cannot_be_listed_is_refused(clinic: World, expression: str):
    with pytest.raises(BoundsMissing):
        plan_of(clinic, EACH.format(expression))
