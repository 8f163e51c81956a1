"""Joins on columns of listed values: found by hashing, and the same rows as ever."""

import json
from collections.abc import Iterator

import duckdb
import pytest
from sqlglot import parse_one

from dpproxy.analysis import duck
from dpproxy.backends.postgres.dialect import dialect as postgres
from dpproxy.backends.servers.dialect import Dialect, ValueKind, stored
from dpproxy.backends.spark.dialect import dialect as spark
from dpproxy.planner.rows.equalities import hashed
from tests.backends.statements import transpiled
from tests.empty import empty
from tests.golden.world import SECRET, World, build, plan_of
from tests.reading import expression

DDL = (
    "CREATE TABLE people (id INTEGER, s VARCHAR, n INTEGER, d DECIMAL(8,2))",
    "CREATE TABLE places (s VARCHAR, n INTEGER, d DECIMAL(8,2), size INTEGER)",
    "INSERT INTO places SELECT CASE WHEN i < 9 THEN 'k' || i END, i % 200, i % 200, i % 3 FROM range(300) AS r(i)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN s SET PRIVACY DOMAIN IN ('k0', 'k1', 'k2', 'k3', 'k4')",
    "ALTER TABLE people ALTER COLUMN n SET PRIVACY DOMAIN IN (0, 1, 2, 3, 4, 5)",
    "ALTER TABLE people ALTER COLUMN d SET PRIVACY DOMAIN IN (0, 1, 2, 3, 4, 5)",
    "ALTER TABLE places SET PRIVACY PUBLIC",
)
PEOPLE = """
INSERT INTO people SELECT i, CASE i % 8 WHEN 7 THEN NULL ELSE 'k' || (i % 8) END, i % 9, i % 7
FROM range(500) AS r(i)
"""
SLOW = {"NESTED_LOOP_JOIN", "BLOCKWISE_NL_JOIN", "CROSS_PRODUCT", "PIECEWISE_MERGE_JOIN", "IE_JOIN"}
LISTED = "(CASE WHEN p.s IN ('k0', 'k1', 'k2', 'k3', 'k4') THEN p.s END)"
STATEMENTS = {
    "SELECT count(*) FROM people p JOIN places w ON p.s = w.s": f"p JOIN places w ON {LISTED} = w.s",
    "SELECT count(*) FROM places w JOIN people p ON w.s = p.s": f"p JOIN places w ON {LISTED} = w.s",
    "SELECT count(*) FROM people p LEFT JOIN places w ON p.s = w.s": f"p LEFT JOIN places w ON {LISTED} = w.s",
    "SELECT count(p.s) FROM places w LEFT JOIN people p ON p.s = w.s": f"p JOIN places w ON {LISTED} = w.s",
    "SELECT count(*) FROM people p JOIN places w ON p.n = w.n": "p JOIN places w ON p.n <= 5 AND p.n = w.n",
    "SELECT count(*) FROM people p JOIN places w ON p.d = w.d": "p JOIN places w ON p.d <= 5 AND p.d = w.d",
    "SELECT count(*) FROM people p, places w WHERE CASE WHEN p.n IN (0, 1, 2, 3, 4) THEN 3 ELSE 7 END = w.n": (
        "p, places w WHERE CASE WHEN p.n IN (0, 1, 2, 3, 4) THEN 3 ELSE 7 END = w.n"
    ),
    "SELECT count(*) FROM people p WHERE p.s IN (SELECT s FROM places)": f"p SEMI JOIN places w ON {LISTED} = w.s",
    "SELECT count(*) FROM people p WHERE NOT EXISTS (SELECT 1 FROM places w WHERE w.s = p.s AND w.n < 3)": (
        f"p WHERE coalesce({LISTED}, '') NOT IN ('k0', 'k1', 'k2')"
    ),
    "SELECT count(*) FROM people p WHERE EXISTS (SELECT 1 FROM places w WHERE w.s = p.s)": (
        f"p SEMI JOIN places w ON {LISTED} = w.s"
    ),
}
"""What is asked, and the rows it is about as anybody would write them."""


@pytest.fixture(scope="module")
def world() -> World:
    return build(DDL)


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with empty() as connection:
        for statement in (*DDL[:3], PEOPLE):
            connection.execute(statement)
        yield connection


def operators(plan: dict[str, object]) -> Iterator[str]:
    yield str(plan["name"])
    for child in plan["children"]:  # type: ignore[attr-defined]
        yield from operators(child)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_the_engine_joins_by_hashing(world: World, engine: duckdb.DuckDBPyConnection, sql: str):
    exact = plan_of(world, sql).parts[0].exact.replace("$1", f"'{SECRET}'")
    [[_, text]] = engine.execute(f"EXPLAIN (FORMAT JSON) {exact}").fetchall()
    found = {name.strip() for plan in json.loads(text) for name in operators(plan)}
    assert not found & SLOW


@pytest.mark.parametrize("sql", STATEMENTS)
def test_the_rows_are_those_of_the_declared_values(world: World, engine: duckdb.DuckDBPyConnection, sql: str):
    """NULL and what is no declared value meet no public row, and an outer join keeps them without one."""
    exact = plan_of(world, sql).parts[0].exact.replace("$1", f"'{SECRET}'")
    [[written]] = engine.execute(f"SELECT count(*) FROM people {STATEMENTS[sql]}").fetchall()
    assert engine.execute(exact).fetchall() == [(written,)]
    assert written > 0


@pytest.mark.parametrize("form", [postgres("public"), spark(lambda _, name: name)], ids=["postgres", "spark"])
def test_other_engines_take_the_form(world: World, form: Dialect):
    columns = {
        "s": ValueKind.TEXT,
        "n": ValueKind.WHOLE,
        "id": ValueKind.WHOLE,
        "d": ValueKind.WHOLE,
        "size": ValueKind.WHOLE,
    }
    held = {name: stored(kind) for name, kind in columns.items()}
    for sql in STATEMENTS:
        if ".d" not in sql:  # a decimal has a precision, which is told by the server
            assert transpiled(plan_of(world, sql).parts[0].exact, form, lambda *_: held).sql


@pytest.mark.parametrize(
    ("condition", "written"),
    [
        ("CASE WHEN a IN (1, 2) THEN a END = b", ["a = b", "a IN (1, 2)"]),
        ("b = (CASE WHEN a IN (1, 2) THEN a END)", ["b = a", "a IN (1, 2)"]),
        (
            "CASE WHEN a IN (1, 2) THEN a ELSE 3 END = b",
            ["CASE WHEN ((a = 1 OR a = 2)) THEN a ELSE 3 END = b"],
        ),
        (
            "CASE WHEN a IN (1, 2) THEN a END IS NOT DISTINCT FROM b",
            ["CASE WHEN ((a = 1 OR a = 2)) THEN a END IS NOT DISTINCT FROM b"],
        ),
        ("CASE WHEN a IN (1, 2) THEN c END = b", ["CASE WHEN ((a = 1 OR a = 2)) THEN c END = b"]),
        ("CASE WHEN a IN (1, 2) THEN a END = 1", ["CASE WHEN a IN (1, 2) THEN a END = 1"]),
        ("CASE WHEN a IN (1, 2) THEN a END < b", ["CASE WHEN a IN (1, 2) THEN a END < b"]),
        ("a = b", ["a = b"]),
    ],
)
def test_only_equalities_of_two_sides_are_written_otherwise(condition: str, written: list[str]):
    found = hashed([expression(parse_one(condition, read="duckdb"))])
    assert [duck.text(f) for f in found] == written
