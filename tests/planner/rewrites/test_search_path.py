"""Which schema a name without one is given, of those that the caller may know of."""

import pytest
from msgspec.structs import replace

from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.accept import parse
from dpproxy.planner.access import Context
from dpproxy.planner.rewrites.search_path import in_schemas
from dpproxy.policy.model import Exposure, Grant, Policy, TablePolicy
from dpproxy.values.pgtypes import INT8, Column, Schema
from tests.golden.world import ANALYST

TABLES = {name: (Column("x", INT8),) for name in ("t", "a.t", "b.t", "b.u", "a.hidden")}
POLICY = Policy(
    tables={name: TablePolicy(name, Exposure.PUBLIC) for name in ("t", "a.t", "b.u")}
    | {"b.t": TablePolicy("b.t", Exposure.PROTECTED), "a.hidden": TablePolicy("a.hidden")},
)
PLACES = {name: (name[0], name[2:]) for name in TABLES if "." in name}
CONTEXT = Context(POLICY, Schema(TABLES, places=PLACES), ANALYST, DEFAULTS)


def found(sql: str, path: str, context: Context = CONTEXT) -> str:
    settings = {**DEFAULTS, "search_path": path}
    return in_schemas(parse(sql), replace(context, settings=settings)).sql(dialect="postgres")


@pytest.mark.parametrize(
    ("path", "table"),
    [
        ("public", "t"),
        ("a, public", '"a".t'),
        ("nowhere, public, a", "t"),
        ("b, a", '"a".t'),  # b.t is granted to nobody
        ("A", '"a".t'),
        ('"A"', "t"),
        ("", "t"),
    ],
)
def test_the_first_schema_with_a_table_that_the_caller_may_know(path: str, table: str):
    assert found("SELECT 1 FROM t", path) == f"SELECT 1 FROM {table}"


def test_a_grant_makes_a_table_known():
    granted = replace(CONTEXT, policy=replace(POLICY, grants=(Grant("b.t", "analyst", "research"),)))
    assert found("SELECT 1 FROM t", "b, a", granted) == 'SELECT 1 FROM "b".t'


def test_the_user_is_a_schema_where_there_is_one():
    place = {**PLACES, "ann.t": ("ann", "t")}
    schema = Schema({**TABLES, "ann.t": TABLES["t"]}, places=place)
    policy = replace(POLICY, tables={**POLICY.tables, "ann.t": TablePolicy("ann.t", Exposure.PUBLIC)})
    context = replace(CONTEXT, schema=schema, policy=policy)
    assert found("SELECT 1 FROM t", '"$user", public', context) == 'SELECT 1 FROM "ann".t'


@pytest.mark.parametrize(
    "sql",
    [
        "WITH t AS (SELECT 1 AS x) SELECT x FROM t",
        "SELECT 1 FROM public.t",
        "SELECT 1 FROM hidden",
        "SELECT 1 FROM nothing",
    ],
)
def test_other_names_stay_as_they_are(sql: str):
    assert found(sql, "a, b") == sql


def test_subqueries_and_what_the_names_of_with_hide():
    sql = "WITH t AS (SELECT x FROM t) SELECT (SELECT count(*) FROM u) FROM t JOIN u ON u.x = t.x"
    assert found(sql.replace("count", "COUNT"), "a, b") == (
        'WITH t AS (SELECT x FROM "a".t) SELECT (SELECT COUNT(*) FROM "b".u) FROM t JOIN "b".u ON u.x = t.x'
    )


def test_a_source_with_one_schema_is_left_alone():
    tree = parse("SELECT 1 FROM t")
    assert in_schemas(tree, replace(CONTEXT, schema=Schema(TABLES))) is tree
