"""What a prepared table holds, and what its name depends on."""

import pytest
from msgspec.structs import replace

from dpproxy.algebra import printing
from dpproxy.algebra.plan import PREPARED, PreparedTable
from tests.golden.neighbours import furthest
from tests.golden.world import Tables, World, build, plan_of

PEOPLE = (
    "CREATE TABLE people (id INTEGER, unit VARCHAR, x DOUBLE, x_steps INTEGER, price DECIMAL(6,2), wide DOUBLE)",
    "INSERT INTO people VALUES (1, 'a', 3.5, 3, 1.25, 1), (1, 'b', 99, 3, 2.5, 1), (1, 'b', 7, 3, 2.5, 1)",
    "INSERT INTO people VALUES (2, 'a', 'nan', -7, NULL, 1), (NULL, 'a', 0, 0, 0, 1)",
    "ALTER TABLE people SET PRIVACY KEY (id) MAX ROWS 2",
    "ALTER TABLE people ALTER COLUMN unit SET PRIVACY DOMAIN IN ('a', 'b')",
    "ALTER TABLE people ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 10",
    "ALTER TABLE people ALTER COLUMN x_steps SET PRIVACY DOMAIN BETWEEN 0 AND 5",
    "ALTER TABLE people ALTER COLUMN price SET PRIVACY DOMAIN BETWEEN 0 AND 5 OUTSIDE NULL",
    "ALTER TABLE people ALTER COLUMN wide SET PRIVACY DOMAIN BETWEEN 0 AND 1e300",
)


def world(*more: str) -> World:
    return replace(build([*PEOPLE, *more]), prepared=True)


def prepares(made: World, sql: str, **options: str) -> tuple[PreparedTable, ...]:
    [part] = plan_of(made, sql, options).parts
    return part.prepares


def test_no_statement_cuts_or_clamps_what_is_prepared():
    [part] = plan_of(
        world(), "SELECT unit, count(*), sum(x), sum(price) FROM people WHERE x > 1 GROUP BY unit"
    ).parts
    assert PREPARED in part.exact
    assert not part.truncated
    assert "QUALIFY" not in part.exact
    assert "CASE" not in part.exact
    [table] = part.prepares
    assert table.truncated
    assert printing.text(table.query).count("QUALIFY") == 1


def test_names_of_our_own_give_way_to_those_of_the_table():
    made = world()
    [part] = plan_of(made, "SELECT sum(x), sum(x_steps), count(unit) FROM people").parts
    assert '"x_steps_1"' in part.exact
    tables = Tables(made)
    tables.fill({**made.rows, "people": [(2, "a", 7.0, 3, None, 1.0)]})
    lattice = 2**26  # steps of x in one: 2^4 is the first power above 10, and a step is 2^30 times finer
    assert set(*tables.exact(part).values()) == {7 * lattice, 3, 1}
    tables.close()


def test_the_name_follows_from_what_is_held():
    made = world()
    [table] = prepares(made, "SELECT sum(x) FROM people")
    assert prepares(made, "SELECT unit, count(*) FROM people GROUP BY unit", **{"dp.epsilon": "3"}) == (
        table,
    )
    later = replace(made, policy=replace(made.policy, data_version=2))
    [newer] = prepares(later, "SELECT sum(x) FROM people")
    assert (newer.name != table.name, newer.query == table.query) == (True, True)
    [other] = prepares(
        world("ALTER TABLE people SET PRIVACY KEY (id) MAX ROWS 3"), "SELECT sum(x) FROM people"
    )
    assert other.name != table.name


def test_rows_that_are_units_are_prepared_only_where_columns_have_bounds():
    rows = ("CREATE TABLE t (c VARCHAR, i INTEGER)", "ALTER TABLE t SET PRIVACY KEY ROW")
    plain = replace(build([*rows, "ALTER TABLE t ALTER COLUMN c SET PRIVACY DOMAIN IN ('a')"]), prepared=True)
    assert prepares(plain, "SELECT count(*) FROM t") == ()
    bounded = replace(
        build([*rows, "ALTER TABLE t ALTER COLUMN i SET PRIVACY DOMAIN BETWEEN 0 AND 9"]), prepared=True
    )
    [table] = prepares(bounded, "SELECT sum(i) FROM t")
    assert not table.truncated
    assert "QUALIFY" not in printing.text(table.query)


def test_keys_are_held_as_they_are():
    """Clamped, two values that are referred to would be one."""
    made = replace(
        build((
            "CREATE TABLE people (id INTEGER)",
            "CREATE TABLE visits (no INTEGER, person INTEGER)",
            "CREATE TABLE items (visit INTEGER)",
            "INSERT INTO people VALUES (1)",
            "INSERT INTO visits VALUES (7, 1), (8, 1), (8, 1)",
            "INSERT INTO items VALUES (7), (8), (8)",
            "ALTER TABLE people SET PRIVACY KEY (id)",
            "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 3",
            "ALTER TABLE items SET PRIVACY KEY (visit) REFERENCES visits (no) MAX ROWS 4",
            "ALTER TABLE visits ALTER COLUMN no SET PRIVACY DOMAIN BETWEEN 0 AND 5",
        )),
        prepared=True,
    )  # fmt: skip
    tables = Tables(made)
    plan = plan_of(made, "SELECT count(*) FROM visits v JOIN items i ON i.visit = v.no")
    [part] = plan.parts
    assert len(part.prepares) == 2
    assert furthest(made, plan, tables) == [1]
    tables.fill(made.rows)
    assert tables.exact(part) == {(): (3,)}
    tables.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(y) FROM (SELECT x AS y FROM people) s",
        "SELECT sum(y) FROM (SELECT x + 1 AS y FROM people) s",
        "SELECT avg(a.x) FROM people a JOIN people b ON a.id = b.id",
        "SELECT avg(n) FROM (SELECT id, sum(x) AS n FROM people GROUP BY id) s",
        "SELECT sum(x) FILTER (WHERE price > 1) FROM people",
        "SELECT sum(q) FROM (SELECT x AS q FROM people UNION ALL SELECT x FROM people) s",
        "SELECT unit, stddev(x), avg(price) FROM people GROUP BY ROLLUP (unit)",
        "SELECT x_steps, count(*) FROM people GROUP BY x_steps",
        "SELECT count(*) FROM people p WHERE EXISTS (SELECT 1 FROM people q WHERE q.id = p.id AND q.x > p.price)",
    ],
)
def test_every_shape_reads_it_and_no_unit_moves_it_too_far(sql: str):
    made = world()
    tables = Tables(made)
    plan = plan_of(made, sql, {"dp.epsilon": "8"})
    assert all(part.prepares for part in plan.parts)
    assert max(furthest(made, plan, tables)) > 0
    tables.close()
