import pytest

from dpproxy.planner.accept import accept, parse
from dpproxy.values.errors import UnitLost, Unsupported
from tests.golden.world import World, plan_any, plan_of
from tests.planner.answers import answered


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("FETCH FIRST 3 ROWS ONLY", "LIMIT 3"),
        ("FETCH NEXT ROW ONLY", "LIMIT 1"),
        ("FETCH FIRST $1 ROWS ONLY", "LIMIT $1"),
        ("OFFSET 2 ROWS FETCH NEXT 1 ROW ONLY", "LIMIT 1 OFFSET 2"),
        ("LIMIT ALL", ""),
        ("LIMIT NULL OFFSET NULL", ""),
        ("LIMIT ALL OFFSET 2 ROWS", "OFFSET 2"),
        ("FETCH FIRST (NULL) ROWS ONLY", ""),
    ],
)
@pytest.mark.parametrize(
    "query", ["SELECT x FROM t", "(SELECT x FROM t)", "SELECT x FROM t UNION SELECT x FROM u"]
)
def test_one_form(query: str, written: str, read: str):
    tree = parse(f"{query} {written}")
    assert tree == parse(f"{query} {read}")
    accept(tree)
    nested = parse(f"SELECT x FROM ({query} {written}) AS q")
    assert nested == parse(f"SELECT x FROM ({query} {read}) AS q")


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("FETCH FIRST 3 ROWS WITH TIES", "WITH TIES"),
        ("LIMIT 3 WITH TIES", "WITH TIES"),
        ("FETCH FIRST 3 PERCENT ROWS ONLY", "PERCENT"),
        ("LIMIT 3 PERCENT", "PERCENT"),
    ],
)
def test_what_is_not_answered(written: str, word: str):
    sql = f"SELECT x FROM t {written}"
    with pytest.raises(Unsupported, match=f"{word} is not supported") as error:
        parse(sql)
    assert error.value.position == sql.index("3")
    assert error.value.hint


def test_rows(world: World):
    assert answered(world, "SELECT city FROM cities ORDER BY 1 FETCH FIRST ROW ONLY") == [("Oslo",)]
    assert answered(world, "SELECT city FROM cities ORDER BY 1 OFFSET 1 ROW FETCH NEXT 5 ROWS ONLY") == [
        ("Rome",)
    ]
    assert len(answered(world, "SELECT city FROM cities LIMIT ALL OFFSET NULL")) == 2


def test_a_plan_is_that_of_limit(world: World):
    sql = "SELECT city, count(*) FROM people GROUP BY city ORDER BY 1 "
    assert plan_of(world, sql + "OFFSET 1 ROWS FETCH FIRST 1 ROWS ONLY") == plan_of(
        world, sql + "LIMIT 1 OFFSET 1"
    )
    assert plan_of(world, sql + "LIMIT ALL") == plan_of(world, sql)
    assert plan_of(world, "SELECT count(*) FROM people FETCH FIRST 0 ROWS ONLY").free


def test_protected_rows_are_not_cut(world: World):
    with pytest.raises(UnitLost, match="LIMIT of protected rows"):
        plan_any(world, "SELECT count(*) FROM (SELECT * FROM people FETCH FIRST 3 ROWS ONLY) AS t")
    plan_of(world, "SELECT count(*) FROM (SELECT * FROM people LIMIT ALL) AS t")
