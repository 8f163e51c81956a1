"""Rows grouped by person: one row for each, values inside their bounds, and what is refused."""

import random
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from dpproxy.values.errors import Refusal
from tests.empty import empty
from tests.golden.neighbours import furthest
from tests.golden.world import Row, Tables, World, plan_of
from tests.planner.answers import answered
from tests.planner.clinic import rows_of_unit

VALUES = [
    "count(*)",
    "count(hours)",
    "count(DISTINCT hours)",
    "sum(hours)",
    "sum(hours - 3)",
    "avg(hours)",
    "min(hours)",
    "max(hours)",
    "count(*) FILTER (WHERE ward = 'A')",
    "sum(hours) FILTER (WHERE ward = 'A')",
    "max(hours) - min(hours)",
    "CASE WHEN bool_or(ward = 'B') THEN 1 ELSE 0 END",
    "CASE WHEN bool_and(hours > 1) THEN 1 ELSE 0 END",
]


@pytest.fixture(scope="module")
def tables(clinic: World) -> Iterator[Tables]:
    made = Tables(clinic)
    yield made
    made.close()


def visits(seed: int) -> list[Row]:
    """No person has more than MAX ROWS."""
    source = random.Random(seed)
    people = [n for n in (1, 2, 3) for _ in range(source.choice([0, 1, 2]))]
    return [(p, i, source.choice("AB"), source.choice([0, 1, 3, 5, None])) for i, p in enumerate(people)]


def raw(rows: list[Row], sql: str) -> float:
    with empty() as connection:
        connection.execute("CREATE TABLE visits (person INTEGER, no INTEGER, ward VARCHAR, hours INTEGER)")
        for row in rows:
            connection.execute("INSERT INTO visits VALUES (?, ?, ?, ?)", row)
        [(found,)] = connection.execute(sql).fetchall()
        return float(found or 0)


@pytest.mark.parametrize("value", VALUES)
def test_those_who_have_no_more_rows_lose_nothing(clinic: World, value: str):
    """The engine's own answer, over rows inside the declared bounds."""
    sql = f"SELECT sum(n) FROM (SELECT person, {value} AS n FROM visits GROUP BY person) AS x"
    rows = visits(VALUES.index(value))
    [(total,)] = answered(replace(clinic, rows={**clinic.rows, "visits": rows}), sql)
    assert float(str(total or 0)) == pytest.approx(raw(rows, sql), abs=0.05)


def test_removing_a_person_removes_one_row(clinic: World, tables: Tables):
    listed = ", ".join(f"{value} AS n{number}" for number, value in enumerate(VALUES))
    sums = ", ".join(f"sum(n{number})" for number in range(len(VALUES)))
    sql = f"SELECT {sums} FROM (SELECT person, {listed} FROM visits GROUP BY person) AS x"
    filled = replace(clinic, rows={**clinic.rows, "visits": visits(1)})
    assert furthest(filled, plan_of(clinic, sql), tables) == [1]


@pytest.mark.parametrize(
    ("value", "bounds"),
    [("count(*)", (0, 2)), ("sum(hours)", (0, 10)), ("sum(hours - 3)", (-6, 4)), ("avg(hours)", (0, 5))],
)
def test_nobody_leaves_the_bounds(clinic: World, value: str, bounds: tuple[int, int]):
    """However many rows, and however large their values."""
    sql = f"SELECT sum(n) FROM (SELECT person, {value} AS n FROM visits GROUP BY person) AS x"
    for extreme, bound in ((-(10**6), bounds[0]), (10**6, bounds[1])):
        many: list[Row] = [(1, i, "A", extreme) for i in range(50)]
        [(total,)] = answered(replace(clinic, rows={**clinic.rows, "visits": many}), sql)
        assert float(str(total)) == (bounds[1] if value == "count(*)" else bound)


ROWS = [
    ("SELECT person FROM visits GROUP BY person", 1),
    ("SELECT DISTINCT person FROM visits", 1),
    ("SELECT person AS p, max(hours) FROM visits GROUP BY 1", 1),
    ("SELECT person AS p, max(hours) FROM visits GROUP BY p", 1),
    ("SELECT person FROM visits GROUP BY person HAVING count(*) > 1", 1),
    ("SELECT person, ward FROM visits GROUP BY person, ward", 2),
    ("SELECT DISTINCT person, hours FROM visits", 2),
    ("SELECT v.person FROM visits v JOIN bills b ON b.visit = v.no GROUP BY v.person", 1),
    # A number of a visit may be several people's, and a person has several.
    ("SELECT visit FROM bills GROUP BY visit", 3),
    # Where the join leaves the key out, it is NULL beside the person's own.
    (
        "SELECT v.person FROM people p LEFT JOIN visits v ON v.person = p.id AND v.hours > 1 GROUP BY v.person",
        2,
    ),
    ("SELECT p.id FROM people p LEFT JOIN visits v ON v.person = p.id GROUP BY p.id", 1),
]


@pytest.mark.parametrize(("query", "most"), ROWS)
def test_how_many_rows_a_person_has_then(clinic: World, tables: Tables, query: str, most: int):
    plan = plan_of(clinic, f"SELECT count(*) FROM ({query}) AS x")
    assert rows_of_unit(plan) == most
    if most > 1 or "JOIN" in query:
        assert furthest(clinic, plan, tables)[0] >= 1


def test_having_is_about_the_person(clinic: World):
    query = "SELECT person FROM visits GROUP BY person HAVING count(*) > 1 AND sum(hours) = 3"
    assert answered(clinic, f"SELECT count(*) FROM ({query}) AS x") == [(1,)]


def test_the_value_of_a_row_around(clinic: World, tables: Tables):
    most = "(SELECT max(v.hours) FROM visits v WHERE v.person = p.id)"
    sql = f"SELECT count(*), sum({most}) FROM people p WHERE {most} > 1"
    assert answered(clinic, sql) == [(2, 6)]
    furthest(clinic, plan_of(clinic, sql), tables)


@pytest.mark.parametrize(
    ("query", "sqlstate"),
    [
        ("SELECT person, median(hours) FROM visits GROUP BY person", "0A000"),
        ("SELECT person, sum(DISTINCT hours) FROM visits GROUP BY person", "0A000"),
        ("SELECT person, count(DISTINCT (hours, no)) FROM visits GROUP BY person", "0A000"),
        ("SELECT person, hours FROM visits GROUP BY person", "42803"),
        ("SELECT person, sum(count(*)) FROM visits GROUP BY person", "42803"),
        ("SELECT person, bool_or(hours) FROM visits GROUP BY person", "42804"),
        ("SELECT person, sum(ward) FROM visits GROUP BY person", "42804"),
        ("SELECT person, nothing FROM visits GROUP BY person", "42703"),
        ("SELECT person, max(person) FROM visits GROUP BY person", "42501"),
        ("SELECT person, person + 1 FROM visits GROUP BY person", "42501"),
        ("SELECT person FROM visits GROUP BY person LIMIT 1", "PD002"),
        ("SELECT person FROM visits GROUP BY person OFFSET 1", "PD002"),
    ],
)
def test_refused(clinic: World, query: str, sqlstate: str):
    with pytest.raises(Refusal) as caught:
        plan_of(clinic, f"SELECT count(*) FROM ({query}) AS x")
    assert caught.value.sqlstate == sqlstate, caught.value


@pytest.mark.parametrize(
    ("value", "sqlstate"),
    [
        ("(SELECT 1 FROM visits v WHERE v.person = p.id)", "0A000"),
        ("(SELECT v.hours FROM visits v WHERE v.person = p.id)", "42803"),
        ("(SELECT max(v.hours) FROM visits v WHERE v.person = p.id GROUP BY v.ward)", "0A000"),
        ("(SELECT max(v.hours) FROM visits v WHERE v.person = p.id LIMIT 1)", "PD002"),
    ],
)
def test_a_subquery_for_one_value_needs_one_aggregate(clinic: World, value: str, sqlstate: str):
    with pytest.raises(Refusal) as caught:
        plan_of(clinic, f"SELECT sum({value}) FROM people p")
    assert caught.value.sqlstate == sqlstate, caught.value


def test_a_person_among_others_is_shown_to_nobody(clinic: World):
    with pytest.raises(Refusal) as caught:
        plan_of(clinic, "SELECT person, count(*) FROM visits GROUP BY person")
    assert caught.value.sqlstate == "42501"
