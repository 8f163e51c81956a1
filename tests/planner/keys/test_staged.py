"""Keys of what an earlier stage released; what is answered is in tests/golden/two_stages.test."""

from datetime import date

import pytest

from dpproxy.planner.keys import staged
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


REST = "CASE WHEN {} NOT IN (SELECT {} FROM people GROUP BY 1 ORDER BY count(*) DESC LIMIT 2) THEN {} ELSE {} END"


def left_over(world: World, key: str, other: str) -> str:
    """What the answer stage asks of the keys that a list leaves over."""
    sql = f"SELECT {REST.format(key, key, key, other)}, count(*) FROM people GROUP BY 1"
    return plan_of(world, sql).answer.partition("WHERE")[2]


def test_what_a_list_leaves_over_is_computed_of_the_values_of_its_column(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    found = left_over(world, "city", "'top'")
    for value in ("'Oslo'", "'Rome'", "'Romex'", "NULL"):
        assert f"(CAST({value} AS TEXT))" in found
    monkeypatch.setattr(staged, "MOST_DECLARED", 1)
    assert not left_over(world, "city", "'top'")


def test_one_that_is_not_declared_stands_for_all_others():
    assert staged._other(["b", "bx", "a"]) == "bxx"
    assert staged._other([3, -7]) == -8
    assert staged._other([-(2**15)]) is None
    assert staged._other([date(2024, 2, 29), date(2024, 1, 1)]) == date(2024, 3, 1)
    assert staged._other([date.max]) is None
