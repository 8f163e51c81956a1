import pytest

from dpproxy.errors import GroupingError, Refusal, TypeMismatch, UndefinedColumn
from dpproxy.plan import PublicPlan
from tests.golden.world import World, plan_any


def plan(world: World, sql: str) -> PublicPlan:
    made = plan_any(world, sql)
    assert isinstance(made, PublicPlan)
    return made


def test_rows_are_shown(world: World):
    made = plan(world, "SELECT *, size * 2 AS twice FROM cities WHERE size > 3 ORDER BY size DESC LIMIT 1")
    assert [o.column.name for o in made.outputs] == ["city", "size", "twice"]
    assert 'FROM "cities"' in made.sql


def test_aggregates_are_exact(world: World):
    made = plan(
        world, "SELECT city, count(*), max(size), avg(size) FROM cities GROUP BY city HAVING count(*) > 1"
    )
    assert [o.column.type.name for o in made.outputs] == ["text", "int8", "int4", "numeric"]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT nothing FROM cities", UndefinedColumn),
        ("SELECT city FROM cities WHERE count(*) > 1", GroupingError),
        ("SELECT city, count(*) FROM cities", GroupingError),
        ("SELECT sum(city) FROM cities", TypeMismatch),
    ],
)
def test_refused(world: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        plan(world, sql)
