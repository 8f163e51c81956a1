"""IN, EXISTS and single values over protected rows: about the same person, or released first, or refused."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from dpproxy.config.settings import PRESENT, moments
from dpproxy.values.errors import (
    InvalidParameter,
    Refusal,
    SyntaxRefused,
    TypeMismatch,
    Unsupported,
)
from tests.golden.neighbours import furthest
from tests.golden.world import Tables, World, build, plan_of
from tests.planner.answers import answered
from tests.planner.clinic import one_part

FOLLOWS = [
    "id IN (SELECT person FROM visits)",
    "id IN (SELECT person FROM visits WHERE ward = 'A')",
    "id NOT IN (SELECT person FROM visits)",
    "(id, age) IN (SELECT person, hours FROM visits)",
    "id IN (SELECT person FROM visits GROUP BY person HAVING count(*) > 1)",
    "id IN (SELECT person FROM visits UNION ALL SELECT id FROM people)",
    "EXISTS (SELECT 1 FROM visits v WHERE v.person = people.id AND v.hours > people.age)",
    "EXISTS (SELECT 1 FROM visits v WHERE (v.hours > 1 AND id = person))",
    "NOT EXISTS (SELECT 1 FROM visits v JOIN bills b ON b.visit = v.no WHERE v.person = people.id)",
    "age > (SELECT max(hours) FROM visits v WHERE v.person = people.id)",
]


@pytest.mark.parametrize("condition", FOLLOWS)
def test_a_subquery_about_the_same_person_is_part_of_the_row(clinic: World, condition: str):
    exact = one_part(clinic, f"SELECT count(*) FROM people WHERE {condition}").exact
    assert "SELECT" in exact.split("WHERE", 1)[1]


HOSTILE = [
    "EXISTS (SELECT 1 FROM visits)",
    "EXISTS (SELECT 1 FROM visits v WHERE v.ward = 'A')",
    "EXISTS (SELECT 1 FROM visits v WHERE v.hours = age)",
    "EXISTS (SELECT 1 FROM visits v WHERE v.person = v.person)",
    "EXISTS (SELECT 1 FROM visits v, visits w WHERE v.person = w.person)",
    "EXISTS (SELECT 1 FROM visits v WHERE v.person = people.id OR true)",
    "EXISTS (SELECT 1 FROM visits v WHERE NOT v.person = people.id)",
    # The link is in the ON of an outer join, which keeps everybody's rows on the other side.
    "EXISTS (SELECT 1 FROM visits v LEFT JOIN visits w ON w.person = people.id)",
    "EXISTS (SELECT 1 FROM visits v LEFT JOIN visits w ON w.person = v.person AND w.person = people.id)",
    "EXISTS (SELECT 1 FROM visits v FULL JOIN visits w ON w.person = v.person AND v.person = people.id)",
    "EXISTS (SELECT 1 FROM wards r LEFT JOIN visits v ON v.person = people.id)",
    # The same name inside and outside: the inner one is meant, twice.
    "EXISTS (SELECT 1 FROM people WHERE people.id = people.id)",
    "EXISTS (SELECT 1 FROM people AS people WHERE id = people.id)",
    "EXISTS (SELECT 1 FROM visits AS people WHERE people.person = people.person)",
    # One item of the subquery follows, another one does not.
    "EXISTS (SELECT 1 FROM visits v, visits w WHERE v.person = people.id)",
    "EXISTS (SELECT 1 FROM visits v LEFT JOIN visits w ON w.ward = v.ward WHERE v.person = people.id)",
    # Two levels down, the row outside is compared with neither.
    "EXISTS (SELECT 1 FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person = v.person))",
    "EXISTS (SELECT 1 FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person = people.id))",
    "age IN (SELECT hours FROM visits)",
    "id IN (SELECT no FROM visits)",
    "age IN (SELECT age FROM people WHERE id = id)",
    "city IN (SELECT ward FROM visits v WHERE v.person <> people.id)",
    "id IN (SELECT v.person FROM visits v, visits w)",
    "age IN (SELECT hours FROM visits EXCEPT SELECT hours FROM visits)",
    "age > (SELECT max(hours) FROM visits v WHERE v.ward < people.city)",
    "age > (SELECT hours FROM visits v WHERE v.person = people.id LIMIT 1)",
    "age > (SELECT hours FROM visits)",
    "EXISTS (SELECT 1 FROM shops)",
    "city IN (SELECT ward FROM shops)",
]


@pytest.mark.parametrize("condition", HOSTILE)
def test_what_another_person_would_decide_is_refused(clinic: World, condition: str):
    with pytest.raises(Refusal) as refusal:
        plan_of(clinic, f"SELECT count(*) FROM people WHERE {condition}")
    assert refusal.value.sqlstate in ("PD002", "42501"), refusal.value
    assert refusal.value.position is not None


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("id IN (SELECT person FROM visits)", 2),
        ("id NOT IN (SELECT person FROM visits)", 1),
        ("id IN (SELECT * FROM (SELECT person FROM visits) v)", 2),
        ("id IN (SELECT v.* FROM (SELECT person FROM visits WHERE hours > 1) v)", 2),
        ("city IN (SELECT * FROM (VALUES ('Rome')) v)", 2),
        ("(city, age) IN (SELECT * FROM (VALUES ('Rome', 40), ('Rome', 1)) v)", 1),
        ("id IN (SELECT person FROM visits WHERE hours > 1)", 2),
        ("EXISTS (SELECT 1 FROM visits v WHERE v.person = id AND v.hours * 15 = age)", 1),
        ("age > (SELECT 12 * max(hours) FROM visits v WHERE v.person = people.id)", 2),
        ("city IN (SELECT 'Rome' FROM wards)", 2),
        ("EXISTS (SELECT 1 FROM wards w WHERE w.beds = age - 20)", 2),
        ("age > (SELECT max(beds) FROM wards)", 3),
        ("age > (SELECT 3.5 * beds FROM wards WHERE building = 'south')", 3),
        ("age = (SELECT beds FROM wards WHERE false)", 0),
    ],
)
def test_without_noise_it_is_what_sql_says(clinic: World, condition: str, count: int):
    assert answered(clinic, f"SELECT count(*) FROM people WHERE {condition}") == [(count,)]


@pytest.mark.parametrize(
    "value", ["SELECT avg(age) FROM people", "SELECT a FROM t", "SELECT * FROM t WHERE a > 1"]
)
def test_a_value_over_everybody_is_released_first_and_then_a_constant(clinic: World, value: str):
    sql = f"SELECT count(*) FROM people WHERE age > ({value})"
    sql = f"WITH t AS (SELECT avg(age) AS a FROM people) {sql}" if " t" in value else sql
    first, second = plan_of(clinic, sql, {"dp.epsilon": "1"}).parts
    assert first.loss == second.loss
    assert [taken.number for taken in second.inputs] == [2]
    assert "AVG" not in second.exact
    assert answered(clinic, sql) == [(1,)]


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        ("age > (SELECT beds FROM wards)", InvalidParameter),
        ("age > (SELECT beds, 1 FROM wards)", SyntaxRefused),
        ("id IN (SELECT person, 1 FROM visits)", SyntaxRefused),
        ("age > (SELECT count(*) FROM people GROUP BY city)", Unsupported),
        (
            "city = (SELECT string_agg(c, ',') FROM (SELECT city AS c, count(*) FROM people GROUP BY city) AS t)",
            TypeMismatch,
        ),
        ("EXISTS (SELECT count(*) FROM visits v WHERE v.person = id)", Unsupported),
        ("EXISTS (SELECT 1 FROM visits v WHERE v.person = id LIMIT 1)", Unsupported),
        ("row_number() OVER () = 1", Refusal),
    ],
)
def test_refused(clinic: World, condition: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_of(clinic, f"SELECT count(*) FROM people WHERE {condition}")


NULLS = (
    "CREATE TABLE people (id INTEGER, a INTEGER, c VARCHAR)",
    "CREATE TABLE visits (person INTEGER, n INTEGER)",
    "CREATE TABLE codes (k INTEGER, c VARCHAR)",
    "CREATE TABLE none (k INTEGER)",
    "INSERT INTO people VALUES (1, 1, 'x'), (2, 2, 'y'), (3, NULL, 'x'), (4, 4, NULL)",
    "INSERT INTO visits VALUES (1, 1), (1, 5), (2, 3), (2, NULL), (3, 3)",
    "INSERT INTO codes VALUES (1, 'x'), (2, NULL), (NULL, 'z'), (NULL, NULL)",
    "ALTER TABLE codes SET PRIVACY PUBLIC",
    "ALTER TABLE none SET PRIVACY PUBLIC",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN a SET PRIVACY DOMAIN BETWEEN 0 AND 9",
    "ALTER TABLE people ALTER COLUMN c SET PRIVACY DOMAIN IN ('x', 'y', NULL)",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 9",
    "ALTER TABLE visits ALTER COLUMN n SET PRIVACY DOMAIN BETWEEN 0 AND 9",
)
LISTS = (
    "a {IN} (SELECT k FROM codes)",
    "a {IN} (SELECT k FROM codes WHERE k IS NOT NULL)",
    "a {IN} (SELECT k FROM codes z WHERE z.c = people.c)",
    "a {IN} (SELECT k FROM none)",
    "a + 1 {IN} (SELECT k FROM codes WHERE c IS NOT NULL)",
    "NULL {IN} (SELECT k FROM codes)",
    "NULL {IN} (SELECT k FROM none)",
    "a {IN} (SELECT max(k) FROM codes GROUP BY c)",
    "(a, c) {IN} (SELECT k, c FROM codes)",
    "(a, c) {IN} (SELECT k, c FROM codes WHERE k IS NOT NULL)",
    "(a, c) {IN} (SELECT k, c FROM codes WHERE c IS NOT NULL)",
    "(a, 'x') {IN} (SELECT k, c FROM codes WHERE k = 2)",
    "a {IN} (SELECT n FROM visits v WHERE v.person = people.id)",
    "id {IN} (SELECT person FROM visits)",
    "(id, a) {IN} (SELECT person, n FROM visits)",
)
FORMS = (
    "{}", "NOT ({})", "({}) IS NULL", "({}) IS NOT TRUE", "coalesce({}, true)", "CASE WHEN {} THEN false ELSE true END",
    "a = 9 OR {}", "({}) = false", "CASE {} WHEN false THEN true END", "CASE WHEN true THEN {} END",
)  # fmt: skip


@pytest.fixture(scope="module")
def nulls() -> World:
    return build(NULLS)


@pytest.mark.parametrize(("word", "forms"), [("IN", FORMS), ("NOT IN", FORMS[:3])], ids=["IN", "NOT IN"])
@pytest.mark.parametrize("listed", LISTS)
def test_a_public_null_decides_as_in_sql(nulls: World, listed: str, word: str, forms: tuple[str, ...]):
    condition = listed.replace("{IN}", word)
    calls = [f"count({condition})", *(f"count(*) FILTER (WHERE {form.format(condition)})" for form in forms)]
    tables = Tables(nulls)
    tables.fill(nulls.rows)
    asked = [
        ", ".join(calls[n : n + 3]) for n in range(0, len(calls), 3)
    ]  # more would take the engine long to plan
    for sql in (f"SELECT {shown} FROM people" for shown in asked):
        expected = list(zip(*(c.to_pylist() for c in tables.table(sql).columns), strict=True))
        assert answered(nulls, sql) == expected, sql
    tables.close()


@pytest.mark.parametrize("query", ["SELECT person FROM visits", "SELECT person FROM visits WHERE n > 3"])
def test_a_null_among_the_keys_of_others_decides_about_nobody(nulls: World, query: str):
    more = {**nulls.rows, "visits": [*nulls.rows["visits"], (None, 5)]}
    sql = f"SELECT count(*) FROM people WHERE id NOT IN ({query})"
    assert answered(nulls, sql) == answered(replace(nulls, rows=more), sql) != [(0,)]


def test_a_key_that_is_null_is_neither_in_nor_out(nulls: World):
    """Whether others have rows at all is not looked at."""
    joined = "FROM people p LEFT JOIN visits v ON v.person = p.id WHERE v.person"
    assert answered(nulls, f"SELECT count(*) {joined} IN (SELECT id FROM people)") == [(5,)]
    assert answered(nulls, f"SELECT count(*) {joined} NOT IN (SELECT id FROM people)") == [(0,)]


def test_where_null_is_as_good_as_false_nothing_is_added(nulls: World):
    for condition in ("a IN (SELECT k FROM codes)", "(a = 9 OR (a IN (SELECT k FROM codes)))"):
        assert one_part(nulls, f"SELECT count(*) FROM people WHERE {condition}").exact.count("EXISTS") == 1
    assert (
        one_part(nulls, "SELECT count(*) FROM people WHERE NOT a IN (SELECT k FROM codes)").exact.count(
            "EXISTS"
        )
        == 3
    )


def test_many_values_that_may_be_null_are_refused(nulls: World):
    with pytest.raises(Unsupported, match="at most 2") as refused:
        plan_of(nulls, "SELECT count(*) FROM people WHERE (a, a, a) NOT IN (SELECT k, k, k FROM codes)")
    assert refused.value.hint is not None


@pytest.mark.parametrize(
    "moment",
    [
        "(SELECT current_timestamp + (-8000 || ' day')::interval)",
        "(SELECT current_timestamp - INTERVAL '8000 days')",
    ],
)
def test_a_moment_of_a_subquery_is_the_moment_itself(world: World, moment: str):
    """As texts that are put together are the interval itself."""
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    given = {PRESENT: moments(noon, noon)}
    [part] = plan_of(
        world, f"SELECT count(*) FROM people WHERE extract(hour FROM {moment}) < age", given
    ).parts
    assert "'2002-06-06 12:00:00'" in part.exact


FOLLOWED = {
    "sum((SELECT w.beds FROM wards w WHERE w.beds = p.age))": 0,
    "count((SELECT building FROM wards w WHERE w.beds = p.age - 20))": 2,
    "sum((SELECT beds FROM wards w WHERE w.beds = p.age - 20))": 20 + 10,
    "sum(coalesce((SELECT beds FROM wards w WHERE w.beds = p.age - 25), 0))": 5,
    "count(*) FILTER (WHERE (SELECT beds + 1 FROM wards w WHERE p.age - 20 = w.beds) > 11)": 1,
}


@pytest.mark.parametrize("value", FOLLOWED)
def test_a_public_row_that_a_column_finds_is_part_of_the_row(clinic: World, value: str):
    sql = f"SELECT {value} FROM people p"
    assert answered(clinic, sql) in ([(FOLLOWED[value],)], [(FOLLOWED[value] or None,)])
    tables = Tables(clinic)
    try:
        furthest(clinic, plan_of(clinic, sql), tables)
    finally:
        tables.close()


def test_a_column_that_finds_several_public_rows_has_no_one_value(clinic: World):
    with pytest.raises(InvalidParameter, match="more than one row"):
        plan_of(clinic, "SELECT sum((SELECT beds FROM wards w WHERE w.ward = v.ward)) FROM visits v")
