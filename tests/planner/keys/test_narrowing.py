"""Conditions about keys alone leave out the keys that fail them, and nothing else."""

import pytest

from dpproxy.algebra.plan import Plan
from dpproxy.analysis.scopes import Parameters
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context
from dpproxy.planner.query import plan_query
from tests.golden.world import ANALYST, World, build, plan_of

DDL = (
    "CREATE TABLE people (id INTEGER, sex VARCHAR, town VARCHAR, age INTEGER, born DATE)",
    "INSERT INTO people VALUES (1, 'f', 'Oslo', 3, DATE '2001-02-03')",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm', NULL)",
    "ALTER TABLE people ALTER COLUMN town SET PRIVACY DOMAIN IN ('Oslo', 'Rome')",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 9",
    "ALTER TABLE people ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN DATE '2000-01-01' AND DATE '2002-12-31'",
)


@pytest.fixture(scope="module")
def narrow() -> World:
    return build(DDL)


def keys(world: World, sql: str, options: dict[str, str] | None = None) -> set[tuple[object, ...]]:
    [part] = plan_of(world, sql, options).parts
    rows: list[tuple[object, ...]] = [()]
    for each in part.keys:
        rows = [(*a, *b) for a in rows for b in each.rows]
    return set(rows)


@pytest.mark.parametrize(
    ("group", "where", "expected"),
    [
        ("sex", "sex = 'f'", {("f",)}),
        ("sex", "sex IS NULL", {(None,)}),
        ("sex", "sex IS NOT NULL AND age > 3", {("f",), ("m",)}),
        ("sex", "sex = 'f' OR age > 3", {("f",), ("m",), (None,)}),
        ("age", "age BETWEEN 3 AND 5 AND age <> 4", {(3,), (5,)}),
        ("age", "age > 99", set()),
        ("sex, town", "town = 'Oslo' AND sex <> 'm'", {("f", "Oslo")}),
        ("extract(year FROM born)", "extract(year FROM born) > 2000", {(2001,), (2002,)}),
        ("extract(year FROM born)", "born > DATE '2001-01-01'", {(2001,), (2002,)}),
        (
            "extract(year FROM born)",
            "born > DATE '2001-01-01' AND born < DATE '2002-01-01' AND age = 3",
            {(2001,)},
        ),
        ("extract(year FROM born)", "born > DATE '2001-01-01' OR age = 3", {(2000,), (2001,), (2002,)}),
        ("extract(year FROM born)", "born > DATE '2003-01-01'", set()),
        ("age / 5 + extract(year FROM born)", "age < 5 AND born < DATE '2001-01-01'", {(2000,)}),
        ("CASE WHEN age > 4 THEN 1 ELSE 0 END", "age > 4 OR age IS NULL", {(0,), (1,)}),
        ("CASE WHEN age > 4 THEN 1 ELSE 0 END", "age > 4", {(1,)}),
        ("CASE WHEN sex = 'f' THEN 1 ELSE 0 END", "sex IS NULL", {(0,)}),
        ("age / 5", "age / 5 = 1", {(1,)}),
    ],
)
def test_the_keys_that_are_left(narrow: World, group: str, where: str, expected: set[tuple[object, ...]]):
    assert keys(narrow, f"SELECT count(*) FROM people WHERE {where} GROUP BY {group}") == expected


def test_a_condition_inside_a_subquery_narrows_what_is_computed_there(narrow: World):
    inner = "SELECT extract(year FROM born) AS y FROM people WHERE born BETWEEN DATE '2001-01-01' AND DATE '2001-12-31'"
    assert keys(narrow, f"SELECT y, count(*) FROM ({inner}) AS p GROUP BY y") == {(2001,)}


def test_a_condition_on_two_keys_is_one_on_their_pairs(narrow: World):
    where = "(sex = 'f' AND town = 'Oslo') OR (sex = 'm' AND town = 'Rome')"
    found = keys(narrow, f"SELECT sex, age, town, count(*) FROM people WHERE {where} GROUP BY 1, 2, 3")
    assert {frozenset(map(str, k)) for k in found} == {
        frozenset({"f", "Oslo", str(n)}) for n in range(10)
    } | {frozenset({"m", "Rome", str(n)}) for n in range(10)}


def test_no_key_is_no_row_and_free(narrow: World):
    plan = plan_of(narrow, "SELECT age, count(*), median(age) FROM people WHERE age > 99 GROUP BY age")
    assert plan.free
    assert plan.groups == 0


def test_a_parameter_narrows_once_it_has_a_value(narrow: World):
    sql = "SELECT sex, count(*) FROM people WHERE sex = $1 GROUP BY sex"
    assert keys(narrow, sql, {"$1": "text:f"}) == {("f",)}
    context = Context(narrow.policy, narrow.schema, ANALYST, DEFAULTS, facts=narrow.facts)
    unbound = plan_query(accept(parse(sql)), context, Parameters())
    assert isinstance(unbound, Plan)
    assert len(unbound.parts[0].keys[0].rows) == 3
    assert not unbound.free
