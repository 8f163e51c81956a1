import pytest

from dpproxy.planner.accept import parse
from dpproxy.planner.near import LARGEST, MOST_WORK, NONE_NEAR, with_statement
from dpproxy.values.errors import Cancelled, Refusal, Unsupported
from dpproxy.values.work import OFTEN, limited, step
from tests.golden.world import World, build, plan_any


@pytest.fixture(scope="module")
def world() -> World:
    return build((
        "CREATE TABLE people (id INTEGER, age INTEGER, city VARCHAR, note VARCHAR)",
        "CREATE TABLE towns (town VARCHAR, size INTEGER)",
        "ALTER TABLE people SET PRIVACY KEY (id)",
        "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
        "ALTER TABLE people ALTER COLUMN city SET PRIVACY DOMAIN IN ('Oslo', 'Rome')",
        "ALTER TABLE towns SET PRIVACY PUBLIC",
    ))  # fmt: skip


def hint(world: World, sql: str) -> str:
    with pytest.raises(Refusal) as caught:
        plan_any(world, sql)
    with_statement(caught.value, parse(sql), lambda text: plan_any(world, text))
    return caught.value.hint or ""


@pytest.mark.parametrize(
    ("sql", "near"),
    [
        ("SELECT city, array_agg(age) FROM people GROUP BY city", "SELECT city, count(*) FROM people GROUP BY city"),
        ("SELECT count(*), array_agg(age) FROM people", "SELECT count(*), count(*) FROM people"),
        ("SELECT mode() WITHIN GROUP (ORDER BY city DESC, age) FROM people WHERE age > 3",
         "SELECT city, count(*) FROM people WHERE age > 3 GROUP BY city ORDER BY count(*) DESC LIMIT 1"),
        ("SELECT avg(age), random() FROM people", "SELECT avg(age) FROM people"),
        ("SELECT avg(age) FROM people WHERE age > 3 AND pg_sleep(1) IS NULL",
         "SELECT avg(age) FROM people WHERE age > 3"),
        ("SELECT avg(age) FROM people WHERE city SIMILAR TO 'R%'", "SELECT avg(age) FROM people"),
        ("SELECT avg(age) FILTER (WHERE pg_sleep(1) IS NULL) FROM people", "SELECT avg(age) FROM people"),
        ("SELECT city, count(*) FROM people GROUP BY city ORDER BY hash(city)",
         "SELECT city, count(*) FROM people GROUP BY city"),
        ("SELECT city, count(*) FROM people GROUP BY city HAVING array_agg(age) IS NULL",
         "SELECT city, count(*) FROM people GROUP BY city HAVING count(*) IS NULL"),
        ("SELECT count(*) FROM people GROUP BY sqrt(age)", "SELECT count(*) FROM people GROUP BY age"),
        ("SELECT count(*) FROM people, read_csv('x')", "SELECT count(*) FROM people"),
        ("SELECT a.age FROM people a, people b", "SELECT count(*) FROM people"),
        ("SELECT town FROM towns UNION ALL SELECT city FROM people", "SELECT town FROM towns"),
        ("SELECT count(*) FROM people WHERE city = 'Rome' COLLATE \"C\"",
         "SELECT count(*) FROM people WHERE city = 'Rome'"),
        ("SELECT avg(if(age > 3, 1, 0)) FROM people", "SELECT avg(CASE WHEN age > 3 THEN 1 ELSE 0 END) FROM people"),
        ("SELECT nvl2(city, 1, 0), count(*) FROM people GROUP BY 1",
         "SELECT CASE WHEN NOT city IS NULL THEN 1 ELSE 0 END, count(*) FROM people GROUP BY 1"),
    ],
)  # fmt: skip
def test_the_part_that_is_refused_is_left_out(world: World, sql: str, near: str):
    assert hint(world, sql).endswith(f"This is answered: {near};")


def test_what_no_statement_is_near_says_so(world: World):
    refused = Unsupported("x")
    with_statement(refused, parse("SELECT count(*) FROM nothing"), lambda text: plan_any(world, text))
    assert refused.hint == "Neither the statement without it nor a count of its rows is answered."


def test_a_hint_that_is_a_statement_stays_alone(world: World):
    assert hint(world, "SELECT id FROM people") == "SELECT count(*) FROM people;"


def test_all_that_is_tried_has_one_limit_of_work():
    def check(text: str) -> None:
        with limited():
            tried.append(text)
            step(MOST_WORK // 2 + OFTEN)
            raise Unsupported("no")

    tried: list[str] = []
    refused = Unsupported("x")
    with_statement(refused, parse("SELECT a, b, c, d FROM t, u WHERE e"), check)
    assert (len(tried), refused.hint) == (2, NONE_NEAR)


def test_a_cancel_ends_the_search():
    def check(_: str) -> None:
        raise Cancelled("x")

    with pytest.raises(Cancelled):
        with_statement(Unsupported("x"), parse("SELECT a FROM t"), check)


def test_of_long_statements_counts_are_named():
    tried: list[str] = []
    refused = Unsupported("x", hint="Say less.")
    with_statement(refused, parse(f"SELECT {', '.join(['1'] * LARGEST)} FROM people"), tried.append)
    near = "SELECT count(*) FROM people"
    assert (tried, refused.hint) == ([near], f"Say less. This is answered: {near};")


def test_a_hint_that_is_not_answered_gives_way_to_one_that_is(world: World):
    sql = "WITH t AS (SELECT id, age FROM people) SELECT t.age FROM t JOIN people USING (id)"
    near = "WITH t AS (SELECT id, age FROM people) SELECT count(*) FROM t JOIN people USING (id)"
    assert hint(world, sql) == f"This is answered: {near};"
