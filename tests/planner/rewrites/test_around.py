"""What a SELECT around a grouped one becomes, and what stays as it was written."""

import pytest

from dpproxy.algebra.plan import Plan
from dpproxy.analysis.scopes import Parameters
from dpproxy.planner.accept import parse
from dpproxy.planner.reuse.normal_form import stage
from dpproxy.planner.rewrites.around import MOST, with_inside
from dpproxy.values.errors import Refusal
from tests.golden.world import World, build, plan_of, plan_tree
from tests.planner.release.test_intervals import shown

COUNTED = "SELECT ward, count(*) AS n FROM v GROUP BY ward"


@pytest.mark.parametrize(
    ("written", "made"),
    [
        (
            f"SELECT q.ward, 2 * q.n FROM ({COUNTED}) AS q",
            'SELECT ward AS "ward", 2 * count(*) AS "?column?" FROM v GROUP BY ward',
        ),
        (
            "SELECT * FROM (SELECT ward AS w, count(*) FROM v WHERE x > 1 GROUP BY 1) AS q ORDER BY count, 1 LIMIT 3",
            'SELECT ward AS "w", count(*) AS "count" FROM v WHERE x > 1 GROUP BY ward ORDER BY count, 1 LIMIT 3',
        ),
        (
            f"SELECT n FROM ({COUNTED}) AS q WHERE q.ward IN ('a', 'b') AND NOT ward LIKE $1",
            """SELECT count(*) AS "n" FROM v GROUP BY ward HAVING ward IN ('a', 'b') AND NOT ward LIKE $1""",
        ),
        (
            "SELECT b, n FROM (SELECT y / 10 AS b, count(*) AS n FROM v GROUP BY 1) AS q WHERE b > 3",
            'SELECT y / 10 AS "b", count(*) AS "n" FROM v GROUP BY y / 10 HAVING (y / 10) > 3',
        ),
        (
            "SELECT q.* FROM (SELECT count(*) AS n FROM v) AS q OFFSET 1",
            'SELECT count(*) AS "n" FROM v OFFSET 1',
        ),
        (
            "WITH a AS (SELECT 1), q (k, m) AS (SELECT y + 1 AS b, avg(x) FROM v, a GROUP BY b) "  # noqa: ISC004
            "SELECT k AS b, m - lag(m) OVER (ORDER BY k) AS d FROM q AS r",
            'WITH a AS (SELECT 1) SELECT y + 1 AS "b", avg(x) - lag(avg(x)) OVER (ORDER BY (y + 1)) AS "d" '  # noqa: ISC004
            "FROM v, a GROUP BY b",
        ),
        (
            f"WITH q (w, m) AS ({COUNTED}) SELECT r.w, r.m FROM q AS r ORDER BY r.m",
            'SELECT ward AS "w", count(*) AS "m" FROM v GROUP BY ward ORDER BY count(*)',
        ),
        (
            f"SELECT m + 1 AS more FROM (SELECT n * 2 AS m FROM ({COUNTED}) AS i) AS q",
            'SELECT (count(*) * 2) + 1 AS "more" FROM v GROUP BY ward',
        ),
        (
            f"SELECT n AS ward, ward AS w FROM ({COUNTED.replace('ward', 'v.ward')}) AS q ORDER BY q.n",
            'SELECT count(*) AS "ward", v.ward AS "w" FROM v GROUP BY v.ward ORDER BY count(*)',
        ),
    ],
)
def test_both_are_one(written: str, made: str):
    assert with_inside(parse(written)).sql("postgres") == parse(made).sql("postgres")


@pytest.mark.parametrize(
    "sql",
    [
        COUNTED,
        f"SELECT ward, n FROM ({COUNTED}) AS q WHERE n > 3",
        f"SELECT ward, n FROM ({COUNTED}) AS q WHERE ward = 'a' OR n > 3",
        f"SELECT ward, n FROM ({COUNTED}) AS q WHERE true",
        f"SELECT ward, n FROM ({COUNTED}) AS q WHERE ward IN (SELECT ward FROM w)",
        f"SELECT ward, n FROM ({COUNTED}) AS q WHERE lag(ward) OVER (ORDER BY ward) = 'a'",
        f"SELECT DISTINCT n FROM ({COUNTED}) AS q",
        f"SELECT sum(n) FROM ({COUNTED}) AS q",
        f"SELECT ward, max(n) FROM ({COUNTED}) AS q GROUP BY ward",
        f"SELECT q.n, r.n FROM ({COUNTED}) AS q JOIN ({COUNTED}) AS r USING (ward)",
        f"SELECT q.n FROM ({COUNTED}) AS q, v",
        f"SELECT n, (SELECT 1) AS one FROM ({COUNTED}) AS q",
        f"SELECT n, CASE WHEN n > 3 THEN 1 END FROM ({COUNTED}) AS q",
        f"SELECT n, 1 FROM ({COUNTED}) AS q",
        f"SELECT n, other FROM ({COUNTED}) AS q",
        f"SELECT r.n FROM ({COUNTED}) AS q",
        f"SELECT r.* FROM ({COUNTED}) AS q",
        f"SELECT s.q.n FROM ({COUNTED}) AS q",
        f"SELECT s.q.* FROM ({COUNTED}) AS q",
        f"WITH q AS (SELECT 1 AS n), q AS ({COUNTED}) SELECT n FROM q",
        f"SELECT n FROM ({COUNTED}) AS q ORDER BY CASE WHEN n > 3 THEN 1 END",
        f"SELECT n AS ward FROM ({COUNTED}) AS q",
        f"SELECT ward FROM ({COUNTED}) AS q",
        f"SELECT n FROM ({COUNTED} HAVING count(*) > 3) AS q",
        f"SELECT n FROM ({COUNTED} ORDER BY n LIMIT 3) AS q",
        f"SELECT n FROM ({COUNTED} UNION ALL {COUNTED}) AS q",
        "SELECT ward FROM (SELECT ward FROM v) AS q",
        "SELECT n FROM (SELECT *, 1 AS n FROM v GROUP BY 1) AS q",
        "SELECT n FROM (SELECT ward, x AS other, count(*) AS n FROM v GROUP BY ward) AS q",
        "SELECT n FROM (SELECT ward, count(*) AS n FROM v GROUP BY ROLLUP (ward)) AS q",
        "SELECT n, n2 FROM (SELECT count(*) AS n, 'a' AS n2 FROM v) AS q",
        "SELECT n FROM (SELECT count(*) AS n, count(*) AS n FROM v) AS q",
        "SELECT n, r FROM (SELECT count(*) AS n, rank() OVER (ORDER BY count(*)) AS r FROM v GROUP BY ward) AS q",
        "SELECT n, (SELECT 1) FROM (SELECT count(*) + (SELECT 1) AS n FROM v) AS q",
        "SELECT n FROM (SELECT y / 10 AS b, count(*) AS n FROM v GROUP BY b) AS q",
        "SELECT k, n FROM (SELECT y / 10 AS b, count(*) AS n FROM v GROUP BY b) AS q (k)",
        "SELECT n FROM (SELECT DISTINCT count(*) AS n FROM v GROUP BY ward) AS q",
        "SELECT n FROM (WITH v AS (SELECT 1 AS ward) SELECT count(*) AS n FROM v) AS q",
        f"WITH q AS ({COUNTED}) SELECT n FROM q AS r (n, ward)",
        f"WITH q AS ({COUNTED}) SELECT q.n FROM q AS r",
        f"WITH q AS ({COUNTED}) SELECT n FROM s.q",
        f"WITH q AS ({COUNTED}), r AS (SELECT 1 AS a) SELECT n FROM q",
        f"WITH q AS ({COUNTED}) SELECT n - (SELECT count(*) FROM q) FROM q",
        "SELECT $1 + n FROM (SELECT count(*) AS n FROM v) AS q",
        "SELECT n FROM (SELECT count(*) + $1 AS n FROM v) AS q",
    ],
)
def test_others_stay(sql: str):
    tree = parse(sql)
    assert with_inside(tree) is tree


ANY = (
    f"WITH a AS (SELECT 1 AS n), q AS ({COUNTED}) SELECT max(n) FROM q",
    f"WITH a AS (SELECT 1 AS n), q AS ({COUNTED}) SELECT n + 1 FROM q LIMIT 3",
    f"WITH q (w, m) AS ({COUNTED}) SELECT m FROM q WHERE m > 3",
    f"SELECT n FROM (SELECT n FROM ({COUNTED}) AS i OFFSET 2) AS q LIMIT 1",
)


@pytest.mark.parametrize("sql", ANY)
def test_the_statement_itself_stays_as_it_is(sql: str):
    tree = parse(sql)
    copy = tree.copy()
    with_inside(tree)
    assert tree == copy
    for node in tree.walk():
        assert all(child.parent is node for child in node.iter_expressions())


def test_columns_that_stand_in_it_often_make_it_no_longer_than_allowed():
    sql = COUNTED
    for level in range(40):
        sql = f"SELECT n + n AS n FROM ({sql}) AS q{level}"
    made = with_inside(parse(sql))
    assert sum(1 for _ in made.walk()) < 2 * MOST


@pytest.fixture(scope="module")
def world() -> World:
    return build(
        [
            "CREATE TABLE people (id INTEGER, g INTEGER, age INTEGER)",
            "ALTER TABLE people SET PRIVACY KEY (id)",
            "ALTER TABLE people ALTER COLUMN g SET PRIVACY DOMAIN BETWEEN 0 AND 5",
            "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
        ]
    )


INSIDE = "SELECT g, count(*) AS n, sum(age) AS s FROM people GROUP BY g"


def released(plan: Plan) -> object:
    """What is asked of the rows, whatever the order of columns."""
    [part] = plan.parts
    found = stage(part.query)
    return found.rows, found.conditions, *(sorted(map(repr, terms)) for terms in (found.keys, found.measures))


@pytest.mark.parametrize(
    ("where", "having"), [("", ""), ("WHERE g > 1 AND g <> 4", "HAVING g > 1 AND g <> 4")]
)
@pytest.mark.parametrize(
    ("around", "alone"),
    [
        ("g, s, n", "g, sum(age) AS s, count(*) AS n"),
        ("g, s - 40 * n", "g, sum(age) - 40 * count(*)"),
        ("g, 1.0 * s / n AS mean", "g, 1.0 * sum(age) / count(*) AS mean"),
        (
            "g, n - lag(n) OVER (ORDER BY g) AS d, s",
            "g, count(*) - lag(count(*)) OVER (ORDER BY g) AS d, sum(age)",
        ),
    ],
)
def test_it_shows_the_same_and_is_as_near_as_one_select(
    world: World, around: str, alone: str, where: str, having: str
):
    options = {"dp.intervals": "columns"}
    sql = f"SELECT {around} FROM ({INSIDE}) AS q"
    made, one, apart = (
        plan_of(world, each, options)
        for each in (
            f"{sql} {where}",
            f"SELECT {alone} FROM people GROUP BY g {having}",
            f"{sql} {where or 'WHERE true'} {where and 'AND n > -10000'}",
        )
    )
    assert [o.accuracy for o in made.outputs] == [o.accuracy for o in one.outputs]
    rows = [[40 + g, 1000 * g] for g in range(6)]
    places = [n for n, o in enumerate(made.outputs) if o.bound is None]
    of_one, of_two = ([[str(row[n]) for n in places] for row in shown(plan, rows)] for plan in (made, apart))
    assert of_one == of_two
    assert released(made) == released(apart)


def test_each_statement_around_one_query_asks_for_one_release(world: World):
    plans = [
        plan_of(world, f"SELECT {around} FROM ({INSIDE}) AS q {where}")
        for around in ("g, n, s", "n", "s - n", "sum(n)", "g, s")
        for where in ("", "WHERE g < 3", "WHERE n > 3")
    ]
    assert all(released(plan) == released(plans[0]) for plan in plans)


def test_it_is_planned_again_as_before(world: World):
    sql = f"WITH a AS (SELECT 1 AS n), q AS ({INSIDE}) SELECT max(n), max(s) FROM q"
    tree = parse(sql)
    first, again = (plan_tree(world, tree, Parameters()) for _ in range(2))
    assert first == again


def test_what_is_refused_is_said_of_the_statement_as_it_was_written(world: World):
    sql = f"SELECT n, s FROM ({INSIDE}) AS q WHERE g LIKE 'x'"
    with pytest.raises(Refusal) as refused:
        plan_of(world, sql)
    assert refused.value.position == sql.index("g LIKE")


def test_columns_of_what_each_person_has_are_told_where_no_rows_are_asked_for(world: World):
    sql = "SELECT * FROM (SELECT id, count(*) AS n FROM people GROUP BY id) AS q"
    assert [o.column.name for o in plan_of(world, f"{sql} LIMIT 0").outputs] == ["id", "n"]
    with pytest.raises(Refusal):
        plan_of(world, sql)


def test_what_it_is_ordered_by_is_a_column_inside_whatever_the_list_calls_by_its_name(world: World):
    inside = "SELECT g AS k, count(*) AS c FROM people GROUP BY people.g"
    plan = plan_of(world, f"SELECT c AS g, k AS m FROM ({inside}) AS q ORDER BY k DESC")
    assert [int(str(m)) for _, m, *_ in shown(plan, [[(7 * g) % 5] for g in range(6)])] == [5, 4, 3, 2, 1, 0]
