from math import degrees

import pytest

from dpproxy.planner.accept import accept, parse
from dpproxy.planner.keys.grouping import aggregate_nodes
from dpproxy.values.errors import (
    BoundsMissing,
    GroupingError,
    Refusal,
    SyntaxRefused,
    TooComplex,
    Unsupported,
)
from tests.golden.world import World, build, plan_of
from tests.planner.answers import answered, shape


def keys(world: World, sql: str) -> list[tuple[object, ...]]:
    [part] = plan_of(world, sql).parts
    return [tuple(value for (value,) in one.rows) for one in part.keys]


def test_keys_stand_in_the_order_of_group_by_each_once(world: World):
    cities, wards = ("Oslo", "Rome", None), ("A", "B", "C")
    assert keys(world, "SELECT count(*) FROM people GROUP BY city, people.city, (city)") == [cities]
    assert keys(world, "SELECT count(*), ward AS w FROM visits GROUP BY w, hours") == [
        wards,
        tuple(range(25)),
    ]
    assert keys(world, "SELECT DISTINCT city FROM people") == [cities]


def test_a_constant_double_as_a_key_is_shown_with_all_its_digits(world: World):
    d = degrees(2)
    for key, shown in (
        ("degrees(2::float8)", "float8"),
        ("2.0::float8 / 3", "float8"),
        ("1.5::float8", "float8"),
    ):
        sql = f"SELECT {key} AS d, count(*) FROM people GROUP BY d HAVING {key} > 0 ORDER BY d"
        assert [kind for _, kind in shape(world, sql)] == [shown, "int8"]
        [(value, _)] = answered(world, sql)
        assert value == {"degrees(2::float8)": d, "2.0::float8 / 3": 2 / 3, "1.5::float8": 1.5}[key]
    sets = "SELECT degrees(2::float8) AS d, ward, count(*) FROM visits GROUP BY ROLLUP (1, 2)"
    assert [row[:2] for row in answered(world, sets)] == [*((d, w) for w in "ABC"), (d, None), (None, None)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT d, count(*) FROM (SELECT degrees(2::float8) AS d, id FROM people) AS t GROUP BY d",
        "SELECT d, count(*) FROM (SELECT age * 0.1::float8 AS d, id FROM people) AS t GROUP BY d",
        "SELECT mode() WITHIN GROUP (ORDER BY degrees(2::float8)) FROM people",
    ],
)
def test_doubles_that_a_column_holds_are_not_taken_for_steps(world: World, sql: str):
    with pytest.raises(BoundsMissing):
        plan_of(world, sql)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT count(*) FROM people GROUP BY height", BoundsMissing),
        ("SELECT count(*) FROM people GROUP BY pay", BoundsMissing),
        ("SELECT count(*) FROM people GROUP BY ROLLUP (height)", BoundsMissing),
        ("SELECT count(*) FROM people GROUP BY 2", SyntaxRefused),
        ("SELECT count(*) FROM people GROUP BY count(*)", GroupingError),
        ("SELECT count(*) AS n FROM people GROUP BY n", GroupingError),
    ],
)
def test_refused(world: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_of(world, sql)


def test_too_many_combinations_are_refused():
    world = build([
        "CREATE TABLE t (a INTEGER, b INTEGER)", "ALTER TABLE t SET PRIVACY KEY ROW",
        "ALTER TABLE t ALTER COLUMN a SET PRIVACY DOMAIN BETWEEN 1 AND 400",
        "ALTER TABLE t ALTER COLUMN b SET PRIVACY DOMAIN BETWEEN 1 AND 251",
    ])  # fmt: skip
    with pytest.raises(TooComplex, match="100400 declared keys"):
        plan_of(world, "SELECT count(*) FROM t GROUP BY a, b")


def test_a_call_that_is_written_twice_is_one():
    select = accept(parse("SELECT count(*), 1 + count(*), sum(x) FROM t HAVING avg(x) > 1 ORDER BY sum(x)"))
    assert [n.sql() for n in aggregate_nodes(select)] == ["COUNT(*)", "SUM(x)", "AVG(x)"]


def test_calls_are_not_nested():
    with pytest.raises(GroupingError):
        aggregate_nodes(accept(parse("SELECT sum(1 + count(*)) FROM t")))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT city, age FROM people GROUP BY city, age",
        "SELECT DISTINCT age AS a, count(*), city FROM people AS p GROUP BY 3, a ORDER BY city, 2, count(*), a",
        "SELECT DISTINCT city, city FROM people GROUP BY (city, city) HAVING count(*) > 3 LIMIT 1",
        "SELECT DISTINCT lower(city) FROM people GROUP BY lower(city)",
        "SELECT DISTINCT v.ward FROM people AS p JOIN visits AS v ON p.id = v.patient GROUP BY ward",
        "SELECT avg(n) FROM (SELECT DISTINCT id, count(*) AS n FROM people GROUP BY id) AS t",
        "SELECT n, count(*) FROM (SELECT DISTINCT city, count(*) AS n FROM people GROUP BY city) AS t GROUP BY n",
    ],
)
def test_distinct_beside_every_key_says_nothing(world: World, query: str):
    assert plan_of(world, query) == plan_of(world, query.replace("DISTINCT ", ""))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT city FROM people GROUP BY city, age",
        "SELECT DISTINCT count(*) FROM people GROUP BY city",
        "SELECT DISTINCT lower(city) FROM people GROUP BY city",
        "SELECT DISTINCT city FROM people GROUP BY ROLLUP (city)",
        "SELECT DISTINCT city FROM people GROUP BY GROUPING SETS ((city), (city))",
        "SELECT DISTINCT city, age FROM people GROUP BY city, CUBE (age)",
        "SELECT DISTINCT ON (city) city FROM people GROUP BY city",
        "SELECT count(*) FROM (SELECT DISTINCT city FROM people GROUP BY id, city) AS t",
    ],
)
def test_distinct_that_could_join_rows_is_refused(world: World, query: str):
    with pytest.raises(Unsupported, match="DISTINCT is answered"):
        plan_of(world, query)


@pytest.mark.parametrize(
    "key",
    [
        "p.age IN (SELECT size FROM cities)",
        "CASE WHEN p.age IN (SELECT size FROM cities) THEN 1 ELSE 0 END",
        "EXISTS (SELECT 1 FROM cities AS k WHERE k.city = p.city)",
        "p.id IN (SELECT patient FROM visits)",
        "CASE WHEN p.age > (SELECT max(size) FROM cities) THEN 1 END",
    ],
)
@pytest.mark.parametrize(
    "source", ["people AS p", "people AS p JOIN cities AS c ON c.city = p.city", "people AS p, cities AS c"]
)
def test_what_a_subquery_is_asked_is_a_key_of_two(world: World, key: str, source: str):
    [part] = plan_of(world, f"SELECT {key}, count(*) FROM {source} GROUP BY 1").parts
    [keys] = part.keys
    assert {row[0] for row in keys.rows} in ({True, False}, {True, False, None}, {1, 0}, {1, None})


def test_a_value_of_a_subquery_is_no_key(world: World):
    with pytest.raises(Unsupported, match="a subquery is no key") as error:
        plan_of(world, "SELECT (SELECT max(size) FROM cities), count(*) FROM people AS p GROUP BY 1")
    assert error.value.position is not None


def test_distinct_is_ordered_by_what_it_lists(world: World):
    query = "SELECT DISTINCT city FROM people GROUP BY city ORDER BY count(*)"
    with pytest.raises(SyntaxRefused, match="must appear in select list") as error:
        plan_of(world, query)
    assert error.value.position == query.index("count")
