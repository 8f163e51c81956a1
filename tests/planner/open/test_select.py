"""A SELECT over open relations; ``tests/golden/test_outer.py`` compares random ones with the engine."""

import pytest

from dpproxy.algebra import printing
from dpproxy.algebra.plan import PublicPlan
from dpproxy.values.errors import (
    GroupingError,
    Refusal,
    SyntaxRefused,
    TooComplex,
    TypeMismatch,
    UndefinedColumn,
)
from tests.golden.world import World, plan_any, plan_of
from tests.planner.answers import answered, shape

T = "WITH t AS (SELECT city, count(*) AS n, avg(age) AS a FROM people GROUP BY city) "


def test_public_rows_are_shown_as_they_are(world: World):
    sql = "SELECT *, size * 2 AS twice FROM cities WHERE size > 3 ORDER BY size DESC LIMIT 1"
    plan = plan_any(world, sql)
    assert isinstance(plan, PublicPlan)
    assert 'FROM "cities"' in printing.text(plan.query)
    assert shape(world, sql) == [("city", "text"), ("size", "int4"), ("twice", "int4")]
    assert answered(world, sql) == [("Rome", 7, 14)]


def test_without_from(world: World):
    assert answered(world, "SELECT 1 AS a, 'x' AS b") == [(1, "x")]
    with pytest.raises(SyntaxRefused):
        plan_any(world, "SELECT *")


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT n FROM t", [("n", "int8")]),
        ("SELECT n + 1, n AS m, t.* FROM t",
         [("?column?", "int8"), ("m", "int8"), ("city", "text"), ("n", "int8"), ("a", "numeric")]),
        ("SELECT CASE WHEN n > 1 THEN 1 ELSE n END, CASE WHEN n > 1 THEN 1 END FROM t",
         [("n", "int8"), ("case", "int4")]),
        ("SELECT coalesce(n, 0), date_trunc('month', date '2020-01-31'), upper(city) FROM t",
         [("coalesce", "int8"), ("date_trunc", "timestamp"), ("upper", "text")]),
        ("SELECT rank() OVER (ORDER BY n), sum(n) OVER (), mod(n, 2), n % 2, power(n, 2) FROM t",
         [("rank", "int8"), ("sum", "numeric"), ("mod", "int8"), ("?column?", "int8"), ("power", "float8")]),
        ("SELECT NULL, 'a' FROM t", [("?column?", "text"), ("?column?", "text")]),
    ],
)  # fmt: skip
def test_names_and_types_are_postgresql_s(world: World, sql: str, names: list[tuple[str, str]]):
    assert shape(world, T + sql) == names


def test_only_a_count_passed_on_as_it_is_is_shown_from_zero(world: World):
    plan = plan_of(world, T + "SELECT n, n + 0 AS m, city FROM t WHERE n < 0 ORDER BY n")
    assert [o.floor for o in plan.outputs] == [0, None, None]
    assert 'WHERE ("q"."c1" < 0)' in plan.answer
    assert [o.floor for o in plan_of(world, T + "SELECT n FROM t", {"dp.clamp": "off"}).outputs] == [None]


def test_the_error_of_a_column_goes_with_it(world: World):
    plan = plan_of(world, T + "SELECT n, a, n * 2 AS m FROM t")
    assert [o.error is not None for o in plan.outputs] == [True, True, False]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT DISTINCT size > 1 FROM cities", [(True,)]),
        ("SELECT DISTINCT city FROM cities ORDER BY city DESC", [("Rome",), ("Oslo",)]),
        ("SELECT DISTINCT ON (size > 1) city FROM cities ORDER BY size > 1, size DESC", [("Rome",)]),
        ("SELECT 5 AS a, city FROM cities ORDER BY a, 2 DESC", [(5, "Rome"), (5, "Oslo")]),
        ("SELECT size AS city FROM cities ORDER BY city DESC", [(7,), (3,)]),
        ("SELECT city FROM cities ORDER BY size + 1 DESC LIMIT 1 OFFSET 1", [("Oslo",)]),
        ("SELECT c.city FROM cities AS c (city, s) WHERE s = 3", [("Oslo",)]),
    ],
)
def test_clauses(world: World, sql: str, rows: list[tuple[object, ...]]):
    assert answered(world, sql) == rows


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT nothing FROM cities", UndefinedColumn),
        ("SELECT city FROM cities WHERE count(*) > 1", GroupingError),
        ("SELECT city, count(*) FROM cities", GroupingError),
        ("SELECT sum(city) FROM cities", TypeMismatch),
        ("SELECT DISTINCT city FROM cities ORDER BY size", SyntaxRefused),
        ("SELECT DISTINCT ON (size) city FROM cities ORDER BY city", SyntaxRefused),
        ("SELECT city FROM cities WHERE size", TypeMismatch),
        ("SELECT city FROM cities LIMIT -1", Refusal),
        ("SELECT city FROM cities QUALIFY rank() OVER (ORDER BY size) = 1", Refusal),
    ],
)
def test_refused(world: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_any(world, sql)


def test_an_answer_that_would_not_fit_is_refused_whatever_it_reads(world: World):
    wide = ", ".join(f"'{'x' * 900}{n}' AS c{n}" for n in range(9))
    ages = "SELECT age, city, count(*) AS n FROM people GROUP BY age, city"
    with pytest.raises(TooComplex, match="the answer would have"):
        plan_any(world, f"SELECT x.*, {wide} FROM ({ages}) AS x, ({ages}) AS y")
    narrow = f"SELECT count(*) FROM (SELECT x.*, {wide} FROM ({ages}) AS x) AS z"
    assert plan_any(world, narrow)
    assert plan_any(world, f"SELECT x.*, {wide} FROM ({ages}) AS x, ({ages}) AS y LIMIT 10")
