"""Which SELECT over public rows is one over a join; what it answers is in tests/golden/referrers.test."""

import pytest

from dpproxy.values.errors import Refusal
from tests.golden.world import World, build, plan_any, plan_of

TOWNS = "SELECT count(*) FROM towns t WHERE EXISTS (SELECT 1 FROM people p WHERE p.town = t.id{})"


@pytest.fixture(scope="module")
def towns() -> World:
    return build(
        (
            "CREATE TABLE people (id INTEGER, town INTEGER, age INTEGER)",
            "CREATE TABLE towns (id INTEGER, twin INTEGER)",
            "CREATE TABLE ages (age INTEGER, twin INTEGER)",
            "INSERT INTO towns VALUES (1, 2), (2, 2), (3, NULL)",
            "ALTER TABLE towns SET PRIVACY PUBLIC",
            "ALTER TABLE ages SET PRIVACY PUBLIC",
            "ALTER TABLE people SET PRIVACY KEY (id)",
            "ALTER TABLE people ALTER COLUMN town SET PRIVACY DOMAIN REFERENCES towns (id)",
            "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
        )
    )


def test_each_public_row_is_counted_by_what_no_two_of_them_share(towns: World):
    plan = plan_of(towns, TOWNS.format(""))
    assert plan.label == "count(distinct towns.id) on towns, people"
    assert len(plan.parts) == 1


def test_rows_inside_may_be_joined_by_names_that_the_public_ones_have_not(towns: World):
    plan = plan_of(towns, TOWNS.replace("WHERE p", "JOIN ages USING (age) WHERE p").format(""))
    assert plan.label == "count(distinct towns.id) on towns, people, ages"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM towns t WHERE EXISTS (SELECT 1 FROM people p WHERE p.town = t.twin)",
        "SELECT count(*) FROM towns t WHERE EXISTS (SELECT 1 FROM people p WHERE p.town > t.id)",
        "SELECT count(*) FROM towns t WHERE EXISTS (SELECT 1 FROM people t WHERE t.town = id)",
        "SELECT count(*), max(twin) FROM towns t WHERE EXISTS (SELECT 1 FROM people p WHERE p.town = t.id)",
        "SELECT id FROM towns t WHERE EXISTS (SELECT 1 FROM people p WHERE p.town = t.id)",
        "SELECT twin, count(*) FROM towns t WHERE NOT EXISTS (SELECT 1 FROM people p WHERE p.town = t.id) GROUP BY 1",
        "SELECT count(*) FROM towns WHERE id NOT IN (SELECT town FROM people)",
        "SELECT count(*) FROM towns t WHERE EXISTS (SELECT 1 FROM people p NATURAL JOIN ages WHERE p.town = t.id)",
        "SELECT count(*) FROM ages a WHERE EXISTS (SELECT 1 FROM people p JOIN ages USING (age) WHERE p.age = a.age)",
        TOWNS.format(" LIMIT 1"),
        TOWNS.format(" AND p.age > (SELECT avg(age) FROM people)"),
        TOWNS.format(" OR t.id = 3"),
    ],
)
def test_others_are_refused(towns: World, sql: str):
    with pytest.raises(Refusal) as refused:
        plan_any(towns, sql)
    assert refused.value.sqlstate != "XX000"
