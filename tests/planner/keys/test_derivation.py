"""What an expression over rows is as a group key: every value that it can take, from the declared ones."""

import pytest

from dpproxy.values.errors import BoundsMissing, NotGranted, Refusal
from tests.golden.world import World, plan_of
from tests.planner.clinic import one_part


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("city", {"Oslo", "Rome"}),
        ("lower(city)", {"oslo", "rome"}),
        ("length(city)", {4}),
        ("age / 50", {0, 1, 2}),
        ("age >= 18", {False, True}),
        ("CASE WHEN age < 18 THEN 'young' ELSE city END", {"young", "Oslo", "Rome"}),
    ],
)
def test_the_values_follow_from_the_declared_ones(clinic: World, key: str, values: set[object]):
    [keys] = one_part(clinic, f"SELECT {key}, count(*) FROM people GROUP BY 1").keys
    assert {value for (value,) in keys.rows if value is not None} == values


@pytest.mark.parametrize(
    ("key", "error"),
    [("id", NotGranted), ("id % 2", NotGranted), ("sqrt(age)", BoundsMissing)],
)
def test_refused(clinic: World, key: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_of(clinic, f"SELECT count(*) FROM people GROUP BY {key}")
