"""Outer joins answer the groups of rows without a partner, as PostgreSQL does, and only where there can be some."""

import pytest
from msgspec.structs import replace

from tests.golden.neighbours import furthest
from tests.golden.world import Row, Tables, World, build, plan_of
from tests.planner.answers import answered

DDL = (
    "CREATE TABLE people (id INTEGER, city VARCHAR, age INTEGER, job VARCHAR)",
    "CREATE TABLE visits (person INTEGER, ward VARCHAR, hours INTEGER, urgent BOOLEAN)",
    "CREATE TABLE ages (age INTEGER, decade INTEGER, label VARCHAR)",
    "CREATE TABLE decades (decade INTEGER, name VARCHAR)",
    "CREATE TABLE jobs (job VARCHAR, kind VARCHAR)",
    "INSERT INTO people VALUES (1, 'Oslo', 30, 'a'), (2, 'Rome', 40, 'b'), (3, 'Rome', 51, 'a')",
    "INSERT INTO people VALUES (4, 'Rome', NULL, 'a')",
    "INSERT INTO visits VALUES (1, 'A', 1, true), (1, 'B', 2, false), (3, 'A', 4, true), (3, NULL, 4, NULL)",
    "INSERT INTO ages VALUES (30, 3, 'thirty'), (31, 3, 'more'), (40, 4, 'forty')",
    "INSERT INTO decades VALUES (3, 'third'), (5, 'fifth')",
    "INSERT INTO jobs VALUES ('a', 'k'), ('b', 'l')",
    *(f"ALTER TABLE {name} SET PRIVACY PUBLIC" for name in ("ages", "decades", "jobs")),
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN city SET PRIVACY DOMAIN IN ('Oslo', 'Rome')",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people ALTER COLUMN job SET PRIVACY DOMAIN REFERENCES jobs (job)",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 2",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('A', 'B')",
    "ALTER TABLE visits ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN 0 AND 5",
    "ALTER TABLE visits ALTER COLUMN urgent SET PRIVACY DOMAIN IN (true, false)",
)
AGES = "people p LEFT JOIN ages a ON a.age = p.age"
BOTH = f"{AGES} LEFT JOIN decades d ON d.decade = a.decade"
VISITS = "people p LEFT JOIN visits v ON v.person = p.id"
AGAIN = "LEFT JOIN people q ON q.id = v.person"
EACH = "(SELECT person, count(*) AS n FROM visits GROUP BY person) x"


@pytest.fixture(scope="module", params=[False, True])
def world(request: pytest.FixtureRequest) -> World:
    """Tables as they are, and prepared."""
    return replace(build(DDL), prepared=request.param)


@pytest.mark.parametrize(
    ("keys", "source", "expected"),
    [
        ("a.decade", AGES, {(3, 1), (4, 1), (None, 2)}),
        ("a.decade", "ages a RIGHT JOIN people p USING (age)", {(3, 1), (4, 1), (None, 2)}),
        ("a.decade * 10", AGES, {(30, 1), (40, 1), (None, 2)}),
        ("coalesce(a.decade, -1)", AGES, {(3, 1), (4, 1), (-1, 2)}),
        ("a.decade IS NULL", AGES, {(False, 2), (True, 2)}),
        ("coalesce(a.label, 'none')", AGES, {("thirty", 1), ("forty", 1), ("more", 0), ("none", 2)}),
        ("d.name", BOTH, {("third", 1), (None, 3)}),
        ("a.decade, d.name", BOTH, {(3, "third", 1), (4, None, 1), (None, None, 2)}),
        (
            "a.decade, d.name",
            f"{AGES} JOIN decades d ON d.decade = a.decade",
            {(3, "third", 1)},
        ),
        ("a.decade", f"{AGES} WHERE a.label LIKE 'f%'", {(4, 1)}),
        ("a.decade", f"{AGES} WHERE a.decade IS NULL OR a.decade > 3", {(4, 1), (None, 2)}),
        ("s.decade", f"(SELECT p.id, a.decade FROM {AGES}) s", {(3, 1), (4, 1), (None, 2)}),
        ("j.kind", "people p LEFT JOIN jobs j ON j.job = p.job", {("k", 3), ("l", 1)}),
        (
            "j.kind",
            "people p LEFT JOIN jobs j ON j.job = p.job AND j.kind = 'k'",
            {("k", 3), ("l", 0), (None, 1)},
        ),
        ("j.kind", f"{VISITS} {AGAIN} LEFT JOIN jobs j ON j.job = q.job", {("k", 4), ("l", 0), (None, 2)}),
        ("v.ward", VISITS, {("A", 2), ("B", 1), (None, 3)}),
        ("v.urgent", f"{VISITS} WHERE v.person IS NOT NULL", {(True, 2), (False, 1)}),
        ("v.ward", f"{VISITS} WHERE v.hours > 1", {("A", 1), ("B", 1)}),
        ("v.ward", f"{VISITS} WHERE v.person IS NULL", {("A", 0), ("B", 0), (None, 2)}),
        ("v.urgent", VISITS, {(True, 2), (False, 1), (None, 3)}),
        ("v.ward IS NULL", VISITS, {(False, 3), (True, 3)}),
        ("p.city", "visits v LEFT JOIN people p ON v.person = p.id", {("Oslo", 2), ("Rome", 2)}),
        ("p.city", "people p RIGHT JOIN visits v ON v.person = p.id", {("Oslo", 2), ("Rome", 2)}),
        (
            "p.city",
            "visits v LEFT JOIN people p ON v.person = p.id AND p.age > 35",
            {("Oslo", 0), ("Rome", 2), (None, 2)},
        ),
        (
            "p.city",
            "visits v LEFT JOIN (SELECT id, city FROM people WHERE age > 35) p ON v.person = p.id",
            {("Oslo", 0), ("Rome", 2), (None, 2)},
        ),
        ("p.city", "people p FULL JOIN visits v ON v.person = p.id", {("Oslo", 2), ("Rome", 4), (None, 0)}),
        ("x.n", f"people p LEFT JOIN {EACH} ON x.person = p.id", {(0, 0), (1, 0), (2, 2), (None, 2)}),
        (
            "x.n",
            f"people p LEFT JOIN {EACH} ON x.person = p.id WHERE x.n IS NOT NULL",
            {(0, 0), (1, 0), (2, 2)},
        ),
        (
            "u.ward",
            f"(SELECT v.person, v.ward FROM {VISITS} UNION ALL SELECT person, ward FROM visits) u",
            {("A", 4), ("B", 2), (None, 4)},
        ),
    ],
)
def test_rows_without_a_partner_are_a_group(world: World, keys: str, source: str, expected: set[Row]):
    sql = f"SELECT {keys}, count(*) FROM {source} GROUP BY {keys}"
    assert set(answered(world, sql)) == expected
    tables = Tables(world)
    try:
        furthest(world, plan_of(world, sql), tables)
    finally:
        tables.close()


def test_a_full_join_counts_what_is_protected(world: World):
    sql = "SELECT a.decade, count(p.city) FROM ages a FULL JOIN people p ON p.age = a.age GROUP BY 1"
    assert set(answered(world, sql)) == {(3, 1), (4, 1), (None, 2)}


def test_figures_of_those_without_a_partner(world: World):
    sql = f"SELECT a.decade, count(p.age), sum(p.age) FROM {AGES} GROUP BY 1 HAVING count(*) > 1"
    assert answered(world, sql) == [(None, 1, 51)]
