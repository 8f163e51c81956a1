from decimal import Decimal

import pytest

from dpproxy.values.errors import Refusal, SyntaxRefused, TypeMismatch, UndefinedColumn
from tests.golden.world import World, plan_any, plan_of
from tests.planner.answers import answered, shape


def test_a_statement_of_its_own(world: World):
    sql = "VALUES (1, 'a'), (2.5, NULL) ORDER BY 1 DESC LIMIT 1"
    assert shape(world, sql) == [("column1", "numeric"), ("column2", "text")]
    assert answered(world, sql) == [(Decimal("2.5"), None)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x + 1, y FROM (VALUES (1, 'a'), (2, 'b')) AS v (x, y) ORDER BY x",
        "WITH v (x, y) AS (VALUES (1, 'a'), (2, 'b')) SELECT x + 1, y FROM v ORDER BY x",
    ],
)
def test_in_from(world: World, sql: str):
    assert answered(world, sql) == [(2, "a"), (3, "b")]


def test_beside_protected_rows(world: World):
    values = "(VALUES ('Oslo', 1), ('Rome', 2)) AS v (c, x)"
    sql = f"SELECT v.x, count(*) FROM people p JOIN {values} ON p.city = v.c GROUP BY v.x"
    assert plan_of(world, sql).parts[0].keys[0].rows == ((1,), (2,))


def test_of_released_values(world: World):
    sql = "VALUES ('people', (SELECT count(*) FROM people)), ('visits', (SELECT count(*) FROM visits))"
    assert len(plan_of(world, sql).parts) == 2
    assert answered(world, sql) == [("people", 0), ("visits", 0)]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("VALUES (1), (2, 3)", SyntaxRefused),
        ("VALUES (1), (true)", TypeMismatch),
        ("VALUES (x)", UndefinedColumn),
        ("SELECT 1 FROM (VALUES (1))", Refusal),
    ],
)
def test_refused(world: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_any(world, sql)
