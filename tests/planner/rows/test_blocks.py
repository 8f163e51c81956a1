"""Which blocks a release is about: none but their people move it, and nothing is claimed where that is not certain."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Plan
from dpproxy.planner.explain import explain_text
from dpproxy.planner.rows.blocks import MOST_BLOCKS
from tests.golden.neighbours import shuffled
from tests.golden.world import Tables, World, build, plan_of

DDL = (
    "CREATE TABLE people (id INTEGER, region VARCHAR, age INTEGER)",
    # 5 has two rows in two regions, 6 a region that is not declared, 7 none; nobody owns the last row.
    "INSERT INTO people VALUES (1, 'north', 30), (2, 'south', 40), (3, 'north', 50), (4, 'west', 20)",
    "INSERT INTO people VALUES (5, 'north', 60), (5, 'south', 61), (6, 'moon', 10), (7, NULL, 70), (NULL, 'north', 1)",
    "CREATE TABLE visits (patient INTEGER, region VARCHAR, cost INTEGER)",
    "INSERT INTO visits SELECT 1 + i % 8, ['north', 'south'][1 + i % 2], i FROM range(24) AS r(i)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people ALTER COLUMN region SET PRIVACY DOMAIN IN ('north', 'south', 'west')",
    "ALTER TABLE visits SET PRIVACY KEY (patient) REFERENCES people (id) MAX ROWS 4",
    "ALTER TABLE visits ALTER COLUMN region SET PRIVACY DOMAIN IN ('north', 'south')",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people SET PRIVACY BLOCKS BY (region)",
)
IN_BLOCKS = (
    ("SELECT count(*) FROM people WHERE region = 'north'", ["'north'"]),
    ("SELECT sum(age) FROM people WHERE 'south' = people.region AND age > 30", ["'south'"]),
    ("SELECT region, count(*) FROM people AS p WHERE p.\"region\" IN ('west', 'north') GROUP BY 1",
     ["'north'", "'west'"]),
    ("SELECT sum(cost) FROM visits AS v JOIN people AS p ON v.patient = p.id WHERE p.region = 'south'", ["'south'"]),
    ("SELECT sum(cost) FROM visits AS v LEFT JOIN people AS p ON v.patient = p.id WHERE p.region = 'south'",
     ["'south'"]),
    ("SELECT count(*) FROM people WHERE region = 'north' AND id IN (SELECT patient FROM visits WHERE cost > 10)",
     ["'north'"]),
    ("SELECT count(*) FROM people AS a JOIN people AS b ON a.id = b.id WHERE b.region = 'north'", ["'north'"]),
    ("SELECT median(age) FROM people WHERE region = 'north'", ["'north'"]),
    ("SELECT dp.with_prior(count(*), 'uniform(0, 9)') FROM people WHERE region = 'west'", ["'west'"]),
)  # fmt: skip
OF_EVERYBODY = (
    "SELECT region, count(*) FROM people GROUP BY region",
    "SELECT count(*) FROM people WHERE region <> 'north'",
    "SELECT count(*) FROM people WHERE NOT region IN ('north')",
    "SELECT count(*) FROM people WHERE region = 'north' OR age > 30",
    "SELECT count(*) FROM people WHERE region = 'moon'",
    "SELECT count(*) FROM people WHERE region IN ('north', 'moon')",
    "SELECT count(*) FROM people WHERE lower(region) = 'north'",
    "SELECT count(*) FROM people WHERE region IS NULL",
    "SELECT count(*) FILTER (WHERE region = 'north') FROM people",
    "SELECT sum(cost) FROM visits WHERE region = 'north'",
    "SELECT count(*) FROM visits AS people WHERE people.region = 'north'",
    "SELECT sum(cost) FROM visits AS v JOIN people AS p ON v.patient = p.id WHERE v.region = 'south'",
    "SELECT count(*) FROM (SELECT 'north' AS region, age FROM people) AS p WHERE region = 'north'",
    "SELECT count(*) FROM people AS p (id, age, region) WHERE age = 'north'",
    "SELECT count(*) FROM visits WHERE patient IN (SELECT id FROM people WHERE region = 'north')",
    "SELECT count(*) FROM (SELECT age FROM people WHERE region = 'north' UNION ALL SELECT cost FROM visits) AS u",
)


@pytest.fixture(scope="module", params=[False, True], ids=["cut by each statement", "prepared"])
def world(request: pytest.FixtureRequest) -> World:
    return replace(build(DDL), prepared=request.param)


def values(plan: Plan) -> list[str]:
    [part] = plan.parts
    return [block.partition(":")[2] for block in part.blocks]


@pytest.mark.parametrize(("sql", "blocks"), IN_BLOCKS)
def test_a_condition_on_the_block_column_names_blocks(world: World, sql: str, blocks: list[str]):
    found = values(plan_of(world, sql))
    assert found in ([], blocks)
    assert found == blocks or not world.prepared  # one row of each unit has to be fixed first


@pytest.mark.parametrize("sql", OF_EVERYBODY)
def test_everything_else_is_about_everybody(world: World, sql: str):
    assert values(plan_of(world, sql)) == []


HOMES = {1: "'north'", 2: "'south'", 3: "'north'", 4: "'west'", 6: None, 7: None}
"""Where people live who have one row."""


@pytest.mark.parametrize("sql", [sql for sql, _ in IN_BLOCKS])
def test_nobody_of_another_block_moves_the_exact_stage(world: World, sql: str):
    """Each person in turn is removed with all their rows, rows are shuffled, tables built anew."""
    blocks = values(plan_of(world, sql))
    if blocks:
        moved = movers(world, sql)
        assert moved  # of its own people somebody does, or the test says nothing
        assert {HOMES[person] for person in moved - {5}} <= set(blocks)


def test_one_person_with_rows_in_two_blocks_is_in_one(world: World):
    """Where a statement is about a block, only one of the two sees person 5, whichever row was kept."""
    asked = [f"SELECT count(*) FROM people WHERE region = '{region}'" for region in ("north", "south")]
    seen = [5 in movers(world, sql) for sql in asked]
    assert sum(seen) == (1 if values(plan_of(world, asked[0])) else 2)


def movers(world: World, sql: str) -> set[int]:
    """The people without whom the exact stage is another."""
    [part] = plan_of(world, sql).parts
    tables = Tables(world)
    found = set()
    for person in range(8):
        rows = {
            name: [row for row in listed if row[world.place(name, key)] != person]
            for name, key in (("people", "id"), ("visits", "patient"))
            for listed in (world.rows[name],)
        }
        tables.fill(shuffled(rows, person))
        result = tables.exact(part)
        if person == 0:  # nobody
            whole = result
        elif result != whole:
            found.add(person)
    return found


def test_another_division_of_people_is_another_generation(world: World):
    sql = "SELECT count(*) FROM people WHERE region = 'north'"
    keyed = [
        replace(world, prepared=True),
        replace(world, prepared=True, policy=replace(world.policy, data_version=2)),
    ]
    found = {plan_of(one, sql).parts[0].blocks for one in keyed}
    assert len(found) == 2
    assert all(len(blocks) == 1 for blocks in found)


def test_explain_tells_whose_ceiling_pays(world: World):
    plan = plan_of(world, "SELECT count(*) FROM people WHERE region IN ('north', 'west')")
    line = next(one for one in explain_text(plan, Fraction(95, 100)) if one.startswith("Pays: "))
    assert line == "Pays: budget lab, ceiling of people" + (
        " in block 'north', 'west'" if plan.blocks else ""
    )


def test_too_many_blocks_are_everybody():
    names = [f"r{i}" for i in range(MOST_BLOCKS + 1)]
    listed = ", ".join(f"'{name}'" for name in names)
    world = build(
        (
            "CREATE TABLE t (region VARCHAR)",
            "ALTER TABLE t SET PRIVACY KEY ROW",
            f"ALTER TABLE t ALTER COLUMN region SET PRIVACY DOMAIN IN ({listed})",
            "ALTER TABLE t SET PRIVACY BLOCKS BY (region)",
        )
    )
    few = ", ".join(f"'{name}'" for name in names[1:])
    assert len(plan_of(world, f"SELECT count(*) FROM t WHERE region IN ({few})").blocks) == MOST_BLOCKS
    assert plan_of(world, f"SELECT count(*) FROM t WHERE region IN ({listed})").blocks == ()


def test_a_parameter_that_is_bound_is_a_constant(world: World):
    plan = plan_of(world, "SELECT count(*) FROM people WHERE region = $1", {"$1": "text:north"})
    assert values(plan) == (["'north'"] if world.prepared else [])
