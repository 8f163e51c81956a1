import pytest

from dpproxy.algebra.plan import Part
from dpproxy.values.errors import BoundsMissing, TooComplex
from tests.golden.world import build, plan_of
from tests.planner.answers import answered

WORLD = build(
    [
        "CREATE TABLE people (id INTEGER, city VARCHAR, age INTEGER)",
        "ALTER TABLE people SET PRIVACY KEY (id) MAX ROWS 3",
        "ALTER TABLE people ALTER COLUMN city SET PRIVACY DOMAIN IN ('Oslo', 'Rome', NULL)",
        "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 99999",
    ]
)


def parts(sql: str) -> list[Part]:
    return [*plan_of(WORLD, sql).parts]


def test_null_is_no_candidate_and_the_rows_of_a_unit_pay_one_by_one():
    [part] = parts("SELECT mode() WITHIN GROUP (ORDER BY city) FROM people")
    assert part.noise == f"exponential mode values=2 nano={part.loss.nano // 3}"
    assert part.factor == 3


def test_too_many_values_in_all_groups_are_refused():
    with pytest.raises(TooComplex, match="declared keys, more than"):
        parts("SELECT city, mode() WITHIN GROUP (ORDER BY age) FROM people GROUP BY city")


def test_a_value_that_nobody_declared_is_no_candidate():
    with pytest.raises(BoundsMissing):
        parts("SELECT mode() WITHIN GROUP (ORDER BY sqrt(age)) FROM people")


def test_of_no_rows_it_is_null_and_costs_nothing():
    plan = plan_of(WORLD, "SELECT mode() WITHIN GROUP (ORDER BY city) FROM people WHERE FALSE")
    assert [part.vacuous for part in plan.parts] == [True]
    assert answered(WORLD, "SELECT mode() WITHIN GROUP (ORDER BY city) FROM people WHERE FALSE") == [(None,)]
