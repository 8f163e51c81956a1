"""Cuts add up: a second one never takes the place of the first."""

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.planner.rows.truncation import truncated
from tests.golden.neighbours import furthest
from tests.golden.world import Tables, build, plan_of

REPEATED = (
    "CREATE TABLE people (id INTEGER)",
    "CREATE TABLE visits (no INTEGER, person INTEGER)",
    "CREATE TABLE items (visit INTEGER)",
    "INSERT INTO people VALUES (1), (2)",
    "INSERT INTO visits VALUES (7, 1), (7, 1), (7, 1), (8, 2)",
    "INSERT INTO items VALUES (7), (7), (7), (7), (8)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 3",
    "ALTER TABLE items SET PRIVACY KEY (visit) REFERENCES visits (no) MAX ROWS 4",
)
"""One person's visits share a number, so that each item meets all of them."""


def test_a_second_cut_keeps_the_first():
    unit, content = duck.column("u"), [duck.column("a")]
    select = nodes.Select(items=(nodes.Star(),), source=nodes.Table("t"))
    once = truncated(select, unit, content, 1, within=content)
    twice = duck.text(truncated(once, unit, content, 3))
    assert twice.count("QUALIFY") == 2
    assert 'PARTITION BY "u", "a"' in twice


def test_rows_that_are_referred_to_are_met_once():
    world = build(REPEATED)
    tables = Tables(world)
    plan = plan_of(world, "SELECT count(*) FROM visits v JOIN items i ON i.visit = v.no")
    assert furthest(world, plan, tables) == [1]
    [part] = plan.parts
    tables.fill(world.rows)
    assert tables.exact(part) == {(): (5,)}
    tables.close()
