"""The tuples that the public side of a join has, under its own conditions."""

import pytest

from dpproxy.algebra import nodes
from dpproxy.analysis.scopes import Parameters
from dpproxy.planner.accept import parse
from dpproxy.planner.keys import public_tables as public_keys
from dpproxy.values.errors import TooComplex
from tests.golden.world import World, build, plan_of, plan_tree

DDL = (
    "CREATE TABLE nation (n INTEGER, name VARCHAR, r INTEGER, share DECIMAL(4,2))",
    "INSERT INTO nation VALUES (1, 'Norway', 1, 0.25), (2, 'Italy', 1, 0.50), (3, 'Peru', 2, 1), (4, NULL, 2, 1)",
    "CREATE TABLE region (r INTEGER, name VARCHAR)",
    "INSERT INTO region VALUES (1, 'Europe'), (2, 'America'), (3, 'Asia')",
    "CREATE TABLE people (id INTEGER, n INTEGER, age INTEGER)",
    "INSERT INTO people VALUES (1, 1, 20), (2, 3, 30)",
    "ALTER TABLE nation SET PRIVACY PUBLIC",
    "ALTER TABLE region SET PRIVACY PUBLIC",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN n SET PRIVACY DOMAIN BETWEEN 0 AND 9",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 99",
)
JOIN = "people p JOIN nation c ON c.n = p.n"
BOTH = f"{JOIN} JOIN region g ON g.r = c.r"


@pytest.fixture(scope="module")
def world() -> World:
    return build(DDL)


def keys(world: World, source: str, group: str) -> set[tuple[object, ...]]:
    [part] = plan_of(world, f"SELECT count(*) FROM {source} GROUP BY {group}").parts
    [found] = part.keys
    return set(found.rows)


@pytest.mark.parametrize(
    ("source", "group", "expected"),
    [
        (JOIN, "c.name", {("Norway",), ("Italy",), ("Peru",), (None,)}),
        (BOTH, "g.name", {("Europe",), ("America",)}),
        (
            BOTH,
            "g.name, c.name",
            {("Europe", "Norway"), ("Europe", "Italy"), ("America", "Peru"), ("America", None)},
        ),
        (f"{BOTH} WHERE g.name = 'Europe'", "c.name", {("Norway",), ("Italy",)}),
        (f"{BOTH} WHERE g.name = 'Europe' AND c.n > p.age", "c.name", {("Norway",), ("Italy",)}),
        (
            f"{JOIN} WHERE c.name = 'Peru' OR p.age > 3",
            "c.name",
            {("Norway",), ("Italy",), ("Peru",), (None,)},
        ),
        (JOIN, "c.share", {(25,), (50,), (100,)}),
        (f"{JOIN} LEFT JOIN region g ON g.r = c.r AND g.r = 1", "g.name", {("Europe",), (None,)}),
        (
            f"{JOIN} LEFT JOIN region g ON g.r = c.r AND g.r = 1",
            "g.name, c.r",
            {("Europe", 1), (None, 2)},
        ),
        (
            "people p LEFT JOIN region g ON g.r = p.n",
            "g.name",
            {("Europe",), ("America",), ("Asia",), (None,)},
        ),
        (
            "people p LEFT JOIN nation c ON c.n = p.n AND c.r < 2 LEFT JOIN region g ON g.r = c.r",
            "c.n, g.name",
            {(1, "Europe"), (2, "Europe"), (3, "America"), (4, "America"), (None, None)},
        ),
        ("people p LEFT JOIN region g ON g.r = p.n WHERE g.r > 1", "g.name", {("America",), ("Asia",)}),
        ("region g RIGHT JOIN people p ON g.r = p.n WHERE g.r IS NULL", "g.name", {(None,)}),
    ],
)
def test_the_keys_of_public_items(world: World, source: str, group: str, expected: set[tuple[object, ...]]):
    assert keys(world, source, group) == expected


def test_more_than_may_be_answered_is_refused(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.analysis.keys.MOST_KEYS", 3)
    with pytest.raises(TooComplex):
        keys(world, JOIN, "c.name")
    assert public_keys.MOST > 100_000


DAYS = "SELECT i * 2, CAST(DATE '2000-01-01' + to_days(i::INTEGER) AS DATE), i // 30 FROM range(900) AS r(i)"
CALENDAR = (
    "CREATE TABLE days (no INTEGER, day DATE, month INTEGER)",
    f"INSERT INTO days {DAYS}",
    "CREATE TABLE sales (id INTEGER, no INTEGER)",
    "INSERT INTO sales VALUES (1, 1), (1, 1202), (2, 7)",
    "ALTER TABLE days SET PRIVACY PUBLIC",
    "ALTER TABLE sales SET PRIVACY KEY (id) MAX ROWS 2",
    "ALTER TABLE sales ALTER COLUMN no SET PRIVACY DOMAIN REFERENCES days (no)",
)
MONTHS = "FROM sales s JOIN days d ON s.no = d.no WHERE d.month BETWEEN 20 AND 21 GROUP BY 1"


@pytest.fixture(scope="module")
def calendar() -> World:
    return build(CALENDAR)


@pytest.mark.parametrize(
    ("key", "count"),
    [("d.day", 60), ("s.no", 60), ("d.no", 60), ("d.month", 2), ("extract(year FROM d.day)", 1)],
)
def test_no_more_keys_are_listed_than_the_conditions_leave(
    calendar: World, monkeypatch: pytest.MonkeyPatch, key: str, count: int
):
    asked: list[nodes.Query] = []
    facts = World.facts

    def spied(world: World, query: nodes.Query) -> tuple[tuple[object, ...], ...]:
        asked.append(query)
        rows = facts(world, query)
        assert len(rows) <= 60 or key == "s.no", query  # its own declared values
        return rows

    monkeypatch.setattr(World, "facts", spied)
    monkeypatch.setattr("dpproxy.analysis.domains.MOST_LISTED", 10)
    [part] = plan_of(calendar, f"SELECT {key}, count(*) {MONTHS}").parts
    assert part.groups == count
    assert asked
    assert len(part.exact) < 5_000


@pytest.mark.parametrize("shown", ["count(*)", "median(p.age)", "avg(p.age), count(*)"])
@pytest.mark.parametrize("group", ["c.name", "p.n"])
def test_what_parameters_leave_may_be_charged_for(world: World, shown: str, group: str):
    """Before they are bound no group is known; a statement that were taken for free would be refused once it is not."""
    sql = f"SELECT {group}, {shown} FROM {JOIN} WHERE c.share < $1 GROUP BY {group}"
    tree = parse(sql)
    assert not plan_tree(world, tree, Parameters(), {}).free
    assert plan_of(world, f"SELECT {group}, {shown} FROM {JOIN} WHERE c.share < 0 GROUP BY {group}").free
