"""Which set operations keep the unit, and how many rows one unit then has, by brute force."""

from collections.abc import Iterator

import pytest

from dpproxy.values.errors import Refusal
from tests.empty import empty
from tests.golden.neighbours import furthest
from tests.golden.world import Tables, World, plan_of
from tests.planner.answers import answered
from tests.planner.clinic import rows_of_unit


@pytest.fixture(scope="module")
def tables(clinic: World) -> Iterator[Tables]:
    made = Tables(clinic)
    yield made
    made.close()


KEPT = [
    ("SELECT id FROM people UNION ALL SELECT id FROM people", 2),
    ("SELECT person FROM visits UNION ALL SELECT id FROM people", 3),
    ("SELECT hours FROM visits UNION ALL SELECT amount FROM bills UNION ALL SELECT age FROM people", 6),
    ("(SELECT hours FROM visits) UNION ALL (SELECT age FROM people ORDER BY age)", 3),
    ("SELECT ward FROM shops UNION ALL SELECT ward FROM shops", 2),
    ("SELECT hours FROM visits WHERE hours > 1 UNION ALL SELECT hours FROM visits WHERE hours <= 1", 4),
    ("SELECT person FROM visits UNION SELECT id FROM people", 1),
    ("SELECT id FROM people INTERSECT SELECT person FROM visits", 1),
    ("SELECT person FROM visits EXCEPT SELECT id FROM people WHERE age > 35", 1),
    ("SELECT person FROM visits UNION SELECT id FROM people UNION SELECT person FROM visits", 1),
    ("SELECT person, hours FROM visits UNION SELECT id, age FROM people", 3),
]


@pytest.mark.parametrize(("query", "most"), KEPT)
def test_one_unit_has_the_rows_of_both_sides(clinic: World, tables: Tables, query: str, most: int):
    plan = plan_of(clinic, f"SELECT count(*) FROM ({query}) AS u")
    if "shops" not in query:
        assert rows_of_unit(plan) == most
    assert [p.factor * w for p in plan.parts if p.mechanism for w in p.mechanism.widths] == [most]
    assert furthest(clinic, plan, tables)[0] <= plan.parts[0].factor


JOINED = [
    # The second number of a visit is met twice: rows that are referred to are cut within the whole union.
    (
        "SELECT count(*) FROM (SELECT person, no FROM visits UNION ALL SELECT person, no FROM visits) AS v "
        "JOIN bills AS b ON b.visit = v.no"
    ),
    (
        "SELECT count(*) FROM (SELECT person FROM visits UNION ALL SELECT id FROM people) AS u "
        "LEFT JOIN visits AS v ON v.person = u.person"
    ),
    (
        "SELECT count(*), sum(n) FROM (SELECT person, count(*) AS n FROM (SELECT person FROM visits "
        "UNION ALL SELECT id FROM people) AS u GROUP BY person) AS x"
    ),
    "SELECT count(DISTINCT person) FROM (SELECT person FROM visits UNION ALL SELECT id FROM people) AS u",
    (
        "SELECT w, count(*) FROM (SELECT ward AS w FROM visits UNION ALL SELECT kind FROM bills) AS u GROUP BY w"
    ),
]


@pytest.mark.parametrize("sql", JOINED)
def test_a_union_is_an_item_like_others(clinic: World, tables: Tables, sql: str):
    moved = furthest(clinic, plan_of(clinic, sql), tables)
    assert max(moved) >= 1


LOST = [
    "SELECT age FROM people UNION SELECT age FROM people",
    "SELECT age FROM people INTERSECT SELECT hours FROM visits",
    "SELECT age FROM people EXCEPT SELECT hours FROM visits",
    "SELECT ward FROM visits UNION ALL SELECT ward FROM shops",
    "SELECT ward FROM visits UNION ALL SELECT ward FROM wards",
    "SELECT count(*) FROM visits UNION ALL SELECT hours FROM visits",
    "SELECT age FROM people UNION ALL VALUES (1)",
    "SELECT age FROM people UNION ALL SELECT hours FROM visits LIMIT 1",
    "SELECT age FROM people UNION ALL (SELECT hours FROM visits OFFSET 1)",
]


@pytest.mark.parametrize("query", LOST)
def test_what_would_let_rows_decide_about_others_is_refused(clinic: World, query: str):
    with pytest.raises(Refusal) as caught:
        plan_of(clinic, f"SELECT count(*) FROM ({query}) AS u")
    assert caught.value.sqlstate == "PD002", caught.value
    assert caught.value.position is not None


@pytest.mark.parametrize(
    ("query", "sqlstate"),
    [
        ("SELECT age FROM people UNION ALL SELECT hours, no FROM visits", "42601"),
        ("SELECT age FROM people UNION ALL SELECT city FROM people", "42804"),
        ("SELECT id FROM people UNION ALL SELECT no FROM visits", "42501"),
        ("SELECT id FROM people UNION ALL SELECT age FROM people", "42501"),
        ("SELECT id FROM people EXCEPT SELECT person, no FROM visits", "42601"),
        ("SELECT id FROM people EXCEPT ALL SELECT person FROM visits", "0A000"),
    ],
)
def test_sides_that_do_not_fit_are_refused(clinic: World, query: str, sqlstate: str):
    with pytest.raises(Refusal) as caught:
        plan_of(clinic, f"SELECT count(*) FROM ({query}) AS u")
    assert caught.value.sqlstate == sqlstate, caught.value


def test_keys_of_both_sides_are_the_keys(clinic: World):
    same = "(SELECT ward AS w FROM visits UNION ALL SELECT ward FROM visits) AS u"
    assert answered(clinic, f"SELECT w, count(*) FROM {same} GROUP BY w") == [("A", 4), ("B", 2)]
    other = "(SELECT ward AS w FROM visits UNION ALL SELECT kind FROM bills) AS u"
    rows = answered(clinic, f"SELECT w, count(*) FROM {other} GROUP BY w")
    assert rows == [("A", 2), ("B", 1), ("x", 3), ("y", 1)]


def test_sums_are_bounded_by_either_side(clinic: World):
    union = "(SELECT age AS n FROM people UNION ALL SELECT hours + 0.5 FROM visits) AS u"
    [(total,)] = answered(clinic, f"SELECT sum(n) FROM {union}")
    assert float(str(total)) == 30 + 40 + 50 + 1.5 + 2.5 + 4.5


NULLS = "nullif(hours, 2)"
SETS = [
    "SELECT person, ward FROM visits UNION SELECT id, city FROM people",
    f"SELECT person, {NULLS} FROM visits EXCEPT SELECT person, {NULLS} FROM visits WHERE hours <> 1",
    f"SELECT person, {NULLS} FROM visits INTERSECT SELECT person, {NULLS} FROM visits WHERE hours <> 1",
    "SELECT id FROM people EXCEPT SELECT person FROM visits UNION SELECT person FROM visits WHERE hours > 2",
    "SELECT id FROM people EXCEPT (SELECT person FROM visits UNION SELECT person FROM visits WHERE hours > 2)",
    "SELECT person FROM visits UNION ALL SELECT id FROM people EXCEPT SELECT id FROM people WHERE age = 30",
]


@pytest.mark.parametrize("query", SETS)
def test_sets_of_rows_are_those_of_sql(clinic: World, query: str):
    """Nobody has more rows than MAX ROWS; visits of 9, who is no one of ``people``, count for nobody."""
    sql = f"SELECT count(*) FROM ({query}) AS u"
    with empty() as connection:
        for statement in clinic.ddl:
            connection.execute(statement)
        for name in ("people", "visits"):
            rows = [r for r in clinic.rows[name] if r[0] != 9]
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        assert answered(clinic, sql) == connection.execute(sql).fetchall()


def test_a_key_of_both_sides_is_still_no_value(clinic: World):
    union = "(SELECT person AS p FROM visits UNION ALL SELECT id FROM people) AS u"
    with pytest.raises(Refusal) as caught:
        plan_of(clinic, f"SELECT p, count(*) FROM {union} GROUP BY p")
    assert caught.value.sqlstate == "42501"
