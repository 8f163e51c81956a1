"""Subqueries in FROM without aggregates: the rows under other columns, still somebody's."""

import pytest

from dpproxy.values.errors import BoundsMissing, NotGranted, Refusal, UndefinedColumn, UnitLost, Unsupported
from tests.golden.world import World, plan_of
from tests.planner.answers import answered
from tests.planner.clinic import one_part, rows_of_unit


@pytest.mark.parametrize(
    ("source", "most"),
    [
        ("(SELECT * FROM people) s", 1),
        ("(SELECT hours FROM visits) s", 2),
        ("(SELECT v.*, w.building FROM visits v JOIN wards w USING (ward)) s", 4),
        (
            "(SELECT person AS who, hours + 1 AS h FROM (SELECT * FROM visits) v) s JOIN people p ON p.id = s.who",
            2,
        ),
        ("people p, (SELECT person AS p FROM visits) AS s (q) WHERE p.id = s.q", 2),
    ],
)
def test_the_rows_of_one_person_are_counted_through_it(clinic: World, source: str, most: int):
    assert rows_of_unit(plan_of(clinic, f"SELECT count(*) FROM {source}")) == most


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT h, count(*) FROM (SELECT hours * 2 AS h FROM visits) s WHERE h > 6 GROUP BY h", [(8, 1), (10, 0)]),
        ("SELECT count(*), sum(b) FROM (SELECT age FROM people WHERE city = 'Rome') AS s (b)", [(2, 90)]),
        ("SELECT u, count(*) FROM (SELECT upper(city) AS u FROM people) s GROUP BY u", [("OSLO", 1), ("ROME", 2)]),
        ("SELECT count(*) FROM (SELECT age > 35 AS old FROM people) s WHERE old", [(2,)]),
        ("SELECT o, count(*) FROM (SELECT age > 35 AS o FROM people) s GROUP BY o", [(False, 1), (True, 2)]),
    ],
)  # fmt: skip
def test_without_noise_it_is_what_sql_says(clinic: World, sql: str, rows: list[tuple[object, ...]]):
    found = answered(clinic, sql)
    assert [row for row in found if row[0] is not None] == rows


def test_values_are_inside_what_follows_from_the_domains(clinic: World):
    part = one_part(clinic, "SELECT sum(x) FROM (SELECT age * 2 - 50 AS x FROM people) s")
    assert part.mechanism is not None
    assert part.mechanism.widths == (150,)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT count(*) FROM (SELECT * FROM people LIMIT 2) s", UnitLost),
        ("SELECT count(*) FROM (SELECT * FROM people ORDER BY age OFFSET 1) s", UnitLost),
        ("SELECT count(*) FROM (SELECT age FROM people HAVING true) s", Refusal),
        ("SELECT count(id) FROM (SELECT age FROM people) s", UndefinedColumn),
        ("SELECT sum(x) FROM (SELECT id AS x FROM people) s", NotGranted),
        ("SELECT x, count(*) FROM (SELECT id AS x FROM people) s GROUP BY x LIMIT 1", NotGranted),
        (
            "SELECT x, count(*) FROM (SELECT sqrt(age) AS x FROM people) s GROUP BY x",
            BoundsMissing,
        ),
        ("SELECT count(*) FROM (SELECT row_number() OVER () AS n FROM people) s", UnitLost),
        ("SELECT count(*) FROM (SELECT id + 1 AS x FROM people) s", NotGranted),
        ("SELECT count(*) FROM (SELECT FROM people) AS s", Unsupported),
        ("SELECT count(*) FROM (SELECT FROM visits GROUP BY person) AS s", Unsupported),
    ],
)
def test_refused(clinic: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_of(clinic, sql)
