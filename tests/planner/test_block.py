"""What is released of rows; what each statement becomes stands in ``tests/golden``."""

import pytest

from dpproxy.values.errors import NotGranted, TooComplex
from tests.golden.world import World, plan_of


def test_a_part_holds_what_is_paid_for(world: World):
    sql = "SELECT ward, count(*), sum(hours) FROM visits GROUP BY ward"
    [part] = plan_of(world, sql, {"dp.epsilon": "0.6"}).parts
    assert part.mechanism is not None
    assert part.loss.nano == 600_000_000
    assert (part.groups, part.measures, part.truncated, part.vacuous) == (3, 2, True, False)


def test_measures_are_sorted_so_that_their_order_is_no_new_question(world: World):
    [one] = plan_of(world, "SELECT count(*), sum(age) FROM people").parts
    [other] = plan_of(world, "SELECT sum(age), count(*) FROM people").parts
    assert (one.exact, one.mechanism, one.release) == (other.exact, other.mechanism, other.release)


def test_order_statistics_are_parts_of_their_own(world: World):
    parts = plan_of(world, "SELECT count(*), max(age), min(age) FROM people").parts
    assert [p.mechanism is None for p in parts] == [False, True, True]
    assert sum(p.loss.nano for p in parts) <= 10**9


def test_each_grouping_set_is_a_part(world: World):
    plan = plan_of(world, "SELECT ward, count(*) FROM visits GROUP BY ROLLUP (ward)")
    assert [p.groups for p in plan.parts] == [3, 1]
    assert plan.answer.endswith('ORDER BY "s0" ASC, "s1" ASC')


def test_intervals_are_for_what_is_shown_only(world: World):
    shown = {"dp.intervals": "columns"}
    inner = "SELECT city, count(*) AS n FROM people GROUP BY city"
    names = ["city", "n", "n_ci_low", "n_ci_high"]
    assert [o.column.name for o in plan_of(world, inner, shown).outputs] == names
    outer = plan_of(world, f"SELECT * FROM ({inner}) AS t", shown)
    assert [o.column.name for o in outer.outputs] == names


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM people", "SELECT people.*, count(*) FROM people", "SELECT p.* FROM people p"]
)
def test_rows_are_not_shown(world: World, sql: str):
    with pytest.raises(NotGranted) as error:
        plan_of(world, sql)
    assert error.value.hint == "SELECT count(*) FROM people;"


def test_too_many_different_aggregates_are_refused(world: World):
    calls = ", ".join(f"sum(age + {n})" for n in range(2000))
    with pytest.raises(TooComplex):
        plan_of(world, f"SELECT {calls} FROM people")


@pytest.mark.parametrize("epsilon", ["0.001", "1000000"])
def test_the_ends_of_epsilon(world: World, epsilon: str):
    [part] = plan_of(world, "SELECT avg(age), count(*) FROM people", {"dp.epsilon": epsilon}).parts
    assert part.mechanism is not None
