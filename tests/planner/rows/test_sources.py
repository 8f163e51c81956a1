"""The entries of FROM, the names of WITH, and subqueries that see nothing around them."""

import pytest
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.open.relations import Open
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.relation import JoinedRows, Scan
from dpproxy.planner.rows.scans import protected_scan
from dpproxy.planner.rows.sources import REFERENCE, Env, FromEntry, Relation, apart, entries, with_ctes
from dpproxy.values.errors import Refusal
from tests.golden.world import World, plan_any, plan_of
from tests.planner.answers import answered
from tests.planner.passes import planning_of


@pytest.fixture
def planning(clinic: World) -> Planning:
    return planning_of(clinic)


def planned(query: exp.Expr, alias: str, planning: Planning, env: Env) -> Relation:
    """Every subquery is about visits; what it could see is in ``SEEN``."""
    SEEN.append((query, env))
    return protected_scan(planning.context.policy.tables["visits"], alias, planning, lone=False)


SEEN: list[tuple[exp.Expr, Env]] = []
ENV = Env(planned)


def listed(sql: str, planning: Planning, env: Env = ENV) -> list[FromEntry]:
    SEEN.clear()
    tree = accept(parse(sql))
    assert isinstance(tree, exp.Select)
    return entries(tree, planning, with_ctes(tree, env))


def test_entries_stand_in_order_under_their_aliases(planning: Planning):
    found = listed("SELECT 1 FROM wards, people p JOIN (SELECT 1) AS x (a, b) ON true", planning)
    assert [e.alias for e in found] == ["wards", "p", "x"]
    assert [e.is_protected for e in found] == [False, True, True]
    assert [e.join is None for e in found] == [True, False, False]
    assert [e.names for e in found] == [(), (), ("a", "b")]
    assert [u.table for u in planning.tables] == ["people"]  # what a statement pays for
    assert listed("SELECT 1", planning) == []


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("SELECT 1 FROM people, people", "42712"),
        ("SELECT 1 FROM people p, wards p", "42712"),
        ("SELECT 1 FROM people p JOIN (SELECT 1) AS p ON true", "42712"),
        ("SELECT 1 FROM (SELECT 1)", "42601"),
        ("SELECT 1 FROM (VALUES (1))", "42601"),
        ("SELECT 1 FROM LATERAL generate_series(1, 3) AS g", "0A000"),
        ("SELECT 1 FROM nothing", "42P01"),
        ("SELECT 1 FROM elsewhere.people", "42P01"),
        ("WITH RECURSIVE r AS (SELECT 1) SELECT 1 FROM r", "0A000"),
        ("WITH people AS (SELECT 1) SELECT 1 FROM elsewhere.people", "42P01"),
    ],
)
def test_refused(planning: Planning, sql: str, sqlstate: str):
    with pytest.raises(Refusal) as caught:
        listed(sql, planning)
    assert caught.value.sqlstate == sqlstate, caught.value


def test_a_name_of_with_sees_those_before_it(planning: Planning):
    [entry] = listed("WITH a AS (SELECT 1), b AS (SELECT 2), c AS (SELECT 3) SELECT 1 FROM b", planning)
    [(query, env)] = SEEN
    assert entry.is_protected
    assert query.alias == "b"
    assert set(env.ctes) == {"a"}


def test_a_name_of_with_hides_a_table_but_not_under_its_schema(planning: Planning):
    sql = "WITH people AS (SELECT 1) SELECT 1 FROM people AS a, public.people AS b"
    assert [isinstance(e.relation, Scan) for e in listed(sql, planning)] == [True, False]


def test_a_query_without_with_sees_what_is_around():
    tree = parse("WITH a AS (SELECT 1) SELECT 1 FROM a")
    env = with_ctes(tree, ENV)
    assert with_ctes(parse("SELECT 1"), env) is env
    inner = with_ctes(parse("WITH a AS (SELECT 2), b AS (SELECT 3) SELECT 1"), env)
    assert {n: str(c.this.expressions[0]) for n, (c, _) in inner.ctes.items()} == {"a": "2", "b": "3"}


@pytest.mark.parametrize("sql", ["SELECT 1 FROM (SELECT 1) AS x", "WITH x AS (SELECT 1) SELECT 1 FROM x"])
def test_a_subquery_in_from_sees_no_row_around(planning: Planning, sql: str):
    scan = protected_scan(planning.context.policy.tables["people"], "p", planning, lone=False)
    around = JoinedRows((scan,), scan.unit, "people", 1, 1, held=True, content=scan.content)
    listed(sql, planning, replace(ENV, outer=around, around=lambda _: pytest.fail("seen")))
    assert {(env.outer, env.around) for _, env in SEEN} == {(None, None)}


@pytest.mark.parametrize(
    ("sql", "times"),
    [
        ("SELECT 1 FROM people", 0),
        ("SELECT 1 FROM (SELECT 1) AS x, (VALUES (1)) AS y", 2),
        ("WITH x AS (SELECT 1) SELECT 1 FROM x, x AS y, people", 2),
    ],
)
def test_each_reference_is_work(planning: Planning, sql: str, times: int):
    before = planning.parameters.budget
    listed(sql, planning)
    assert before - planning.parameters.budget == times * REFERENCE


def test_names_that_double_are_refused_in_time(clinic: World):
    names = ["v0 AS (SELECT hours FROM visits)"]
    names += [
        f"v{n} AS (SELECT hours FROM v{n - 1} UNION ALL SELECT hours FROM v{n - 1})" for n in range(1, 30)
    ]
    with pytest.raises(Refusal) as caught:
        plan_any(clinic, f"WITH {', '.join(names)} SELECT count(*) FROM v29")
    assert caught.value.sqlstate == "54001"


def test_what_stands_apart_is_written_alike_everywhere(clinic: World):
    """Two places that ask the same ask one thing, and pay once."""
    inner = "(SELECT avg(hours) AS n FROM visits WHERE hours > 1) AS "
    assert len(plan_of(clinic, f"SELECT a.n, b.n FROM {inner} a, wards w, {inner} b").parts) == 1


def test_what_is_shown_outside_has_names_of_its_own_there(planning: Planning):
    query = parse("SELECT 1")
    scans = [apart(query, alias, planning, ENV) for alias in "ab"]
    names = []
    for scan in scans:
        assert isinstance(scan, Scan)
        names.append({c.name.lower() for c in (*scan.content, scan.unit) if c is not None})
        names.append({str(scan.item.alias).lower()})
    assert sum(map(len, names)) == len(set().union(*names))
    assert set().union(*names) <= planning.names


def test_an_open_relation_leaves_no_names(planning: Planning):
    def opened(query: exp.Expr, alias: str, inside: Planning, env: Env) -> Relation:
        del query, alias, env
        assert inside.names == set()
        inside.reserve("a")
        return Open(nodes.Select((duck.integer(1),)), (), released=False, rows=1)

    planning.reserve("b")
    assert isinstance(apart(parse("SELECT 1"), "x", planning, Env(opened)), Open)
    assert planning.names == {"b"}


def test_items_side_by_side_are_answered(clinic: World):
    sql = (
        "WITH v AS (SELECT person, hours FROM visits), h AS (SELECT person, max(hours) AS n FROM v GROUP BY person) "
        "SELECT count(*), sum(a.n), sum(v.hours) FROM h AS a JOIN v ON v.person = a.person"
    )
    assert answered(clinic, sql) == [(3, 8, 7)]
