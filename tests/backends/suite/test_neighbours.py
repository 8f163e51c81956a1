"""Remove each unit in turn, on each engine: with its own choice of rows it moves no more than is paid for."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Part
from tests.backends.suite.engines import ENGINES, Engine, opened
from tests.backends.suite.stages import SECRET, asked
from tests.golden.neighbours import furthest
from tests.golden.world import Row, Tables, Vector, World, build, plan_of

WORLD = (
    "CREATE TABLE people (id INTEGER, age INTEGER, city VARCHAR)",
    "CREATE TABLE visits (person INTEGER, ward VARCHAR, cost DECIMAL(6,2), hours DOUBLE)",
    "INSERT INTO people VALUES (1, 30, 'Oslo'), (2, 40, 'Rome'), (3, 200, NULL), (3, 50, 'Oslo')",
    """INSERT INTO visits VALUES (1, 'a', 5, 1.5), (1, 'b', 9, 0.25), (1, 'a', 7, 'nan'), (1, 'b', 1, 2),
      (2, 'a', 3, 4), (2, NULL, 9999, 'inf'), (3, 'b', -3, 1), (9, 'a', 5, 1), (NULL, 'a', 5, 1)""",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people ALTER COLUMN city SET PRIVACY DOMAIN IN ('Oslo', 'Rome')",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 2",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('a', 'b')",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 10",
    "ALTER TABLE visits ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN 0 AND 8",
)
STATEMENTS = (
    "SELECT count(*), sum(age) FROM people",
    "SELECT ward, count(*), sum(cost), avg(hours) FROM visits GROUP BY ward",
    "SELECT sum(p.age) FROM people AS p JOIN visits AS v ON p.id = v.person WHERE v.cost > 2",
)
WINDOWED = """SELECT ward, sum(n), sum(s), count(p) FROM (
  SELECT person, ward, lag(ward) OVER w AS p, row_number() OVER w AS n, sum(cost) OVER w AS s FROM visits
  WINDOW w AS (PARTITION BY person ORDER BY ward)) AS t GROUP BY ward"""
"""Over rows that the order of the window leaves equal."""


class Served(Tables):
    """The tables of a world in another engine, anew each time they are filled."""

    def __init__(self, world: World, engine: Engine, folder: Path, request: pytest.FixtureRequest) -> None:
        super().__init__(world)
        self._world, self._engine, self._folder, self._request = world, engine, folder, request
        self._file = folder
        self._times = 0

    def fill(self, rows: dict[str, list[Row]]) -> None:
        self._times += 1
        self._file = self._folder / f"filled{self._times}.duckdb"
        with duckdb.connect(self._file) as connection:
            for statement in self._world.ddl:
                connection.execute(statement)
            for name, listed in rows.items():
                for row in listed:
                    connection.execute(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(row))})', row)

    def exact(self, part: Part, values: Sequence[object] = (), secret: str = SECRET) -> Vector:
        assert not values
        assert secret == SECRET
        folder = self._folder / f"served{self._times}"
        folder.mkdir(exist_ok=True)
        with opened(self._engine, self._file, folder, self._request) as source:
            found = asked(source, part)
        size = len(part.key_types)
        return {row[:size]: tuple(int(m or 0) for m in row[size:]) for row in found}  # type: ignore[call-overload]


SMALL = [e for e in ENGINES if e.small is not None]


@pytest.mark.parametrize("engine", SMALL, ids=lambda e: e.name)
def test_windows_of_one_unit_move_no_more_than_is_paid(
    engine: Engine, tmp_path: Path, request: pytest.FixtureRequest
):
    test_one_unit_moves_no_more_than_is_paid(engine, WINDOWED, tmp_path, request)


@pytest.mark.parametrize("engine", SMALL, ids=lambda e: e.name)
@pytest.mark.parametrize("sql", STATEMENTS)
def test_one_unit_moves_no_more_than_is_paid(
    engine: Engine, sql: str, tmp_path: Path, request: pytest.FixtureRequest
):
    world = replace(build(WORLD), prepared=engine.prepared)
    plan = plan_of(world, sql)
    moved = furthest(world, plan, Served(world, engine, tmp_path, request))
    assert max(moved) > 0, "nobody moves anything"
