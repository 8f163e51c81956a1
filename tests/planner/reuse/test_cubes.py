"""What a cube is of: the exact cells of rows with undeclared values, and how far one person moves them."""

# ruff: noqa: E501 - statements written out

from fractions import Fraction

import pytest

from dpproxy.algebra.plan import Caller
from dpproxy.anonymize.dp_cube import Figure
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.access import Context
from dpproxy.planner.query import plan_cube
from dpproxy.planner.reuse.cubes import CubeQuery
from dpproxy.values.errors import BoundsMissing, Refusal
from dpproxy.views.columns import Listed
from tests.empty import empty
from tests.golden.world import World, build

SECRET = "00" * 32
WORLD = (
    "CREATE TABLE visits (patient INTEGER, ward VARCHAR, day DATE, age INTEGER, cost DECIMAL(8,2), ok BOOLEAN NOT NULL)",
    *(
        f"INSERT INTO visits VALUES ({i % 5}, {'NULL' if i % 7 == 0 else repr('abz'[i % 3])}, "
        f"DATE '2024-01-01' + {i * 3 % 30}, {i * 13 % 40 - 20}, {'NULL' if i % 4 == 0 else i * 17 % 90}, {i % 2 == 0})"
        for i in range(24)
    ),
    "INSERT INTO visits VALUES (NULL, 'a', DATE '2024-01-01', 1, 1, TRUE)",
    "ALTER TABLE visits SET PRIVACY KEY (patient) MAX ROWS 3",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('a', 'b')",
    "ALTER TABLE visits ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN '2024-01-01' AND '2024-01-31'",
    "ALTER TABLE visits ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN -20 AND 19",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 80",
    "ALTER TABLE visits ALTER COLUMN ok SET PRIVACY DOMAIN IN (TRUE, FALSE)",
)
ON = "visits (ward, age WIDTH 10, ok) MEASURES (count(*), sum(cost), count(cost) AS paid)"


@pytest.fixture(scope="module")
def world() -> World:
    return build(WORLD)


def compiled(world: World, text: str = ON) -> CubeQuery:
    context = Context(world.policy, world.schema, Caller("", frozenset(), ""), DEFAULTS, None, world.facts)
    return plan_cube("c", text, context)


Cells = dict[tuple[object, ...], tuple[int, ...]]


def cells(world: World, found: CubeQuery, without: int | None = None) -> Cells:
    """The exact cells, without the rows of one person."""
    with empty() as connection:
        for statement in world.ddl:
            connection.execute(statement)
        listed = [row for row in world.rows["visits"] if row[0] != without or without is None]
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", listed)
        rows = connection.execute(found.sql, {"1": SECRET}).fetchall()
    keys = len(found.dimensions)
    return {row[:keys]: row[keys:] for row in rows}


def test_every_row_of_somebody_is_in_one_declared_cell(world: World):
    found = compiled(world)
    assert [d.places for d in found.dimensions] == [
        Listed(("a", "b", None)),
        Listed((-20, -10, 0, 10, None), ordered=True),
        Listed((True, False), ordered=True),
    ]
    exact = cells(world, found)
    for key in exact:
        assert all(value in d.places.values for value, d in zip(key, found.dimensions, strict=True))  # type: ignore[union-attr]
    [place] = [i for i, w in enumerate(found.figures[0].weights) if w]
    assert sum(measures[place] for measures in exact.values()) == 15  # 5 people, 3 rows each
    assert {key[0] for key in exact} == {"a", "b", None}


def test_neighbours_move_as_many_boxes_as_a_person_has_rows(world: World):
    """Each box is a row of one cell; a person has 3 at most, of 4 or 5 there are."""
    found = compiled(world)
    assert found.rows == 3
    exact = cells(world, found)
    nothing = (0,) * len(found.widths)
    for person in range(5):
        other = cells(world, found, person)
        moved = sum(
            max(
                -(-abs(a - b) // width)
                for a, b, width in zip(
                    exact.get(key, nothing), other.get(key, nothing), found.widths, strict=True
                )
            )
            for key in exact.keys() | other.keys()
        )
        assert 0 < moved <= found.rows


def test_sums_are_measured_from_the_middle_and_shown_whole(world: World):
    found = compiled(world)
    assert sorted(found.widths) == [1, 1, 4000]
    count, total, paid = found.figures
    assert sorted(count.weights) == [0, 0, 1]
    assert sorted(total.weights) == [0, Fraction(1, 100), 40]
    assert isinstance(paid, Figure)
    exact = cells(world, found)
    shown = sum(w * m for measures in exact.values() for w, m in zip(total.weights, measures, strict=True))
    assert 0 < shown < 15 * 80


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("visits (cost) MEASURES (count(*))", BoundsMissing, "no declared set"),
        ("visits (ward) MEASURES (max(cost))", Refusal, "does not add up"),
        ("visits (ward) MEASURES (sum(DISTINCT cost) AS x)", Refusal, "does not add up"),
        ("visits (ward) MEASURES (count(*) + 1 AS x)", Refusal, "does not add up"),
        ("visits ((SELECT 1) AS x) MEASURES (count(*))", Refusal, ""),
        ("visits (ward WIDTH 2) MEASURES (count(*))", Refusal, ""),
        ("nowhere (ward) MEASURES (count(*))", Refusal, "does not exist"),
    ],
)
def test_what_is_no_cube_is_refused(world: World, text: str, error: type[Refusal], said: str):
    with pytest.raises(error) as caught:
        compiled(world, text)
    assert said in caught.value.message
    assert caught.value.position is None
