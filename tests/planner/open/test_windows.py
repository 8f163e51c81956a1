from decimal import Decimal

import pytest

from dpproxy.values.errors import GroupingError, NotGranted, Refusal, UnitLost, Unsupported, WindowMisplaced
from tests.golden.world import World, plan_any, plan_of
from tests.planner.answers import answered, shape

V = "(VALUES (1, 10), (2, 20), (4, 40)) AS v (x, n)"


@pytest.mark.parametrize(
    ("call", "kind", "values"),
    [
        ("sum(n) OVER (ORDER BY x)", "int8", [10, 30, 70]),
        ("avg(n) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", "numeric",
         [Decimal(10), Decimal(15), Decimal(30)]),
        ("sum(n) OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)", "int8", [10, 30, 40]),
        ("count(*) FILTER (WHERE n > 10) OVER ()", "int8", [2, 2, 2]),
        ("n * 100 / sum(n) OVER ()", "int8", [14, 28, 57]),
        ("max(n) OVER w - min(n) OVER w", "int4", [0, 10, 20]),
    ],
)  # fmt: skip
def test_over_open_rows(world: World, call: str, kind: str, values: list[object]):
    sql = f"SELECT {call} FROM {V} WINDOW w AS (ORDER BY x ROWS 1 PRECEDING) ORDER BY x"
    assert shape(world, sql)[0][1] == kind
    assert [row[0] for row in answered(world, sql)] == values


def test_over_released_values_in_the_same_select(world: World):
    plan = plan_of(world, "SELECT ward, count(*) * 100.0 / sum(count(*)) OVER () FROM visits GROUP BY ward")
    assert 'SUM(CAST("r0"."m0" AS INT128)) OVER ()' in plan.answer
    assert [p.measures for p in plan.parts] == [1]


def test_having_comes_before(world: World):
    sql = "SELECT city, rank() OVER (ORDER BY city) FROM cities GROUP BY city HAVING max(size) > 3"
    assert answered(world, sql) == [("Rome", 1)]


def test_functions_behind_their_schema(world: World):
    assert answered(world, "SELECT pg_catalog.row_number() OVER () FROM cities") == [(1,), (2,)]
    assert answered(world, "SELECT pg_catalog.min(size) OVER () FROM cities") == [(3,), (3,)]
    ranked = (
        "SELECT t.*, {0}rank() OVER (ORDER BY n) FROM "
        "(SELECT city, {0}count(*) FILTER (WHERE {0}abs(age) > 3) AS n FROM people GROUP BY city) AS t"
    )
    assert plan_of(world, ranked.format("pg_catalog.")) == plan_of(world, ranked.format(""))


def test_a_function_of_schema_dp_is_no_window_function(world: World):
    with pytest.raises(Unsupported, match="OVER is for"):
        plan_any(world, "SELECT dp.ci_low(count(*)) OVER () FROM people")


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT sum(age) OVER () FROM people", NotGranted),
        ("SELECT count(*) FROM people WHERE rank() OVER (ORDER BY age) = 1", Unsupported),
        ("SELECT city, sum(age) OVER () FROM people GROUP BY city", NotGranted),
        (
            "SELECT city, count(*) FROM people GROUP BY city HAVING rank() OVER (ORDER BY city) = 1",
            WindowMisplaced,
        ),
        ("SELECT rank() FILTER (WHERE true) OVER (ORDER BY size) FROM cities", Unsupported),
        ("SELECT sum(count(*)) OVER () FROM cities GROUP BY size HAVING sum(sum(size)) > 1", GroupingError),
        ("SELECT r FROM (SELECT age, row_number() OVER (ORDER BY age) AS r FROM people) AS t", UnitLost),
    ],
)
def test_refused(world: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_any(world, sql)
