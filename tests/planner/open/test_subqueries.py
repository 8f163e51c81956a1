import pytest

from dpproxy.values.errors import NotGranted, Refusal, SyntaxRefused, UndefinedColumn, UnitLost, Unsupported
from tests.golden.world import World, plan_any, plan_of
from tests.planner.answers import answered, shape


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT city FROM cities WHERE size > (SELECT avg(size) FROM cities)", [("Rome",)]),
        ("SELECT city FROM cities WHERE city IN (SELECT city FROM cities WHERE size < 5)", [("Oslo",)]),
        ("SELECT city FROM cities WHERE size NOT IN (SELECT 3.0)", [("Rome",)]),
        ("SELECT city FROM cities WHERE size NOT IN (SELECT CAST(NULL AS integer))", []),
        ("SELECT city FROM cities c WHERE EXISTS (SELECT 1 FROM cities d WHERE d.size < c.size)", [("Rome",)]),
        ("SELECT city, (SELECT max(size) FROM cities d WHERE d.city = c.city) + 1 FROM cities c ORDER BY 1",
         [("Oslo", 4), ("Rome", 8)]),
        ("SELECT city, (SELECT count(*) FROM cities d WHERE d.city <> c.city) FROM cities c GROUP BY city ORDER BY 1",
         [("Oslo", 1), ("Rome", 1)]),
        ("SELECT (SELECT (SELECT x FROM (SELECT 2 AS y) b WHERE b.y = a.y) FROM (SELECT 2 y) a) FROM (SELECT 1 x) o",
         [(1,)]),
    ],
)  # fmt: skip
def test_over_public_tables(world: World, sql: str, rows: list[tuple[object, ...]]):
    assert answered(world, sql) == rows


@pytest.mark.parametrize(
    ("sql", "parts"),
    [
        ("SELECT count(*) * 1.0 / (SELECT count(*) FROM people) FROM visits", 2),
        ("SELECT city FROM people GROUP BY city HAVING count(*) > (SELECT count(*) FROM people) / 2", 2),
        ("SELECT city, (SELECT size FROM cities c WHERE c.city = people.city) FROM people GROUP BY city", 1),
        ("SELECT city FROM cities WHERE size > (SELECT count(*) FROM people)", 1),
        ("SELECT city FROM cities WHERE city IN (SELECT city FROM people GROUP BY city HAVING count(*) > 3)", 1),
        ("WITH t AS (SELECT age, count(*) n FROM people GROUP BY age) SELECT n FROM t WHERE n > (SELECT max(n) FROM t)",
         1),
        ("SELECT (SELECT count(*) FROM people), (SELECT avg(age) FROM people)", 2),
        ("WITH t AS (SELECT age, count(*) n FROM people GROUP BY 1) SELECT x.n - (SELECT max(n) FROM t) FROM t x, t y",
         1),
        ("WITH t AS (SELECT count(*) n FROM people) SELECT 1 FROM t x JOIN t y ON x.n = (SELECT max(n) FROM t)", 1),
    ],
)  # fmt: skip
def test_over_released_values(world: World, sql: str, parts: int):
    assert len(plan_of(world, sql).parts) == parts
    answered(world, sql)


def test_a_single_value_has_the_name_of_its_column(world: World):
    sql = "SELECT (SELECT max(size) AS top FROM cities), (SELECT count(*) FROM people), EXISTS (SELECT 1)"
    assert shape(world, sql) == [("top", "int4"), ("count", "int8"), ("exists", "bool")]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT city FROM cities WHERE EXISTS (SELECT 1 FROM people)", UnitLost),
        ("SELECT city FROM cities WHERE city IN (SELECT city FROM people)", UnitLost),
        ("SELECT city, (SELECT count(*) FROM people p WHERE p.city > c.city) FROM cities c", Unsupported),
        ("SELECT (SELECT age FROM people LIMIT 1)", Refusal),
        ("SELECT (SELECT city, size FROM cities)", SyntaxRefused),
        ("SELECT city FROM cities WHERE size IN (SELECT city, size FROM cities)", SyntaxRefused),
        ("SELECT city FROM cities WHERE (city, size) IN (SELECT city, size FROM cities)", Unsupported),
        ("SELECT city FROM cities WHERE size IN (SELECT city FROM cities)", Refusal),
        ("SELECT (SELECT nothing FROM cities)", UndefinedColumn),
        ("SELECT city, (SELECT max(size) FROM cities c WHERE c.size = p.age) FROM people p GROUP BY city", NotGranted),
        ("SELECT count(*) FROM (SELECT 1 AS x) AS a, (SELECT a.x) AS b", Refusal),
    ],
)  # fmt: skip
def test_refused(world: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_any(world, sql)


@pytest.mark.parametrize(
    ("sql", "is_known"),
    [
        ("SELECT city, (SELECT max(n) FROM t) FROM cities", True),
        ("SELECT x.n - (SELECT max(n) FROM t) FROM t x, t y", False),
    ],
)
def test_the_error_of_a_released_value_in_a_subquery_is_not_none(world: World, sql: str, *, is_known: bool):
    plan = plan_of(world, "WITH t AS (SELECT age, count(*) AS n FROM people GROUP BY age) " + sql)
    accuracy = plan.outputs[-1].accuracy
    assert accuracy is not None
    assert (accuracy.half is not None) is is_known


_RELEASED = "(SELECT city, count(*) AS n FROM people GROUP BY city) AS q"


@pytest.mark.parametrize("source", [_RELEASED, "(SELECT city, size AS n FROM cities) AS q"])
@pytest.mark.parametrize(
    ("listed", "rest", "state"),
    [
        ("l.c", ", LATERAL (SELECT sum(q.n) AS c) AS l", "42803"),
        ("l.c", ", LATERAL (SELECT max(q.n) AS c FROM cities) AS l", "42803"),
        ("(SELECT max(q.n))", "", "0A000"),
        ("(SELECT count(*) FILTER (WHERE q.n > 2) FROM cities)", "", "0A000"),
        ("1", "WHERE EXISTS (SELECT 1 FROM cities HAVING max(q.n) > 3)", "0A000"),
    ],
)
def test_an_aggregate_of_the_query_around_is_refused_before_it_is_charged(
    world: World, source: str, listed: str, rest: str, state: str
):
    with pytest.raises(Refusal) as refused:
        plan_any(world, f"SELECT {listed} FROM {source} {rest}")
    assert refused.value.sqlstate == state
    assert refused.value.hint


def test_an_aggregate_of_both_is_of_the_subquery(world: World):
    assert answered(world, "SELECT (SELECT max(d.size - c.size) FROM cities d) FROM cities c ORDER BY 1") == [
        (0,),
        (4,),
    ]
