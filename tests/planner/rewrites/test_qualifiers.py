"""Columns behind a schema and a table: what PostgreSQL finds, and what it refuses."""

# ruff: noqa: ISC004 - statements written out

import psycopg
import pytest
from sqlglot import exp

from dpproxy.planner.accept import accept, parse
from dpproxy.planner.rewrites.qualifiers import without_schemas
from dpproxy.planner.view_text import read_text
from dpproxy.values.errors import UndefinedTable, Unsupported
from tests.golden.world import World, plan_of
from tests.planner.answers import answered
from tests.postgres import Server

TABLES = (
    "CREATE TABLE people (id integer, city text, age integer)",
    "CREATE TABLE cities (city text, size integer)",
    "INSERT INTO people VALUES (1, 'Oslo', 30), (2, 'Rome', 40), (3, 'Rome', 50)",
    "INSERT INTO cities VALUES ('Oslo', 3), ('Rome', 7)",
)
FOUND = (
    'SELECT "public"."people"."city" FROM "public"."people"',
    "SELECT public.people.city FROM people GROUP BY public.people.city HAVING max(public.people.age) > 1 "
    "ORDER BY public.people.city",
    "SELECT count(*) FROM people JOIN cities ON public.people.city = public.cities.city WHERE public.cities.size > 3",
    "SELECT count(*) FROM (people JOIN cities ON public.people.city = public.cities.city)",
    "SELECT public.cities.* FROM cities ORDER BY public.cities.size",
    "SELECT city FROM cities WHERE EXISTS (SELECT 1 FROM people WHERE public.people.city = public.cities.city)",
    "SELECT (SELECT max(age) FROM people WHERE people.city = public.cities.city) FROM cities ORDER BY 1",
    "SELECT city, rank() OVER (PARTITION BY public.cities.size ORDER BY public.cities.city) FROM cities ORDER BY 1",
    "WITH cities AS (SELECT public.cities.city FROM cities) SELECT cities.city FROM cities ORDER BY 1",
    "SELECT t.size FROM (SELECT public.cities.size FROM public.cities) AS t ORDER BY t.size",
    "SELECT count(*) FROM cities c JOIN cities ON EXISTS (SELECT 1 FROM people WHERE public.cities.size > c.size)",
    "SELECT size FROM cities UNION ALL SELECT public.people.age FROM people ORDER BY 1",
)
REFUSED = (
    "SELECT public.people.city FROM people AS p",
    "SELECT other.people.city FROM people",
    "SELECT public.p.city FROM people AS p",
    "SELECT public.people.city FROM cities",
    "SELECT public.people.city FROM (SELECT * FROM people) AS people",
    "WITH people AS (SELECT * FROM public.people) SELECT public.people.city FROM people",
    "WITH x AS (SELECT city FROM people) SELECT public.x.city FROM x",
    "SELECT 1 FROM people JOIN (SELECT public.people.city FROM cities) AS t ON true",
    "SELECT size FROM cities UNION ALL SELECT age FROM people ORDER BY public.people.age",
    "SELECT public.people.* FROM cities",
)


@pytest.mark.parametrize("sql", FOUND)
def test_what_postgresql_answers_is_a_name_without_schema(sql: str, postgres: Server) -> None:
    tree = without_schemas(parse(sql))
    assert not any(c.args.get("db") for c in tree.find_all(exp.Column))
    with psycopg.connect(postgres.url()) as connection:
        for statement in TABLES:
            connection.execute(statement.encode())
        written = connection.execute(sql.encode()).fetchall()
        assert connection.execute(tree.sql("postgres").encode()).fetchall() == written
        connection.rollback()


@pytest.mark.parametrize("sql", REFUSED)
def test_what_postgresql_refuses_is_refused_in_its_words(sql: str, postgres: Server) -> None:
    with pytest.raises(UndefinedTable) as ours:
        accept(parse(sql))
    with psycopg.connect(postgres.url()) as connection:
        for statement in TABLES:
            connection.execute(statement.encode())
        with pytest.raises(psycopg.errors.UndefinedTable) as theirs:
            connection.execute(sql.encode())
        connection.rollback()
    assert theirs.value.diag.message_primary == ours.value.message
    assert ours.value.position is not None
    assert str(ours.value.position + 1) == theirs.value.diag.statement_position


def test_a_name_that_is_hidden_inside_is_refused() -> None:
    with pytest.raises(Unsupported, match="inside the subquery"):
        accept(
            parse(
                "SELECT 1 FROM people WHERE EXISTS (SELECT 1 FROM cities people WHERE public.people.city = 'a')"
            )
        )


def test_the_hint_names_the_alias() -> None:
    with pytest.raises(UndefinedTable) as refused:
        accept(parse("SELECT count(public.people.age) FROM people AS p"))
    assert refused.value.hint == 'In FROM it is called "p": write "p"."age".'


def test_both_names_of_the_schema_are_one() -> None:
    tree = accept(parse("SELECT public.people.age FROM main.people"))
    assert tree.sql() == "SELECT people.age FROM main.people"


@pytest.mark.parametrize(
    ("sql", "bare"),
    [
        (
            "SELECT public.people.city, count(public.people.age) FROM public.people WHERE public.people.age > 30 "
            "GROUP BY public.people.city ORDER BY public.people.city",
            "SELECT city, count(age) FROM people WHERE age > 30 GROUP BY city ORDER BY city",
        ),
        (
            "SELECT count(*) FROM public.people JOIN public.cities ON public.cities.city = public.people.city "
            "WHERE public.cities.size > 3",
            "SELECT count(*) FROM people JOIN cities ON cities.city = people.city WHERE cities.size > 3",
        ),
        (
            "SELECT count(*) FROM people WHERE EXISTS "
            "(SELECT 1 FROM visits WHERE public.visits.patient = public.people.id)",
            "SELECT count(*) FROM people WHERE EXISTS "
            "(SELECT 1 FROM visits WHERE visits.patient = people.id)",
        ),
        (
            "SELECT public.people.city, rank() OVER (ORDER BY count(public.people.age) DESC) FROM people "
            "GROUP BY public.people.city HAVING count(public.people.age) > 0",
            "SELECT city, rank() OVER (ORDER BY count(age) DESC) FROM people GROUP BY city HAVING count(age) > 0",
        ),
    ],
)
def test_questions_about_people_are_the_same_with_and_without(world: World, sql: str, bare: str) -> None:
    ours, theirs = plan_of(world, sql), plan_of(world, bare)
    assert [p.exact for p in ours.parts] == [p.exact for p in theirs.parts]
    assert ours.answer == theirs.answer
    assert [o.column.name for o in ours.outputs] == [o.column.name for o in theirs.outputs]


def test_views_of_the_data_may_name_their_columns_so() -> None:
    sql = "CREATE VIEW old AS SELECT main.people.age FROM main.people WHERE main.people.age > 40"
    assert read_text(sql, ["people"], {}).tree.sql() == (
        'SELECT "people"."age" FROM "main"."people" WHERE "people"."age" > 40'
    )


def test_public_tables_are_answered(world: World) -> None:
    sql = "SELECT public.cities.city AS c, public.cities.size FROM public.cities ORDER BY public.cities.size DESC"
    assert answered(world, sql) == [("Rome", 7), ("Oslo", 3)]
