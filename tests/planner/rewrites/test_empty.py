import pytest

from dpproxy.planner.accept import accept, parse
from dpproxy.planner.rewrites.empty import has_no_rows, never_holds
from dpproxy.values.errors import Refusal
from tests.golden.world import World, plan_of


@pytest.mark.parametrize(
    ("end", "empty"), [("LIMIT 0", True), ("LIMIT 1", False), ("", False), ("LIMIT $1", False)]
)
def test_limit_0(end: str, empty: bool):  # noqa: FBT001
    assert has_no_rows(accept(parse(f"SELECT count(*) FROM t {end}"))) is empty


@pytest.mark.parametrize(
    ("condition", "never"),
    [
        ("false", True),
        ("(false)", True),
        ("1 = 0", True),
        ("0.5 = 1 AND age > 3", True),
        ("1 = 1.0", False),
        ("true", False),
        ("NOT true", False),
        ("age = 0", False),
        ("false OR true", False),
        ("1 > 2", False),
        ("'a' = 'b'", False),
    ],
)
def test_a_condition_that_is_false_as_it_is_written(condition: str, never: bool):  # noqa: FBT001
    assert never_holds(accept(parse(f"SELECT count(*) FROM t WHERE {condition}"))) is never


def test_columns_of_rows_are_told_without_rows(world: World):
    plan = plan_of(world, "SELECT *, age + 1 AS next, 'x' FROM people WHERE 1 = 0")
    assert plan.free
    assert plan.empty
    told = [(o.column.name, o.column.type.name) for o in plan.outputs]
    assert told == [
        ("id", "int4"), ("age", "int4"), ("pay", "numeric"), ("city", "text"), ("height", "float8"), ("next", "int4"),
        ("?column?", "text"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id + 1 FROM people LIMIT 0",
        "SELECT nothing FROM people LIMIT 0",
        "SELECT age FROM people WHERE nothing = 1 LIMIT 0",
        "SELECT city + 1 FROM people WHERE false",
    ],
)
def test_wrong_statements_stay_wrong(world: World, sql: str):
    with pytest.raises(Refusal):
        plan_of(world, sql)


def test_a_count_of_nothing_is_zero_and_free(world: World):
    plan = plan_of(world, "SELECT count(*), sum(age) FROM people WHERE false")
    assert plan.free
    assert [p.vacuous for p in plan.parts] == [True]
    assert not plan.empty
