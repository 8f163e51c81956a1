"""What is said to be unique is, in what DuckDB makes of it."""

from collections import Counter

import pytest

from dpproxy.algebra import printing
from dpproxy.analysis.scopes import Parameters
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner import query
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context
from dpproxy.planner.open.relations import Open
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.pricing import ANY_TERMS
from dpproxy.planner.unique import of_copies, of_values
from tests.empty import empty
from tests.golden.world import ANALYST, World, build

ROWS = [
    "(1, 'a', 1.5, 9007199254740992, '2024-01-31')", "(1, 'a', 1.5, 9007199254740993, '2024-01-31')",
    "(2, 'a', 'NaN', 9007199254740993, NULL)", "(2, 'b', 'NaN', 9007199254740993, NULL)", "(NULL, NULL, NULL, 1, NULL)",
    "(NULL, NULL, NULL, 1, NULL)", "(3, 'c', 1.5, NULL, '2024-03-01')",
]  # fmt: skip
WORLD = [
    "CREATE TABLE t (a INTEGER, b VARCHAR, x DOUBLE, w BIGINT, d DATE)",
    f"INSERT INTO t VALUES {', '.join(ROWS)}",
    "ALTER TABLE t SET PRIVACY PUBLIC",
    "CREATE TABLE people (id INTEGER NOT NULL, age INTEGER, city VARCHAR)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 1 AND 3",
    "ALTER TABLE people ALTER COLUMN city SET PRIVACY DOMAIN IN ('Oslo', 'Rome', NULL)",
]
GROUPS = "(SELECT w, count(*) AS n FROM t GROUP BY w) AS g"


@pytest.fixture(scope="module")
def world() -> World:
    return build(WORLD)


def relation(world: World, sql: str) -> Open:
    context = Context(world.policy, world.schema, ANALYST, DEFAULTS, facts=world.facts, snapshot="world")
    planning = Planning(context, Parameters(), ANY_TERMS)
    found = query._top(accept(parse(sql)), planning)
    assert isinstance(found, Open)
    return found


@pytest.mark.parametrize(
    ("sql", "unique"),
    [
        ("SELECT count(*), max(a) FROM t", set()),
        ("SELECT count(*) FROM t HAVING count(*) > 100", set()),
        ("SELECT a, b FROM t LIMIT 1", set()),
        ("SELECT 7 AS seven", set()),
        ("SELECT a, count(*) FROM t GROUP BY a", {0}),
        ("SELECT count(*), b, a, b AS again FROM t GROUP BY a, b", {1, 2}),
        ("SELECT x, count(*) FROM t GROUP BY 1 HAVING count(*) > 1 ORDER BY 2", {0}),
        ("SELECT a + 1 AS next, count(*) FROM t GROUP BY a + 1 ORDER BY 1 LIMIT 2 OFFSET 1", {0}),
        ("SELECT a, count(*) FROM t GROUP BY a, b", None),
        ("SELECT a, b, count(*) FROM t GROUP BY ROLLUP (a, b)", None),
        ("SELECT DISTINCT a, b FROM t", {0, 1}),
        ("SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b", None),
        ("SELECT a, b FROM t", None),
        (f"SELECT n, w FROM {GROUPS} WHERE n > 1 ORDER BY 1", {1}),
        (f"SELECT w, n, w AS again FROM {GROUPS} WHERE n > 1", {0, 2}),
        (f"SELECT n FROM {GROUPS}", None),
        (f"SELECT w + 1 AS next FROM {GROUPS}", None),
        (f"SELECT g.w, t.a FROM {GROUPS} JOIN t ON t.w = g.w", None),
        ("SELECT a FROM t UNION SELECT w FROM t", {0}),
        ("SELECT a FROM t UNION ALL SELECT w FROM t", None),
        ("SELECT a, b FROM t EXCEPT SELECT 1, 'a'", {0, 1}),
        (f"SELECT w FROM {GROUPS} INTERSECT ALL SELECT w FROM t", {0}),
        (f"SELECT w FROM {GROUPS} EXCEPT ALL SELECT a FROM t", {0}),
        (f"SELECT w FROM {GROUPS} INTERSECT ALL SELECT w::float8 FROM t", None),
        (f"SELECT w FROM {GROUPS} EXCEPT ALL SELECT x FROM t WHERE false", None),
        ("SELECT a FROM t EXCEPT ALL SELECT 1", None),
        ("SELECT s FROM generate_series(9, 1, -3) AS s", {0}),
        (
            "SELECT s FROM generate_series(timestamp '2024-01-31', timestamp '2024-06-30', '1 month') AS s",
            {0},
        ),
    ],
)
def test_what_is_unique_is(world: World, sql: str, unique: set[int] | None):
    found = relation(world, sql)
    assert found.unique == unique
    with empty() as connection:
        for statement in WORLD[:2]:
            connection.execute(statement)
        rows = connection.execute(printing.text(found.query)).fetchall()
    if unique is not None:
        seen = Counter(tuple(repr(row[place]) for place in sorted(unique)) for row in rows)
        assert not [values for values, times in seen.items() if times > 1]


def test_a_form_that_tells_no_values_apart_is_no_copy():
    assert float(2**53) == float(2**53 + 1)
    assert of_copies(frozenset({0, 1}), [2]) == {0, 1}
    assert of_copies(frozenset({0, 1}), [1]) is None
    assert of_copies(None, []) is None


@pytest.mark.parametrize(
    ("sql", "unique", "handed"),
    [
        ("SELECT age, city, count(*) FROM people GROUP BY age, city", {0, 1}, {0, 1}),
        ("SELECT count(*), city FROM people GROUP BY city", {1}, {1}),
        ("SELECT city, count(*) FROM people GROUP BY age, city", None, set()),
        ("SELECT age, city, count(*) FROM people GROUP BY CUBE (age, city)", None, set()),
        ("SELECT count(*) FROM people", set(), set()),
        ("SELECT age / 2.0 AS half, count(*) FROM people GROUP BY 1", {0}, set()),
        ("SELECT DISTINCT n FROM (SELECT age, avg(age) AS n FROM people GROUP BY age) AS s", {0}, set()),
    ],
)
def test_what_is_handed_on_of_it(world: World, sql: str, unique: set[int] | None, handed: set[int]):
    found = relation(world, sql)
    assert found.unique == unique
    assert of_values(found) == handed
