"""The query of a protected view: compiled to one row for each person, inside declared domains."""

# ruff: noqa: ISC004, E501 - records written out

from datetime import date, datetime
from fractions import Fraction

import pytest

from dpproxy.algebra import printing
from dpproxy.algebra.plan import Caller
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.access import Context
from dpproxy.planner.protected import ViewQuery
from dpproxy.planner.query import plan_view
from dpproxy.values.errors import BoundsMissing, InvalidParameter, NotGranted, Refusal, UnitLost
from dpproxy.views.columns import Listed, MomentColumn, NumberColumn
from tests.empty import empty
from tests.golden.world import World, build

WORLD = (
    "CREATE TABLE people (id INTEGER, age INTEGER, pay DECIMAL(8,2), height DOUBLE, sex VARCHAR, ok BOOLEAN, born DATE, "
    "seen TIMESTAMP, job VARCHAR, name VARCHAR)",
    "CREATE TABLE visits (patient INTEGER, hours INTEGER)",
    "CREATE TABLE jobs (code VARCHAR, parent VARCHAR, pay INTEGER)",
    "INSERT INTO jobs VALUES ('any', NULL, 1), ('nurse', 'any', 2), ('clerk', 'any', 3)",
    "INSERT INTO people VALUES (1, 30, 10.50, 1.5, 'f', TRUE, DATE '1990-02-01', TIMESTAMP '2020-01-01 10:00:00', 'nurse', 'x'), "
    "(2, 300, NULL, 2.5, 'm', FALSE, DATE '1890-02-01', TIMESTAMP '2020-01-01 12:00:00', 'clerk', 'y'), "
    "(2, 31, 5, 2.5, 'm', FALSE, DATE '1990-02-01', TIMESTAMP '2020-01-01 12:00:00', 'clerk', 'y'), "
    "(NULL, 32, 5, 2.5, 'm', FALSE, DATE '1990-02-01', TIMESTAMP '2020-01-01 12:00:00', 'clerk', 'y')",
    "INSERT INTO visits VALUES (1, 4), (1, 6), (2, 9)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people SET PRIVACY EXPECTED ROWS 40",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN 0 AND 5000",
    "ALTER TABLE people ALTER COLUMN height SET PRIVACY DOMAIN BETWEEN 0 AND 2",
    "ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm')",
    "ALTER TABLE people ALTER COLUMN ok SET PRIVACY DOMAIN IN (TRUE, FALSE)",
    "ALTER TABLE people ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN '1900-01-01' AND '2000-01-01'",
    "ALTER TABLE people ALTER COLUMN seen SET PRIVACY DOMAIN BETWEEN TIMESTAMP '2020-01-01' AND TIMESTAMP '2020-01-02'",
    "ALTER TABLE people ALTER COLUMN name SET PRIVACY DOMAIN IN ('x', 'y')",
    "ALTER TABLE people ALTER COLUMN name SET PRIVACY CLASS IDENTIFIER",
    "ALTER TABLE visits SET PRIVACY KEY (patient) REFERENCES people (id) MAX ROWS 6",
    "ALTER TABLE visits ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN 0 AND 24",
    "ALTER TABLE jobs SET PRIVACY PUBLIC",
    "CREATE PRIVACY TAXONOMY work ON jobs (code, parent)",
    "ALTER TABLE people ALTER COLUMN job SET PRIVACY DOMAIN TAXONOMY work",
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(WORLD)


def compiled(world: World, query: str) -> ViewQuery:
    nobody = Caller("", frozenset(), "")
    with empty() as connection:
        for statement in world.ddl:
            connection.execute(statement)
        connection.executemany("INSERT INTO jobs VALUES (?, ?, ?)", world.rows["jobs"])
        facts = lambda query: tuple(connection.execute(printing.text(query)).fetchall())  # noqa: E731 - one line
        return plan_view("v", query, Context(world.policy, world.schema, nobody, DEFAULTS, None, facts))


def rows(world: World, found: ViewQuery) -> list[tuple[object, ...]]:
    with empty() as connection:
        for statement in world.ddl:
            connection.execute(statement)
        for table, listed in world.rows.items():
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(listed[0]))})", listed)
        given = {"1": "secret"} if found.truncated else {}
        return sorted(connection.execute(found.sql, given).fetchall(), key=repr)


def test_every_kind_of_column_has_its_places(world: World):
    found = compiled(world, "SELECT age, pay, height, sex, ok, born, seen, job FROM people")
    assert [(c.name, c.type.name) for c in found.columns] == [
        ("age", "int4"), ("pay", "numeric"), ("height", "float8"), ("sex", "text"), ("ok", "bool"), ("born", "date"),
        ("seen", "timestamp"), ("job", "text"),
    ]  # fmt: skip
    places = [c.places for c in found.columns]
    assert places[0] == NumberColumn(0, 100, Fraction(1))
    assert places[1] == NumberColumn(0, 500_000, Fraction(1, 100))
    assert isinstance(places[2], NumberColumn)
    assert places[2].high * places[2].unit == 2
    assert places[3:5] == [Listed(("f", "m")), Listed((True, False), ordered=True)]
    assert places[5] == MomentColumn(0, 36524, Fraction(1), 1, datetime.fromisoformat("1900-01-01"))
    assert isinstance(places[6], MomentColumn)
    assert places[6].high == 24 * 3600 * 10**6
    assert places[7] == Listed(("any", "clerk", "nurse"), parents=((), (0,), (0,)))
    assert (found.owner.name, found.tables, found.expected_rows) == ("people", ("people",), 40)


def test_one_row_of_each_person_inside_its_bounds(world: World):
    found = compiled(world, "SELECT age, born, seen FROM people")
    listed = rows(world, found)
    assert len(listed) == 2
    assert (30, (date(1990, 2, 1) - date(1900, 1, 1)).days, 10 * 3600 * 10**6) in listed
    assert {row[0] for row in listed} <= {30, 31, 100}


def test_a_person_with_several_rows_is_grouped_into_one(world: World):
    found = compiled(world, "SELECT sum(hours) AS hours, count(*) AS n FROM visits GROUP BY patient")
    assert rows(world, found) == [(10, 2), (9, 1)]
    joined = "SELECT p.sex, v.n FROM people AS p JOIN (SELECT patient, count(*) AS n FROM visits GROUP BY patient) AS v ON p.id = v.patient"
    assert rows(world, compiled(world, joined)) == [("f", 2), ("m", 1)]
    public = "SELECT p.sex, j.pay FROM people AS p JOIN jobs AS j ON p.job = j.code"
    assert rows(world, compiled(world, public)) == [("f", 2), ("m", 3)]


@pytest.mark.parametrize(
    ("query", "kind", "words"),
    [
        ("SELECT hours FROM visits", UnitLost, "6 rows"),
        ("SELECT p.age, v.hours FROM people AS p JOIN visits AS v ON p.id = v.patient", UnitLost, "6 rows"),
        ("SELECT sex FROM people UNION ALL SELECT sex FROM people", UnitLost, "2 rows"),
        ("SELECT sex, count(*) FROM people GROUP BY sex", UnitLost, "releases values"),
        ("SELECT DISTINCT sex FROM people", UnitLost, "releases values"),
        ("SELECT age FROM people WHERE age > (SELECT avg(age) FROM people)", UnitLost, "releases values"),
        ("SELECT age FROM people ORDER BY age LIMIT 3", UnitLost, "LIMIT"),
        ("SELECT code FROM jobs", InvalidParameter, "no protected table"),
        ("SELECT id FROM people", NotGranted, "tells people apart"),
        ("SELECT name FROM people", NotGranted, "tells people apart"),
        ("SELECT age, age FROM people", InvalidParameter, 'named "age"'),
        ("SELECT age + 1 FROM people", InvalidParameter, "no name"),
        ("SELECT age FROM people WHERE FALSE", InvalidParameter, "no rows"),
        ("SELECT pay / age AS ratio FROM people", BoundsMissing, "bounds"),
    ],
)
def test_what_is_no_table_of_one_row_each_is_refused(
    world: World, query: str, kind: type[Refusal], words: str
):
    with pytest.raises(kind, match=words):
        compiled(world, query)


def test_star_leaves_out_who_people_are(world: World):
    found = compiled(world, "SELECT * FROM people")
    assert found.left_out == ("id", "name")
    assert "name" not in [c.name for c in found.columns]


def test_a_parent_that_is_no_code_is_refused():
    broken = build([s.replace("('any', NULL, 1), ", "") for s in WORLD])
    with pytest.raises(InvalidParameter, match="no code"):
        compiled(broken, "SELECT job FROM people")
