"""The same sensitivities over prepared tables, built anew whenever rows are there or not; and the same answers."""

import math
from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dpproxy.values.errors import Refusal
from tests.golden.neighbours import furthest
from tests.golden.queries import GLOBAL, Statement
from tests.golden.queries import statements as joined
from tests.golden.schemas import clean_worlds, worlds
from tests.golden.test_neighbours import UNITS, rows, statements, world_of
from tests.golden.test_relations import answered, assert_same, planned, rows_of
from tests.golden.world import Row, Tables, World, build, plan_of


@pytest.fixture(scope="module", params=UNITS)
def filled(request: pytest.FixtureRequest) -> Iterator[tuple[World, Tables]]:
    world = replace(world_of(request.param), prepared=True)
    tables = Tables(world)
    yield world, tables
    tables.close()


@settings(max_examples=min(settings.default.max_examples, 100))  # of each kind of unit
@given(sql=statements(), data=rows(), epsilon=st.sampled_from(["0.1", "3", "50"]))
def test_no_unit_moves_the_answer_further_than_it_pays(
    filled: tuple[World, Tables], sql: str, data: dict[str, list[Row]], epsilon: str
):
    world, tables = filled
    try:
        plan = plan_of(world, sql, {"dp.epsilon": epsilon})
    except Refusal as refusal:
        assert refusal.sqlstate != "XX000", refusal.message  # noqa: PT017 - all others are fine
        return
    assert all(p.vacuous or p.prepares for p in plan.parts)
    furthest(replace(world, rows=data), plan, tables)


def alike(one: object, other: object) -> bool:
    """Equal; of numbers, but for a rounding."""
    if isinstance(one, float | Decimal) and isinstance(other, float | Decimal):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-5)
    return one == other


@given(sql=statements(ranked=False), data=rows())
def test_both_forms_say_the_same_where_nothing_is_cut(sql: str, data: dict[str, list[Row]]):
    """A DOUBLE may be rounded to its lattice before or after the middle of its range is subtracted."""
    world = replace(world_of("ROW"), rows=data)
    try:
        plans = [plan_of(w, sql, {"dp.epsilon": "1"}) for w in (world, replace(world, prepared=True))]
    except Refusal:
        return
    assert (
        len({tuple(tuple(sorted(p.mechanism.widths)) for p in plan.parts if p.mechanism) for plan in plans})
        == 1
    )
    tables = Tables(world)
    tables.fill(data)
    own, prepared = (answered(plan, tables) for plan in plans)
    tables.close()
    assert all(alike(a, b) for x, y in zip(own, prepared, strict=True) for a, b in zip(x, y, strict=True))


@given(world=worlds(), statement=joined(), epsilon=st.sampled_from(["0.1", "3", "50"]))
def test_no_unit_moves_a_join_further_than_it_pays(world: World, statement: Statement, epsilon: str):
    world = replace(world, prepared=True)
    plan = planned(world, statement.sql, epsilon)
    if plan is None:
        return
    tables = Tables(world)
    try:
        furthest(world, plan, tables)
        tables.fill(world.rows)
        answered(plan, tables)
    finally:
        tables.close()


@given(world=clean_worlds(), statement=joined())
def test_an_answer_without_noise_is_that_of_the_rows(world: World, statement: Statement):
    assume(GLOBAL not in statement.sql)
    world = replace(world, prepared=True)
    plan = planned(world, statement.sql, "50")
    if plan is None:
        return
    tables = Tables(world, least=1)
    try:
        tables.fill(world.rows)
        assert_same(world, statement, answered(plan, tables), rows_of(tables, statement.sql))
    finally:
        tables.close()


def test_each_reference_is_cut_by_its_own_columns():
    """A table has one row of a unit for each ``no`` that others refer to, and may have several for each ``c``."""
    world = build(
        (
            "CREATE TABLE people (id INTEGER)",
            "CREATE TABLE visits (person INTEGER, no INTEGER, c INTEGER)",
            "CREATE TABLE items (no INTEGER)",
            "CREATE TABLE returns (person INTEGER, c INTEGER)",
            "INSERT INTO people VALUES (1)",
            "INSERT INTO visits SELECT 1, i, 7 FROM range(4) r(i)",
            "INSERT INTO returns SELECT 1, 7 FROM range(4) r(i)",
            "ALTER TABLE people SET PRIVACY KEY (id)",
            "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 4",
            "ALTER TABLE items SET PRIVACY KEY (no) REFERENCES visits (no) MAX ROWS 4",
            "ALTER TABLE returns SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 4",
            "ALTER TABLE returns SET PRIVACY FOREIGN KEY (c) REFERENCES visits (c)",
        )
    )
    for prepared in (False, True):
        plan = plan_of(
            replace(world, prepared=prepared), "SELECT count(*) FROM returns r JOIN visits v ON r.c = v.c"
        )
        tables = Tables(world)
        assert furthest(world, plan, tables) == [1]  # of the four rows that are paid for
        tables.close()
