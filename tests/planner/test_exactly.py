"""Which statements are exact, and what they may show."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from dpproxy.algebra import nodes, printing
from dpproxy.algebra.plan import Caller, Plan, PublicPlan
from dpproxy.config.settings import DEFAULTS
from dpproxy.observe.audit_entry import AuditOutcome
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context
from dpproxy.planner.exactly import exact_tables, plan_for, visible_columns
from dpproxy.policy.model import Grant, ProtectedView
from dpproxy.values.errors import NotGranted, Refusal, UndefinedTable
from tests.empty import opened
from tests.golden.world import World, build, parameters

STATEMENTS = (
    "CREATE TABLE people (id INTEGER NOT NULL, age INTEGER, city VARCHAR, name VARCHAR)",
    "CREATE TABLE visits (person INTEGER, cost DOUBLE, note VARCHAR)",
    "CREATE TABLE staff (id INTEGER, pay INTEGER)",
    "CREATE TABLE cities (city VARCHAR, land VARCHAR)",
    "CREATE VIEW spent AS SELECT p.city, v.cost FROM people p JOIN visits v ON p.id = v.person",
    "INSERT INTO people VALUES (1, 20, 'Oslo', 'Ann'), (2, 40, 'Rome', 'Bob')",
    "INSERT INTO visits VALUES (1, 3, 'a'), (1, 4, 'b'), (2, 9, 'c')",
    "INSERT INTO cities VALUES ('Oslo', 'no'), ('Rome', 'it')",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people SET PRIVACY CEILING EPSILON 10",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people ALTER COLUMN city SET PRIVACY DOMAIN IN ('Oslo', 'Rome')",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 3",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 10",
    "ALTER TABLE staff SET PRIVACY KEY (id)",
    "ALTER TABLE cities SET PRIVACY PUBLIC",
    "CREATE PRIVACY BUDGET lab LIMIT EPSILON 10",
    "GRANT SELECT ON people, visits, spent TO analyst WITH PRIVACY BUDGET lab",
    "GRANT EXACT SELECT ON people, visits TO dpo",
    "GRANT EXACT SELECT ON people TO half",
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(STATEMENTS)


def context(world: World, *roles: str) -> Context:
    caller = Caller("ann", frozenset(roles), "ann")
    return Context(world.policy, world.schema, caller, DEFAULTS, facts=lambda _: ((2, 2),))


def tables(world: World, sql: str, *roles: str) -> Sequence[str]:
    return exact_tables(accept(parse(sql)), context(world, *roles))


def plan(world: World, sql: str, *roles: str) -> tuple[Plan | PublicPlan, list[AuditOutcome]]:
    told: list[AuditOutcome] = []
    given = replace(
        context(world, *roles), facts=lambda query: ((1,),) if len(query.items) == 1 else ((1, 9),)
    )
    return plan_for(accept(parse(sql)), given, parameters({}), told.append), told


def test_nobody_asks_exactly_unless_it_was_granted(world: World):
    for role in ("analyst", "admin", "stranger"):
        assert tables(world, "SELECT * FROM people", role) == ()
    assert tables(world, "SELECT * FROM people", "dpo") == ("people",)


@pytest.mark.parametrize(
    ("sql", "exact"),
    [
        ("SELECT count(*) FROM people", ("people",)),
        ("SELECT * FROM people AS p JOIN visits AS v ON p.id = v.person", ("people", "visits")),
        ("SELECT * FROM people JOIN cities USING (city)", ("people",)),
        ("WITH p AS (SELECT * FROM people) SELECT count(*) FROM p", ("people",)),
        ("SELECT count(*) FROM cities WHERE city IN (SELECT city FROM people)", ("people",)),
        ("SELECT count(*) FROM cities", ()),
        ("SELECT 1 AS one", ()),
    ],
)
def test_a_statement_is_exact_in_all_its_tables(world: World, sql: str, exact: tuple[str, ...]):
    assert tables(world, sql, "dpo") == exact
    found, told = plan(world, sql, "dpo")
    assert isinstance(found, PublicPlan)
    assert found.exact == exact
    assert found.free
    assert told == ([AuditOutcome.EXACT_PLAN] if exact else [])


def test_it_is_on_record_before_anything_is_read(world: World):
    def unread(query: nodes.Query) -> tuple[tuple[int, ...], ...]:
        raise AssertionError(query)

    def fail(_: AuditOutcome) -> None:
        raise NotGranted("the log is full")

    given = replace(context(world, "dpo"), facts=unread)
    with pytest.raises(NotGranted, match="the log is full"):
        plan_for(
            accept(parse("SELECT city, count(*) FROM people GROUP BY city")), given, parameters({}), fail
        )


def test_or_in_none(world: World):
    sql = "SELECT count(*) FROM people JOIN visits ON people.id = visits.person"
    found, told = plan(world, sql, "analyst", "half")
    assert isinstance(found, Plan)
    assert told == []
    with pytest.raises(NotGranted, match="for exact answers only") as caught:
        plan(
            replace(world, policy=replace(world.policy, grants=world.policy.grants[2:])),
            sql,
            "analyst",
            "half",
        )
    assert caught.value.position == sql.index("people")


def test_a_protected_view_beside_is_not_exact(world: World):
    view = ProtectedView("cities", (("method", "mdav"),), "SELECT age FROM people")
    policy = replace(world.policy, views={"cities": view})
    granted = replace(policy, grants=(*policy.grants, Grant("cities", "dpo", None)))
    assert tables(replace(world, policy=granted), "SELECT count(*) FROM cities", "dpo") == ()
    with pytest.raises(NotGranted, match="for exact answers only"):
        tables(replace(world, policy=granted), "SELECT count(*) FROM people, cities", "dpo")


def test_what_the_caller_cannot_see_is_told_like_what_is_missing(world: World):
    told = []
    for name in ("staff", "xxxxx"):
        with pytest.raises(UndefinedTable) as caught:
            plan(world, f"SELECT count(*) FROM people JOIN {name} ON people.id = {name}.id", "dpo")
        told.append((caught.value.message.replace(name, ""), caught.value.position, caught.value.hint))
    assert told[0] == told[1]


def test_a_view_is_exact_where_all_it_reads_is(world: World):
    found, _ = plan(world, "SELECT * FROM spent", "analyst", "dpo")
    assert isinstance(found, PublicPlan)
    assert found.exact == ("people", "visits")
    charged, _ = plan(world, "SELECT city, count(*) FROM spent GROUP BY city", "analyst", "half")
    assert isinstance(charged, Plan)
    with pytest.raises(UndefinedTable):
        plan(world, "SELECT * FROM spent", "dpo")


def test_what_is_not_declared_is_not_shown(world: World):
    found, _ = plan(world, "SELECT * FROM people", "dpo")
    assert [o.column.name for o in found.outputs] == ["id", "age", "city"]
    for sql in ("SELECT name FROM people", "SELECT count(name) FROM people", "SELECT note FROM visits"):
        with pytest.raises(Refusal) as caught:
            plan(world, sql, "dpo")
        assert caught.value.sqlstate == "42703"
    names = [c.name for c in visible_columns(world.policy, "visits", world.schema.tables["visits"])]
    assert names == ["person", "cost"]


def test_declared_fields_of_documents_are_columns():
    """They are read as beside other rows; no other part of the document is."""
    world = build(
        (
            "CREATE TABLE stays (id INTEGER NOT NULL, doc JSON)",
            "ALTER TABLE stays SET PRIVACY KEY (id)",
            "ALTER TABLE stays SET PRIVACY CEILING EPSILON 10",
            "ALTER TABLE stays ALTER COLUMN (doc ->> 'ward') SET PRIVACY DOMAIN IN ('a', 'b')",
            "ALTER TABLE stays ALTER COLUMN ((doc ->> 'cost')::int) SET PRIVACY DOMAIN BETWEEN 0 AND 9",
            "GRANT EXACT SELECT ON stays TO dpo",
        )
    )
    asked = (
        "SELECT s.id, s.doc ->> 'ward', CAST(s.doc ->> 'cost' AS int) FROM stays s "
        "JOIN stays t ON t.doc ->> 'ward' = s.doc ->> 'ward' WHERE (s.doc ->> 'cost')::int > 1"
    )
    found, _ = plan(world, asked, "dpo")
    assert isinstance(found, PublicPlan)
    rows = """(1, '{"ward": "a", "cost": 7, "name": "Ann"}'), (2, '{"ward": 5}'), (3, NULL)"""
    with opened() as engine:
        engine.execute(f"{world.ddl[0]}; INSERT INTO stays VALUES {rows}")
        assert engine.execute(printing.text(found.query)).fetchall() == [(1, "a", 7)]
    for hidden in ("doc", "doc ->> 'name'"):
        with pytest.raises(Refusal) as caught:
            plan(world, f"SELECT {hidden} FROM stays", "dpo")
        assert caught.value.sqlstate == "42703"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT rowid FROM people",
        "SELECT * FROM read_csv('/etc/passwd'), people",
        "SELECT pg_sleep(1) FROM people",
        "SELECT age, random() FROM people",
        "SELECT * FROM people TABLESAMPLE BERNOULLI (1)",
        "SELECT dp.with_prior(avg(age), 'normal(40, 9)') FROM people",
        "SELECT count(*) FROM salaries, people",
    ],
)
def test_the_same_allow_lists_hold(world: World, sql: str):
    with pytest.raises(Refusal) as caught:
        plan(world, sql, "dpo")
    assert caught.value.sqlstate in {"0A000", "42703", "42883", "42P01", "42601"}


def test_what_is_exact_for_one_is_public_for_nobody(world: World):
    """Neither in a subquery, which is charged beside its statement, nor as a prior, nor as a set of keys."""
    of_subquery = "SELECT count(*) FROM visits WHERE cost > (SELECT count(*) FROM people)"
    found, told = plan(world, of_subquery, "analyst", "half")
    assert isinstance(found, Plan)
    assert (len(found.charged), told) == (2, [])
    for sql in (
        "SELECT dp.with_prior(avg(cost), prior => (SELECT age, 1 FROM people)) FROM visits",
        "SELECT count(*) FROM visits JOIN people ON visits.person = people.age",
    ):
        with pytest.raises(Refusal):
            plan(world, sql, "analyst", "half")
