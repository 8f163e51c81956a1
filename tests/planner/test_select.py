"""The order of the rules; what each statement becomes stands in ``tests/golden``."""

import pytest

from dpproxy.errors import NotGranted, Refusal, TooComplex
from dpproxy.plan import PublicPlan
from tests.golden.world import World, plan_any, plan_of


def test_a_plan_holds_what_is_paid_for(world: World):
    plan = plan_of(
        world, "SELECT ward, count(*), sum(hours) FROM visits GROUP BY ward", {"dp.epsilon": "0.6"}
    )
    assert plan.mechanism is not None
    assert plan.loss.nano == 600_000_000
    assert plan.factor * plan.mechanism.nano <= plan.loss.nano
    assert plan.unit == "one patient of visits, at most 6 rows"
    assert plan.label == "count(*), sum(hours) by ward on visits"
    assert (plan.groups, plan.truncated, plan.free) == (3, True, False)
    assert plan.payer.ceiling == "people"
    assert (plan.policy_version, plan.data_version) == (world.policy.version, world.policy.data_version)


def test_measures_are_sorted_so_that_their_order_is_no_new_question(world: World):
    one = plan_of(world, "SELECT count(*), sum(age) FROM people")
    other = plan_of(world, "SELECT sum(age), count(*) FROM people")
    assert (one.exact, one.mechanism, one.release) == (other.exact, other.mechanism, other.release)


def test_no_rows_no_price(world: World):
    plan = plan_of(world, "SELECT city, count(*) FROM people GROUP BY city LIMIT 0")
    assert plan.empty
    assert plan.free


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM people", "SELECT people.*, count(*) FROM people", "SELECT p.* FROM people p"]
)
def test_rows_are_not_shown(world: World, sql: str):
    with pytest.raises(NotGranted) as error:
        plan_of(world, sql)
    assert error.value.hint == "SELECT count(*) FROM people;"
    assert error.value.position is not None


def test_public_tables_take_another_way(world: World):
    assert isinstance(plan_any(world, "SELECT * FROM cities"), PublicPlan)


def test_too_many_different_aggregates_are_refused(world: World):
    calls = ", ".join(f"sum(age + {n})" for n in range(2000))
    with pytest.raises(TooComplex):
        plan_of(world, f"SELECT {calls} FROM people")


@pytest.mark.parametrize("epsilon", ["0.001", "1000000"])
def test_the_ends_of_epsilon(world: World, epsilon: str):
    assert plan_of(world, "SELECT avg(age), count(*) FROM people", {"dp.epsilon": epsilon}).mechanism


def test_a_refusal_comes_before_anything_is_planned(world: World):
    for sql in ("SELECT count(*) FROM nothing WHERE nothing", "SELECT 1 FROM people, visits"):
        with pytest.raises(Refusal):
            plan_of(world, sql)
