"""Whoever follows the hint of a loss that is too small is answered, and with less they are not."""

import re
from fractions import Fraction

import pytest

from dpproxy.values.errors import InvalidParameter
from tests.golden.world import World, build, plan_of
from udfs.privacy import Loss

HEADER = (
    "CREATE TABLE people (id INTEGER, age INTEGER)",
    "CREATE TABLE visits (person INTEGER, ward VARCHAR, town VARCHAR, cost INTEGER)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 99",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 30 MAX GROUPS 7",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 99",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('A', 'B')",
    "ALTER TABLE visits ALTER COLUMN town SET PRIVACY DOMAIN DISCOVERED",
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


@pytest.mark.parametrize(
    ("sql", "epsilon", "enough"),
    [
        ("SELECT median(cost) FROM visits", "0.003", "0.03"),
        ("SELECT median(cost), max(cost) FROM visits", "0.03", "0.06"),
        ("SELECT median(cost), max(cost) FROM visits", "0.01", "0.06"),
        ("SELECT median(cost), count(*) FROM visits", "0.03", "0.06"),
        ("SELECT ward, median(cost) FROM visits GROUP BY ROLLUP (ward)", "0.03", "0.06"),
        ("SELECT ward, count(*) FROM visits GROUP BY ward", "0.001", "0.007"),
        ("SELECT ward, sum(cost) FROM visits GROUP BY GROUPING SETS ((ward), ())", "0.007", "0.014"),
        ("SELECT ward, dp.with_prior(sum(cost), 'normal(9, 2)') FROM visits GROUP BY ward", "0.001", "0.007"),
        (
            "SELECT dp.with_prior(age, 'normal(9, 2)'), dp.with_prior(age, 'normal(9, 3)') FROM people WHERE id = 1",
            "0.001",
            "0.002",
        ),
        (
            "SELECT count(*), (SELECT median(age) FROM people), (SELECT max(age) FROM people) FROM people",
            "0.002",
            "0.003",
        ),
        ("SELECT town, count(*) FROM visits GROUP BY town", "0.001", "0.014"),
    ],
)
def test_the_hint_names_what_is_enough_and_no_more(world: World, sql: str, epsilon: str, enough: str):
    settings = {"dp.delta": "1e-6", "dp.mechanism": "staircase"}
    with pytest.raises(InvalidParameter) as error:
        plan_of(world, sql, {**settings, "dp.epsilon": epsilon})
    assert str(error.value.message).startswith(f"epsilon {epsilon} ")
    found = re.match(r"SET dp\.epsilon = ([0-9.]+); or ", str(error.value.hint))
    assert found is not None, error.value.hint
    assert found[1] == enough
    plan = plan_of(world, sql, {**settings, "dp.epsilon": found[1]})
    assert plan.loss <= Loss.of(Fraction(found[1]))
    less = Fraction(found[1]) - Fraction(1, 10**5)
    with pytest.raises(InvalidParameter):
        plan_of(world, sql, {**settings, "dp.epsilon": f"{float(less):.6f}"})


def limited(most: str) -> list[str]:
    return [
        "ALTER TABLE people SET PRIVACY CEILING EPSILON 100",
        f"CREATE PRIVACY BUDGET lab LIMIT EPSILON 50 MAX EPSILON {most}",
        "GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET lab",
        "GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET lab",
    ]


def test_where_no_statement_may_cost_enough_the_hint_says_so():
    own = build((*HEADER, *limited("0.02")))
    with pytest.raises(InvalidParameter, match="too small to share among the 30 rows") as error:
        plan_of(own, "SELECT median(cost) FROM visits", {"dp.epsilon": "0.01"})
    assert error.value.hint == "No epsilon that one statement may cost is enough: ask for less at once."


def test_a_maximum_of_many_digits_is_hinted_at_as_it_is():
    own = build((*HEADER, *limited("0.123456789")))
    with pytest.raises(
        InvalidParameter, match=r"above the most one statement may use, 0\.123456789"
    ) as error:
        plan_of(own, "SELECT count(*) FROM people", {"dp.epsilon": "0.5"})
    assert error.value.hint == "SET dp.epsilon = 0.123456789;"
    plan_of(own, "SELECT count(*) FROM people", {"dp.epsilon": "0.123456789"})
    target = {"dp.target_error": "1000", "dp.epsilon": ""}
    assert plan_of(own, "SELECT count(*) FROM people", target).solved
