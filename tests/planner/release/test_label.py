"""What is kept of a statement in words."""

import pytest

from tests.golden.world import World, plan_of


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ('SELECT count(*) FROM people AS "Ann\'s"', "count(*) on people"),
        (
            "SELECT sum(CASE WHEN city = 'Ann Smith' THEN 1 ELSE 0 END) FROM people",
            "sum(1) filter(where city = '...') on people",
        ),
        (
            "SELECT CASE WHEN age > 50 THEN 'Ann''s' ELSE 'y' END, count(*) FROM people GROUP BY 1",
            "count(*) by case when age > 50 then '...' else '...' end on people",
        ),
        (
            'WITH "Ann" AS (SELECT 1 AS n) SELECT count(*) FROM people CROSS JOIN "Ann"',
            "count(*) on people, public rows",
        ),
        (
            'SELECT avg("Ann Smith".age) FROM people AS "Ann Smith"',
            "avg(age) on people",
        ),
        (
            "SELECT p.city, sum(v.hours) FROM visits v JOIN people p ON p.id = v.patient GROUP BY 1",
            "sum(visits.hours) by city on visits, people",
        ),
        (
            "SELECT count(*) FROM (SELECT id, count(*) AS n FROM people, (SELECT 1 AS m) x GROUP BY id) t WHERE n > 1",
            "count(*) on people, public rows",
        ),
    ],
)
def test_texts_and_made_up_names_are_left_out(world: World, sql: str, words: str):
    assert plan_of(world, sql).label == words


def test_the_unit_is_told_with_the_most_that_is_read_of_one(world: World):
    assert plan_of(world, "SELECT count(*) FROM people").unit == "one id of people, at most 1 row"
    assert plan_of(world, "SELECT count(*) FROM visits").unit == "one patient of visits, at most 6 rows"


def test_what_an_earlier_stage_released_is_named_as_that(clinic: World):
    top = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 1"
    sql = f"SELECT v.ward, count(*) FROM visits v JOIN ({top}) AS anybody ON anybody.ward = v.ward GROUP BY v.ward"
    plan = plan_of(clinic, sql)
    assert "count(*) by ward on visits, an earlier stage" in plan.label
    assert "anybody" not in plan.label


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "SELECT CASE WHEN x.city IN (SELECT city FROM people y GROUP BY 1) THEN 1 END FROM people x GROUP BY 1",
            "keys by case when people.city in (...) then 1 end on people, an earlier stage",
        ),
        (
            "SELECT (SELECT size FROM cities y WHERE y.city = x.city) AS s, max(x.city) FROM people x GROUP BY s",
            "max(people.city) by (...) on people, public rows",
        ),
        (
            "SELECT EXISTS (SELECT 1 FROM visits bob WHERE bob.patient = p.id), max(city) FROM people p GROUP BY 1",
            "max(city) by exists(...) on people",
        ),
    ],
)
def test_what_a_rewrite_stands_for_is_named(world: World, sql: str, words: str):
    assert plan_of(world, sql).label.rpartition("; ")[2] == words
