"""People, their visits, the bills of visits, public wards, and shops that have nothing to do with people."""

import random
import re
import sqlite3
from collections.abc import Iterator

from dpproxy.algebra.plan import Part, Plan
from tests.golden.world import Row, World, plan_of

CLINIC = (
    "CREATE TABLE people (id INTEGER, city VARCHAR, age INTEGER)",
    "CREATE TABLE visits (person INTEGER, no INTEGER, ward VARCHAR, hours INTEGER)",
    "CREATE TABLE bills (visit INTEGER, amount INTEGER, kind VARCHAR)",
    "CREATE TABLE wards (ward VARCHAR, building VARCHAR, beds INTEGER, ratio DOUBLE)",
    "CREATE TABLE shops (name VARCHAR, ward VARCHAR)",
    "INSERT INTO people VALUES (1, 'Oslo', 30), (2, 'Rome', 40), (3, 'Rome', 50)",
    "INSERT INTO visits VALUES (1, 10, 'A', 1), (1, 11, 'B', 2), (3, 12, 'A', 4), (9, 13, 'A', 5)",
    "INSERT INTO bills VALUES (10, 5, 'x'), (10, 6, 'y'), (11, 7, 'x'), (12, 8, 'x'), (99, 9, 'x')",
    "INSERT INTO wards VALUES ('A', 'north', 10, 0.5), ('B', 'north', 20, 1.5), ('B', 'south', 5, 2.5)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN city SET PRIVACY DOMAIN IN ('Oslo', 'Rome')",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 2",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('A', 'B')",
    "ALTER TABLE visits ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN 0 AND 5",
    "ALTER TABLE bills SET PRIVACY KEY (visit) REFERENCES visits (no) MAX ROWS 3 MAX GROUPS 2",
    "ALTER TABLE bills ALTER COLUMN amount SET PRIVACY DOMAIN BETWEEN 0 AND 9",
    "ALTER TABLE bills ALTER COLUMN kind SET PRIVACY DOMAIN IN ('x', 'y')",
    "ALTER TABLE wards SET PRIVACY PUBLIC",
    "ALTER TABLE shops SET PRIVACY KEY ROW",
    "ALTER TABLE shops ALTER COLUMN ward SET PRIVACY DOMAIN IN ('A', 'B')",
)


def one_part(world: World, sql: str) -> Part:
    """The only part of a plan."""
    [part] = plan_of(world, sql).parts
    return part


def rows_of_unit(plan: Plan) -> int:
    """How many rows of one unit a plan of one part pays for."""
    found = re.search(r"at most (\d+) rows?", plan.unit)
    assert found is not None, plan.unit
    return int(found[1])


class Person:
    """The rows of one person alone: as many as the policy allows, or fewer, at random.

    SQLite counts them, by the same rules of joins, in a fraction of the time that small statements take DuckDB.
    """

    def __init__(self, world: World, seed: int = 7) -> None:
        self._source = random.Random(seed)
        self._connection = sqlite3.connect(":memory:")
        for statement in world.ddl:
            self._connection.execute(statement)
        self._insert("wards", world.rows["wards"])

    def _insert(self, table: str, rows: list[Row]) -> None:
        self._connection.execute(f"DELETE FROM {table}")
        if rows:
            self._connection.executemany(
                f"INSERT INTO {table} VALUES ({', '.join('?' for _ in rows[0])})", rows
            )

    def instances(self, count: int) -> Iterator[None]:
        """Fill the tables in so many ways. What is referred to is unique, as joins make it."""
        pick = self._source.choice
        for _ in range(count):
            numbers = self._source.sample([10, 11, 12], pick([0, 1, 2, 2, 2]))
            self._insert("people", [(1, "Oslo", pick([30, 40]))] * pick([0, 1, 1, 1]))
            self._insert("visits", [(1, n, pick(["A", "B", "B", "C"]), pick([1, 2])) for n in numbers])
            bills = pick([0, 1, 2, 3, 3, 3])
            self._insert("bills", [(pick([*numbers, *numbers, 99]), n, "x") for n in range(bills)])
            yield

    def count(self, sql: str) -> int:
        """The one number that a statement returns."""
        [(found,)] = self._connection.execute(sql).fetchall()
        return int(found)

    def close(self) -> None:
        self._connection.close()
