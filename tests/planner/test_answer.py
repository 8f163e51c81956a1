import pytest

from dpproxy.values.errors import AmbiguousColumn, InvalidParameter, Refusal, Unsupported
from tests.golden.world import World, plan_of


def answer(world: World, sql: str, **options: str) -> str:
    return plan_of(world, sql, options).answer


def test_ties_keep_the_declared_order(world: World):
    sql = answer(world, "SELECT city, count(*) FROM people GROUP BY city ORDER BY 2 DESC")
    assert sql.endswith('ORDER BY "r0"."m0" DESC NULLS FIRST, "r0"."o" ASC')


@pytest.mark.parametrize(
    ("sql", "end"),
    [
        ("ORDER BY n", 'ORDER BY "r0"."m0" ASC, "r0"."o" ASC'),
        ("ORDER BY count(*) + 1 NULLS FIRST", 'NULLS FIRST, "r0"."o" ASC'),
        ("ORDER BY city DESC NULLS LAST", 'ORDER BY "r0"."k0" DESC, "r0"."o" ASC'),
        ("LIMIT 5 OFFSET 2", "LIMIT 5 OFFSET 2"),
        ("HAVING count(*) > 3", 'WHERE ("r0"."m0" > 3) ORDER BY "r0"."o" ASC'),
    ],
)
def test_clauses_over_released_values(world: World, sql: str, end: str):
    assert answer(world, f"SELECT city, count(*) AS n FROM people GROUP BY city {sql}").endswith(end)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT sum(age) AS x, count(*) AS x FROM people ORDER BY x", AmbiguousColumn),
        ("SELECT count(*) FROM people LIMIT 1.5", Unsupported),
        ("SELECT count(*) FROM people LIMIT count(*)", Unsupported),
        ("SELECT count(*) FROM people OFFSET -1", InvalidParameter),
        ("SELECT count(*) FROM people LIMIT 9223372036854775808", InvalidParameter),
    ],
)
def test_refused(world: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        answer(world, sql)


def test_one_name_for_one_value_is_not_ambiguous(world: World):
    assert answer(world, "SELECT count(*) AS x, count(*) AS x FROM people ORDER BY x")


def test_counts_are_floored_only_where_they_stand_alone(world: World):
    plan = plan_of(world, "SELECT count(*), (count(age)), count(*) - 1, sum(age) FROM people")
    assert [o.floor for o in plan.outputs] == [0, 0, None, None]
    unclamped = plan_of(world, "SELECT count(*) FROM people", {"dp.clamp": "off"})
    assert unclamped.outputs[0].floor is None


def test_intervals_come_as_columns_after_the_others(world: World):
    plan = plan_of(
        world,
        "SELECT city, count(*) AS n, sum(age) + 1 FROM people GROUP BY city",
        {"dp.intervals": "columns"},
    )
    names = [o.column.name for o in plan.outputs]
    assert names == ["city", "n", "?column?", "n_ci_low", "n_ci_high", "?column?_ci_low", "?column?_ci_high"]


def test_only_aggregates_have_an_error_of_their_own(world: World):
    plan = plan_of(world, "SELECT city, count(*), count(*) * 2 FROM people GROUP BY city")
    assert [o.error is None for o in plan.outputs] == [True, False, True]
