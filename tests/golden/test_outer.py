"""Outer SQL over released values gives what the engine gives over the same numbers, without dpproxy in between."""

import functools
import math
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproxy.algebra import nodes, printing
from dpproxy.algebra.plan import Plan
from dpproxy.backends.release import Relations, ReleaseStage, key_table
from dpproxy.engine import output
from tests.golden.outer import SHAPES, T, outer_statements
from tests.golden.world import Row, World, build, plan_of
from udfs.privacy import Released

PUBLIC = build([
    "CREATE TABLE people (id INTEGER, age INTEGER, pay DECIMAL(8,2), city VARCHAR, sex VARCHAR, height DOUBLE)",
    "CREATE TABLE cities (city VARCHAR, size INTEGER, land VARCHAR)",
    "INSERT INTO cities VALUES ('Oslo', 3, 'N'), ('Rome', 7, 'I'), ('Bari', 5, 'I'), (NULL, 1, NULL)",
    "ALTER TABLE cities SET PRIVACY PUBLIC",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN 0 AND 5000",
    "ALTER TABLE people ALTER COLUMN height SET PRIVACY DOMAIN BETWEEN 0 AND 256",
    "ALTER TABLE people ALTER COLUMN city SET PRIVACY DOMAIN IN ('Oslo', 'Rome', 'Paris', NULL)",
    "ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm')",
])  # fmt: skip


class Remembering(World):
    """Asks for each fact once."""

    def facts(self, query: nodes.Query) -> tuple[Row, ...]:
        return _facts(query)


@functools.cache
def _facts(query: nodes.Query) -> tuple[Row, ...]:
    return PUBLIC.facts(query)


WORLD = Remembering(PUBLIC.ddl, PUBLIC.policy_ddl, PUBLIC.schema, PUBLIC.policy, PUBLIC.rows)


def relations(plan: Plan, drawn: Sequence[Sequence[int]]) -> Relations:
    """The one part, as if these whole numbers had been drawn."""
    assert len(plan.parts) <= 1
    found: Relations = []
    for part in plan.parts:
        assert part.measures <= len(drawn[0])
        lists = [[Decimal(m) for m in row[: part.measures]] for row in drawn]
        column = pa.array(lists, pa.list_(pa.decimal128(38, 0)))
        found.append((part, Released(key_table(part.keys).append_column("v", column), part.loss)))
    return found


Engines = tuple[ReleaseStage, duckdb.DuckDBPyConnection]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    """One for released values, one with the public tables."""
    release = ReleaseStage()
    with duckdb.connect(":memory:") as connection:
        for statement in WORLD.ddl:
            connection.execute(statement)
        for row in WORLD.rows["cities"]:
            connection.execute("INSERT INTO cities VALUES (?, ?, ?)", row)
        yield release, connection
    release.close()


def ours(
    release: ReleaseStage, connection: duckdb.DuckDBPyConnection, sql: str, drawn: Sequence[Sequence[int]]
) -> list[Row]:
    plan = plan_of(WORLD, T + sql, {"dp.clamp": "off"})
    publics = [connection.sql(printing.text(query)).to_arrow_table() for query in plan.publics]
    return output.convert(plan.outputs, release.answer(plan, relations(plan, drawn), publics))


def theirs(connection: duckdb.DuckDBPyConnection, sql: str) -> list[Row]:
    [text] = sqlglot.transpile(sql, read="postgres", write="duckdb")
    return connection.execute(text).fetchall()


def plain(value: object) -> object:
    """Comparable: all numbers are floats; lists are texts of them, rounded."""
    match value:
        case list():
            return str([round(v, 5) if isinstance(v, float) else v for v in map(plain, value)])
        case bool() | None | str() | date():
            return value
        case _:
            number = float(value)  # type: ignore[arg-type]
            return None if math.isnan(number) else number


def order(row: Row) -> tuple[tuple[str, object], ...]:
    return tuple((type(v).__name__, round(v, 5) if isinstance(v, float) else v or 0) for v in row)


def same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6)
    return a == b


# What is drawn for a group: heights in steps, how many there are, people, their ages, their pay in cents.
MEASURES = (
    st.integers(-(2**30), 2**30),
    *[st.integers(-3, 9)] * 2,
    st.integers(-300, 900),
    st.integers(-3000, 90_000),
)
DRAWN = st.lists(st.tuples(*MEASURES), min_size=8, max_size=8)


@settings(deadline=None, print_blob=True)
@given(sql=outer_statements(), drawn=DRAWN)
def test_outer_sql_is_that_of_the_engine(engines: Engines, sql: str, drawn: list[tuple[int, ...]]):
    release, connection = engines
    held = ours(release, connection, "SELECT * FROM t", drawn)
    connection.execute(f"CREATE OR REPLACE TABLE t {SHAPES}")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", held)
    found = [tuple(map(plain, row)) for row in ours(release, connection, sql, drawn)]
    expected = [tuple(map(plain, row)) for row in theirs(connection, sql)]
    assert len(found) == len(expected), (found, expected)
    for mine, other in zip(sorted(found, key=order), sorted(expected, key=order), strict=True):
        assert all(map(same, mine, other)), (sql, mine, other)
