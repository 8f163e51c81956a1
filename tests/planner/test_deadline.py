"""What a statement is given, from declared sizes and one person's worst."""

import pytest

from dpproxy.planner.deadline import BOUNDED, DRAWN, JOINED
from tests.golden.world import World, build, plan_of

DDL = (
    "CREATE TABLE people (id INTEGER, age INTEGER)",
    "CREATE TABLE visits (person INTEGER, hours INTEGER)",
    "CREATE TABLE prices (hours INTEGER, price INTEGER)",
    "INSERT INTO prices VALUES (1, 1), (1, 2), (1, 3), (2, 4)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 9",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 5",
    "ALTER TABLE visits ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN 0 AND 9",
    "ALTER TABLE prices SET PRIVACY PUBLIC",
)
SIZES = (
    "ALTER TABLE people SET PRIVACY EXPECTED ROWS 1000000",
    "ALTER TABLE visits SET PRIVACY EXPECTED ROWS 3000000",
)


@pytest.fixture(scope="module")
def sized() -> World:
    return build([*DDL, *SIZES])


def nanoseconds(world: World, sql: str) -> int:
    return round(plan_of(world, sql).deadline * 1e9)


def test_without_sizes_only_the_worst_person_and_the_draws_count():
    world = build(list(DDL))
    plan = plan_of(world, "SELECT count(*) FROM visits")
    assert (round(plan.deadline * 1e9), plan.sized) == (5 * JOINED + DRAWN, False)
    half = build([*DDL, SIZES[1]])
    assert not plan_of(half, "SELECT count(*) FROM visits v JOIN people p ON v.person = p.id").sized


def test_declared_rows_count_once_for_each_release(sized: World):
    one = nanoseconds(sized, "SELECT age, count(*) FROM people GROUP BY age")
    assert one == 1_000_000 * BOUNDED + JOINED + 10 * DRAWN
    both = nanoseconds(sized, "SELECT age, count(*) FROM people GROUP BY ROLLUP (age)")
    assert both == 2 * one - 9 * DRAWN
    assert plan_of(sized, "SELECT count(*) FROM people").sized


def test_rows_that_a_statement_cuts_itself_take_longer(sized: World):
    assert nanoseconds(sized, "SELECT count(*) FROM visits") == 3_000_000 * BOUNDED + 5 * JOINED + DRAWN


def test_what_public_rows_multiply_is_in_it(sized: World):
    joined = "SELECT count(*) FROM visits v JOIN prices p ON v.hours = p.hours"
    assert nanoseconds(sized, joined) == 3 * 3_000_000 * BOUNDED + 15 * JOINED + DRAWN


def test_what_reads_nothing_takes_no_time(sized: World):
    assert nanoseconds(sized, "SELECT count(*) FROM people WHERE FALSE") == 0
