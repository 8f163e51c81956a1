"""What follows from a cube is what would have been computed, over rows that break the rules; the rest does not follow."""

# ruff: noqa: E501, DTZ001 - statements written out; of a type without zone

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dpproxy.algebra.plan import Caller, Part
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.payloads import wanted_of
from dpproxy.planner.access import Context
from dpproxy.planner.query import plan_cube
from dpproxy.planner.reuse.cells import Sums, following
from dpproxy.planner.reuse.cubes import CubeQuery
from dpproxy.planner.reuse.descriptor import described, rows_digest
from dpproxy.planner.reuse.rollup import Derivation, derivation
from dpproxy.views.columns import Listed
from tests.golden.world import Row, Tables, World, build, plan_of

CALM = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
TABLE = (
    "CREATE TABLE t (id INTEGER NOT NULL, k VARCHAR, sex VARCHAR NOT NULL, seen TIMESTAMP, age INTEGER, ok BOOLEAN NOT NULL, x INTEGER, day DATE, nul VARCHAR)",
    "ALTER TABLE t SET PRIVACY KEY (id)",
    "ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b', 'c')",
    "ALTER TABLE t ALTER COLUMN nul SET PRIVACY DOMAIN IN ('a', NULL)",
    "ALTER TABLE t ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm')",
    "ALTER TABLE t ALTER COLUMN seen SET PRIVACY DOMAIN BETWEEN TIMESTAMP '2023-02-03' AND TIMESTAMP '2024-11-30 12:00:00'",
    "ALTER TABLE t ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 47",
    "ALTER TABLE t ALTER COLUMN ok SET PRIVACY DOMAIN IN (TRUE, FALSE)",
    "ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 30",
    "ALTER TABLE t ALTER COLUMN day SET PRIVACY DOMAIN IN (DATE '2024-01-01', DATE '2024-01-02', DATE '2024-01-05')",
)
CUBE = "t (k, date_trunc('month', seen) AS month, age WIDTH 10, ok) MEASURES (count(*), sum(x))"
DAYS = "t (day, sex) MEASURES (count(*))"
YES = (
    "SELECT count(*) FROM t",
    "SELECT k, count(*), sum(x), avg(x), count(x) FROM t GROUP BY k",
    "SELECT ok, sum(x) FROM t WHERE k IN ('a', 'c') GROUP BY ok",
    "SELECT count(*) FROM t WHERE k IS NULL",
    "SELECT count(*) FROM t WHERE k IS NOT NULL AND k <> 'a'",
    "SELECT date_trunc('quarter', seen) AS q, count(*) FROM t GROUP BY q",
    "SELECT extract(year FROM seen) AS y, extract(month FROM seen) AS m, ok, count(*) FROM t GROUP BY y, m, ok",
    "SELECT count(*) FROM t WHERE seen >= '2023-05-01' AND seen < '2024-02-01' AND ok",
    "SELECT count(*) FROM t WHERE seen BETWEEN '2023-05-01' AND '2023-06-30 23:59:59.999999'",
    "SELECT k, sum(x) FROM t WHERE seen < '2023-05-01' OR seen >= '2024-02-01' GROUP BY k",
    "SELECT count(*) FROM t WHERE seen IS NULL AND age >= 20",
    "SELECT k, count(*) FROM t WHERE age BETWEEN 10 AND 29 GROUP BY k",
    "SELECT count(*) FROM t WHERE age > 39",
    "SELECT age / 10 * 10 AS decade, count(*) FROM t GROUP BY decade",
    "SELECT age - age % 20 AS a, k, count(*) FROM t GROUP BY a, k",
    "SELECT CASE WHEN age < 20 THEN 'young' ELSE 'old' END AS a, count(*) FROM t WHERE age IS NOT NULL GROUP BY a",
    "SELECT k, count(*) FILTER (WHERE ok) AS yes, count(*) FILTER (WHERE age < 20) AS young, sum(x) FILTER (WHERE NOT ok) AS no FROM t GROUP BY k",
    "SELECT avg(x) FILTER (WHERE k = 'a') FROM t WHERE ok",
    "SELECT count(*) FILTER (WHERE k = 'a' AND ok AND age < 20), sum(CASE WHEN ok THEN x ELSE 0 END), sum(2 * x) FROM t",
    "SELECT ok, sum(CASE k WHEN 'a' THEN 2 WHEN 'b' THEN 2 ELSE 0 END), avg(CASE WHEN age >= 20 THEN x END) FROM t GROUP BY ok",
    "SELECT to_char(seen, 'YYYY-MM') AS m, count(*), sum(x) FROM t GROUP BY m",
    "SELECT to_char(seen, 'YYYY') AS y, ok, count(*) FROM t WHERE extract(quarter FROM seen) = 1 GROUP BY y, ok",
    "SELECT count(*) FROM t WHERE extract(year FROM seen) = 2024 OR extract(month FROM seen) = 12",
    "SELECT count(k), count(seen), count(CASE WHEN age < 10 THEN 1 END) FROM t",
    "SELECT ok, sum(x + 1), sum(-x), sum(3 * (x - 2)), avg(-x), avg(x + 1) FROM t GROUP BY ok",
    "SELECT count(*), sum(x) FROM t WHERE k = 'a' OR ok",
    "SELECT k, count(*) FROM t WHERE ok OR age < 10 OR seen >= '2024-02-01' GROUP BY k",
    "SELECT count(*) FILTER (WHERE ok OR k IN ('b', 'c')), sum(x) FROM t WHERE NOT (k = 'a' OR ok)",
    "SELECT ok, count(*) FROM t WHERE k = 'a' AND age < 20 OR k = 'b' AND seen < '2023-05-01' GROUP BY ok",
    "SELECT count(*) FROM t WHERE k <> 'a' OR NOT ok IS TRUE",
)
NO = (
    "SELECT sex, count(*) FROM t GROUP BY sex",
    "SELECT count(*) FROM t WHERE k < 'b'",  # texts have no order here
    "SELECT count(*) FROM t WHERE x > 3",
    "SELECT count(*) FROM t WHERE sex = 'f'",
    "SELECT count(*) FROM t WHERE k = 'a' OR age >= 15",
    "SELECT count(*) FROM t WHERE (k = 'a' OR ok) AND (k = 'b' OR age < 10)",  # two that no one dimension decides
    "SELECT count(*) FROM t WHERE seen >= '2023-05-02'",
    "SELECT count(*) FROM t WHERE seen <= '2023-05-31'",
    "SELECT seen::date AS d, count(*) FROM t WHERE seen >= '2023-05-01' AND seen < '2023-06-01' GROUP BY d",
    "SELECT date_trunc('week', seen) AS w, count(*) FROM t GROUP BY w",
    "SELECT count(*) FROM t WHERE age >= 15",
    "SELECT age, count(*) FROM t GROUP BY age",
    "SELECT age / 5 AS a, count(*) FROM t GROUP BY a",
    "SELECT sum(age) FROM t",
    "SELECT sum(x * x) FROM t",
    "SELECT count(DISTINCT k) FROM t",
    "SELECT count(*) FILTER (WHERE ok AND x > 3) FROM t",
    "SELECT count(*) FILTER (WHERE sex = 'f') FROM t",
)


@pytest.fixture(scope="module")
def world() -> World:
    """With prepared tables, as a proxy has them."""
    return replace(build(TABLE), prepared=True)


def cube_of(world: World, text: str = CUBE) -> CubeQuery:
    nobody = Caller("", frozenset(), "")
    return plan_cube("c", text, Context(world.policy, world.schema, nobody, DEFAULTS, None, world.facts, {}))


@pytest.fixture(scope="module")
def cube(world: World) -> CubeQuery:
    return cube_of(world)


def part_of(world: World, sql: str) -> Part:
    [part] = plan_of(world, sql).parts
    return part


def follows(cube: CubeQuery, part: Part) -> tuple[Sums, ...] | None:
    asked = described(part, (), 1)
    if asked is None or cube.form is None or rows_digest(cube.form.rows, (), 1) != asked.rows:
        return None
    return following(cube.form, asked, wanted_of(part))


def summed(tables: Tables, cube: CubeQuery, sums: Sequence[Sums]) -> list[tuple[Fraction, ...]]:
    """Each group of a question as it follows from the exact cells."""
    cells: dict[tuple[int, ...], tuple[int, ...]] = {}
    for row in zip(*(c.to_pylist() for c in tables.table(cube.sql).columns), strict=True):
        keys, measures = row[: len(cube.dimensions)], row[len(cube.dimensions) :]
        places = (
            d.places.values.index(v)
            for d, v in zip(cube.dimensions, keys, strict=True)
            if isinstance(d.places, Listed)
        )
        cells[tuple(places)] = tuple(map(int, measures))
    found: list[dict[int, Fraction]] = [{} for _ in sums[0].boxes[0].groups]
    for one, box in ((each, box) for each in sums for box in each.boxes):
        for group, into in zip(box.groups, found, strict=True):
            taken = [set(sets[n]) for sets, n in zip(box.sides, group, strict=True)]
            inside = [m for at, m in cells.items() if all(p in t for p, t in zip(at, taken, strict=True))]
            for place, weights in zip(one.places, one.weights, strict=True):
                added = (w * n for m in inside for w, n in zip(weights, m, strict=True))
                into[place] = into.get(place, Fraction(0)) + box.sign * sum(added, Fraction(0))
    return [tuple(one[place] for place in sorted(one)) for one in found]


MOMENTS = [
    None,
    *(
        datetime(y, m, d, h) + timedelta(microseconds=less)
        for y in (2022, 2023, 2024)
        for m in range(1, 13)
        for d, h, less in ((1, 0, -1), (1, 0, 0), (17, 5, 0))
    ),
]
ROWS: list[Row] = [
    (
        n, ["a", "b", "c", "zz", None][n % 5], "fm"[n % 2], at, [None, 0, 9, 10, 25, 39, 40, 47, 60, -3][n % 10],
        n % 3 == 0, [None, 0, 17, 44][n % 4], [None, datetime(2024, 1, 1 + n % 7).date()][n % 2], ["a", "zz", None][n % 3],
    )
    for n, at in enumerate(MOMENTS)
]  # fmt: skip


def check(world: World, cube: CubeQuery, part: Part, rows: list[Row]) -> bool:
    """Whether a part follows; where it does, it is compared with its exact stage."""
    sums = follows(cube, part)
    if sums is None:
        return False
    tables = Tables(world)
    try:
        tables.fill({"t": rows})
        exact = tables.exact(part)
        assert summed(tables, cube, sums) == [exact[row] for row in wanted_of(part)]
    finally:
        tables.close()
    return True


@pytest.mark.parametrize("sql", YES)
def test_what_follows_is_what_would_be_computed(world: World, cube: CubeQuery, sql: str):
    assert check(world, cube, part_of(world, sql), ROWS)


@pytest.mark.parametrize("sql", NO)
def test_what_cells_do_not_tell_does_not_follow(world: World, cube: CubeQuery, sql: str):
    assert follows(cube, part_of(world, sql)) is None


def test_listed_days_leave_gaps(world: World):
    cube = cube_of(world, DAYS)
    for sql in (
        "SELECT day, count(*) FROM t GROUP BY day",
        "SELECT sex, count(*) FROM t WHERE day BETWEEN '2024-01-02' AND '2024-01-05' GROUP BY sex",
        "SELECT sex, count(*) FROM t WHERE day IN ('2024-01-01', '2024-01-05') GROUP BY sex",
    ):
        check(world, cube, part_of(world, sql), ROWS)
    assert check(world, cube, part_of(world, "SELECT sex, count(*) FROM t GROUP BY sex"), ROWS)


NONE = "CASE WHEN age IS NULL THEN 'none' ELSE 'some' END"


@pytest.mark.parametrize(
    ("dimension", "sql", "expected"),
    [
        (f"{NONE} AS c", f"SELECT count(*) FROM t WHERE {NONE} = 'none'", True),
        (f"{NONE} AS c", f"SELECT count(*) FROM t WHERE {NONE} = 'some'", True),
        ("coalesce(age, -1) AS c", "SELECT count(*) FROM t WHERE coalesce(age, -1) = -1", False),
        ("coalesce(age, -1) AS c", "SELECT count(*) FROM t WHERE coalesce(age, -1) = 9", False),
        ("CASE WHEN age < 20 THEN 'young' ELSE 'old' END AS c", "SELECT count(*) FROM t", True),
        ("k IS NULL AS c", "SELECT count(*) FROM t WHERE k IS NULL", True),
        ("nul", "SELECT nul, count(*) FROM t GROUP BY nul", True),
        ("nul", "SELECT count(*) FROM t", False),
        ("nul", "SELECT count(*) FROM t WHERE nul IS NULL", False),
        ("nul", "SELECT count(*) FROM t WHERE nul = 'a'", True),
    ],
)
def test_rows_with_a_null_are_where_their_value_is(world: World, dimension: str, sql: str, *, expected: bool):
    cube = cube_of(world, f"t ({dimension}) MEASURES (count(*))")
    assert check(world, cube, part_of(world, sql), ROWS) is expected


CONDITIONS = (
    "k = 'a'", "k <> 'b'", "k IS NULL", "k IN ('a', 'q')", "k > 'a'", "ok", "NOT ok", "age >= 10", "age < 40", "age IS NULL",
    "age % 10 < 10", "seen >= '2023-06-01'", "seen < '2024-06-01'", "seen IS NOT NULL", "seen > '2024-02-02'", "x > 3",
    "extract(year FROM seen) = 2024", "k = 'a' OR ok", "NOT (k = 'a' AND k <> 'b')", "age = 10", "true",
)  # fmt: skip
KEYS = (
    "k",
    "ok",
    "date_trunc('month', seen)",
    "date_trunc('year', seen)",
    "age / 10",
    "extract(quarter FROM seen)",
    "k = 'a'",
)


@CALM
@given(
    keys=st.lists(st.sampled_from(KEYS), max_size=3, unique=True),
    where=st.lists(st.sampled_from(CONDITIONS), max_size=3, unique=True),
    rows=st.lists(st.sampled_from(ROWS), max_size=30, unique_by=lambda row: row[0]),
)
def test_any_statement_that_follows_is_what_would_be_computed(
    world: World, cube: CubeQuery, keys: list[str], where: list[str], rows: list[Row]
):
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    listed = ", ".join([*keys, "count(*)", "sum(x)"])
    part = part_of(
        world, f"SELECT {listed} FROM t WHERE {' AND '.join(f'({w})' for w in where) or 'true'}{group}"
    )
    if not part.vacuous:
        check(world, cube, part, rows)


def test_rows_that_each_statement_cuts_have_no_form():
    cut = build((TABLE[0], TABLE[1].replace("(id)", "(id) MAX ROWS 3"), *TABLE[2:]))
    nobody = Caller("", frozenset(), "")
    context = Context(cut.policy, cut.schema, nobody, DEFAULTS, None, cut.facts)
    assert plan_cube("c", CUBE, context).form is None


VISITS = (
    "CREATE TABLE v (person INTEGER, ward VARCHAR, hours INTEGER NOT NULL, ok BOOLEAN NOT NULL)",
    "ALTER TABLE v SET PRIVACY KEY (person) MAX ROWS 4 MAX GROUPS 1",
    "ALTER TABLE v ALTER COLUMN ward SET PRIVACY DOMAIN IN ('A', 'B', 'C')",
    "ALTER TABLE v ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN 0 AND 5",
    "ALTER TABLE v ALTER COLUMN ok SET PRIVACY DOMAIN IN (TRUE, FALSE)",
)
GROUPED = (
    "SELECT count(*), sum(hours) FROM v",
    "SELECT count(*) FILTER (WHERE ward = 'A') AS a, count(*) FILTER (WHERE ok) AS b, avg(hours) FILTER (WHERE ward = 'B') FROM v",
    "SELECT count(*) FROM v WHERE ward = 'A'",
    "SELECT ward, count(*) FROM v GROUP BY ward",
    "SELECT ward, count(*), sum(hours) FILTER (WHERE ok) AS s FROM v GROUP BY ward",
    "SELECT ward, count(*) FROM v WHERE ok GROUP BY ward",
    "SELECT ok, count(*) FILTER (WHERE ward = 'A') AS a, count(*) FROM v GROUP BY ok",
    "SELECT ward, ok, count(*), sum(hours) FROM v GROUP BY ward, ok",
    "SELECT CASE WHEN ward = 'A' THEN 'A' ELSE 'others' END AS w, count(*) FROM v GROUP BY w",
)


class Grouped(NamedTuple):
    """What is asked, what follows of each from the cells, and which follows from which how."""

    tables: Tables
    parts: list[Part]
    cube: CubeQuery
    followed: list[tuple[Sums, ...] | None]
    derived: list[tuple[int, int, Derivation]]


@pytest.fixture(scope="module")
def grouped() -> Iterator[Grouped]:
    world = replace(build(VISITS), prepared=True)
    cube = cube_of(world, "v (ward, ok) MEASURES (count(*), sum(hours))")
    parts = [part_of(world, sql) for sql in GROUPED]
    derived = []
    for (stored, finer), (number, part) in product(enumerate(parts), repeat=2):
        one, other = described(finer, (), 1), described(part, (), 1)
        assert one is not None
        assert other is not None
        found = derivation(one, wanted_of(finer), other, wanted_of(part))
        if found is not None:
            derived.append((stored, number, found))
    tables = Tables(world)
    yield Grouped(tables, parts, cube, [follows(cube, part) for part in parts], derived)
    tables.close()


@CALM
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([1, 1, 2, 3, None]),
            st.sampled_from(["A", "B", "C", "D", None]),
            st.integers(-1, 6),
            st.booleans(),
        ),
        max_size=14,
    )
)
def test_groups_that_a_person_is_left_out_of_are_those_of_each_statement(grouped: Grouped, rows: list[Row]):
    """MAX GROUPS leaves other rows out of each grouping: what follows from cells, or from another grouping, has none."""
    grouped.tables.fill({"v": rows})
    exact = [grouped.tables.exact(part) for part in grouped.parts]
    answers = [
        [found[row] for row in wanted_of(part)] for part, found in zip(grouped.parts, exact, strict=True)
    ]
    for sums, answer in zip(grouped.followed, answers, strict=True):
        if sums is not None:
            assert summed(grouped.tables, grouped.cube, sums) == answer
    for stored, number, found in grouped.derived:
        assert [tuple(row) for row in found.added(list(exact[stored].values()))] == answers[number]
