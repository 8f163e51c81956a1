from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest

from dpproxy.planner.explain import explain_text
from dpproxy.values.errors import Refusal, SyntaxRefused, TypeMismatch, UndefinedColumn, Unsupported
from tests.golden.world import World, plan_any, plan_of
from tests.planner.answers import answered, shape


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 1 UNION SELECT 1 UNION ALL SELECT 2 ORDER BY 1", [(1,), (2,)]),
        ("SELECT 1 UNION ALL (SELECT 3 UNION ALL SELECT 2 ORDER BY 1 LIMIT 1) ORDER BY 1 DESC", [(2,), (1,)]),
        ("SELECT city FROM cities EXCEPT SELECT 'Oslo'", [("Rome",)]),
        ("SELECT size FROM cities INTERSECT SELECT 3.0", [(Decimal(3),)]),
        ("VALUES (1), (1) EXCEPT ALL VALUES (1)", [(1,)]),
        ("SELECT 1.25 UNION ALL SELECT size FROM cities ORDER BY 1",
         [(Decimal("1.25"),), (Decimal("3.00"),), (Decimal("7.00"),)]),
        ("SELECT NULL, 'a' UNION ALL SELECT 2, city FROM cities ORDER BY 1, 2 LIMIT 1", [(2, "Oslo")]),
        ("(SELECT city FROM cities) ORDER BY city DESC LIMIT 1 OFFSET 1", [("Oslo",)]),
        ("SELECT '2020-01-31' UNION ALL SELECT date '2020-01-31' + 1 ORDER BY 1 DESC LIMIT 1", [(date(2020, 2, 1),)]),
    ],
)  # fmt: skip
def test_over_public_tables(world: World, sql: str, rows: list[tuple[object, ...]]):
    assert answered(world, sql) == rows


def test_names_come_from_the_first_and_types_from_both(world: World):
    sql = "SELECT city AS a, 1 AS n FROM cities UNION ALL SELECT NULL, sum(age) * 0.5 FROM people"
    assert shape(world, sql) == [("a", "text"), ("n", "numeric")]


def test_a_quoted_literal_takes_the_type_of_the_other_side(world: World):
    sql = "SELECT '2020-01-31' AS d UNION ALL SELECT date '2020-02-01'"
    assert shape(world, sql) == [("d", "date")]
    with pytest.raises(Refusal, match="invalid input syntax for type date"):
        plan_any(world, "SELECT 'soon' UNION ALL SELECT date '2020-02-01'")


def test_released_beside_public(world: World):
    sql = "SELECT city, count(*) FROM people GROUP BY city UNION ALL SELECT city, size FROM cities"
    plan = plan_of(world, sql)
    assert len(plan.publics) == 1
    assert len(answered(world, sql)) == 5


def test_a_count_beside_counts_is_shown_from_zero(world: World):
    for other, floor in (("SELECT count(*) FROM visits", 0), ("SELECT 5", 0), ("SELECT -5", None)):
        assert plan_of(world, f"SELECT count(*) FROM people UNION ALL {other}").outputs[0].floor == floor


def test_sides_of_one_error_have_it(world: World):
    side = "SELECT avg(age) AS a FROM (SELECT id, max(age) AS age FROM people GROUP BY id) q"
    [both] = plan_of(world, f"{side} UNION ALL {side}", {"dp.epsilon": "1"}).outputs
    [half] = plan_of(world, side, {"dp.epsilon": "0.5"}).outputs
    assert both.error is not None
    assert both.error == half.error


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT 1 UNION SELECT 1, 2", SyntaxRefused),
        ("SELECT 1 UNION SELECT city FROM cities", TypeMismatch),
        ("SELECT city FROM cities UNION SELECT city FROM cities ORDER BY lower(city)", Unsupported),
        ("SELECT city FROM cities UNION SELECT city FROM cities ORDER BY size", UndefinedColumn),
        ("SELECT 1 UNION SELECT 2 ORDER BY 3", SyntaxRefused),
    ],
)
def test_refused(world: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_any(world, sql)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT count(*) AS n FROM people UNION ALL SELECT sum(age) FROM people",
         "computed from released values, 95 % half-width "),
        ("SELECT city, count(*) AS n FROM people GROUP BY 1 UNION ALL SELECT city, avg(age) FROM people GROUP BY 1",
         "computed from released values, 95 % half-width that differs by row"),
        ("SELECT 5 AS n UNION ALL SELECT sum(age) FROM people", "sum(age), "),
        ("SELECT sum(age) AS n FROM people UNION ALL SELECT 5", "sum(age), "),
        ("SELECT count(*) AS n FROM people UNION ALL SELECT count(*) FROM visits UNION ALL SELECT sum(age) FROM people",
         "computed from released values, 95 % half-width "),
    ],
)  # fmt: skip
def test_the_error_is_that_of_both_sides(world: World, sql: str, said: str):
    plan = plan_of(world, sql)
    [line] = [line for line in explain_text(plan, Fraction(95, 100)) if line.startswith("  n: ")]
    assert line.startswith(f"  n: {said}")


def test_the_half_width_of_a_union_is_that_of_the_farther_side(world: World):
    sql = "SELECT {} AS n FROM people UNION ALL SELECT {} FROM people"
    both = [
        plan_of(world, sql.format(*sides)).outputs[0].accuracy
        for sides in (("count(*)", "sum(age)"), ("sum(age)", "count(*)"))
    ]
    assert both[0] is not None
    assert both[1] is not None
    assert both[0].half == both[1].half
