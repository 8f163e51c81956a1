"""Keys of what an earlier stage released; what is answered is in tests/golden/two_stages.test."""

import pytest

from tests.golden.world import World, plan_of

TOP = "(SELECT city FROM people GROUP BY city ORDER BY count(*) DESC LIMIT 2) t"


def keys_of(world: World, sql: str) -> list[tuple[object, ...]]:
    [keys] = plan_of(world, sql).parts[-1].keys
    return list(keys.rows)


def declared(world: World) -> list[object]:
    return [value for (value,) in keys_of(world, "SELECT city, count(*) FROM people GROUP BY city")]


@pytest.mark.parametrize("join", ["t.city = p.city", "p.city = t.city AND p.age > 3"])
def test_a_released_column_is_that_of_the_rows_or_null(world: World, join: str):
    found = keys_of(world, f"SELECT t.city, count(*) FROM people p LEFT JOIN {TOP} ON {join} GROUP BY t.city")
    assert [value for (value,) in found] == list(dict.fromkeys([*declared(world), None]))


@pytest.mark.parametrize(
    "key",
    [
        "coalesce(t.city, 'other')",
        "CASE WHEN t.city IS NOT NULL THEN p.city ELSE 'other' END",
        "CASE WHEN t.city IS NULL THEN 'other' ELSE p.city END",
    ],
)
def test_what_was_not_released_is_left_out(world: World, key: str):
    sql = f"SELECT {key}, count(*) FROM people p LEFT JOIN {TOP} ON t.city = p.city GROUP BY 1"
    plan = plan_of(world, sql)
    assert "IN (SELECT" in plan.answer.partition("WHERE")[2]
    found = {value for (value,) in plan.parts[-1].keys[0].rows}
    assert {"Oslo", "Rome", "other"} <= found <= {*declared(world), "other"}


def test_an_expression_of_other_columns_has_all_its_keys(world: World):
    key = "CASE WHEN t.city IS NOT NULL AND p.age > 3 THEN p.city ELSE p.city || '!' END"
    sql = f"SELECT {key}, count(*) FROM people p LEFT JOIN {TOP} ON t.city = p.city GROUP BY 1"
    assert "IN (SELECT" not in plan_of(world, sql).answer
