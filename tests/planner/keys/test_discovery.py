"""Keys that are not public: how they are read, what is paid for them, what is refused."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpproxy.engine import payment
from dpproxy.planner.keys.discovery import LONGEST_KEY, MOST_SHOWN
from dpproxy.values.errors import BoundsMissing, InvalidParameter, Refusal, Unsupported
from tests.golden.neighbours import furthest
from tests.golden.test_relations import answered
from tests.golden.world import Tables, World, build, plan_any, plan_of
from udfs.privacy import NANO

HEADER = (
    "CREATE TABLE people (id INTEGER NOT NULL)",
    """CREATE TABLE visits (
      patient INTEGER, town VARCHAR, day DATE, since TIMESTAMP, code SMALLINT, ward VARCHAR, hours INTEGER)""",
    "CREATE TABLE single (patient INTEGER, town VARCHAR)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people SET PRIVACY CEILING EPSILON 100 DELTA 1e-4",
    "ALTER TABLE visits SET PRIVACY KEY (patient) REFERENCES people (id) MAX ROWS 6 MAX GROUPS 2",
    *(
        f"ALTER TABLE visits ALTER COLUMN {column} SET PRIVACY DOMAIN DISCOVERED"
        for column in ("town", "day", "since", "code")
    ),
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('A', 'B')",
    "ALTER TABLE visits ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN 0 AND 24",
    "ALTER TABLE single SET PRIVACY KEY (patient) REFERENCES people (id)",
    "ALTER TABLE single ALTER COLUMN town SET PRIVACY DOMAIN DISCOVERED",
    "CREATE PRIVACY BUDGET lab LIMIT EPSILON 100 DELTA 1e-5",
    "GRANT SELECT ON people, visits, single TO analyst WITH PRIVACY BUDGET lab",
)
TOWNS = "SELECT town, count(*) FROM visits GROUP BY town"


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def test_half_of_the_loss_selects_and_the_rest_is_for_the_measures(world: World):
    [part] = plan_of(world, TOWNS, {"dp.epsilon": "1"}).parts
    assert part.selection is not None
    assert part.mechanism is not None
    assert (part.selection.nano, part.selection.groups) == (NANO // 2, 2)
    assert part.selection.nano + part.mechanism.nano * part.factor <= part.loss.nano == NANO
    assert (part.keys[0].discovered, part.keys[0].rows, part.most) == (True, (), MOST_SHOWN)
    [keys] = plan_of(world, "SELECT DISTINCT town FROM visits", {"dp.epsilon": "1"}).parts
    assert keys.selection is not None
    assert (keys.selection.nano, keys.measures, keys.mechanism) == (NANO, 0, None)


@pytest.mark.parametrize(
    ("sql", "groups", "units"),
    [
        (TOWNS, 2, 'COUNT(DISTINCT "patient")'),
        ("SELECT town, count(*) FROM single GROUP BY town", 1, "COUNT(*)"),
        (
            "SELECT v.town, count(*) FROM people p JOIN visits v ON p.id = v.patient GROUP BY 1",
            2,
            "COUNT(DISTINCT",
        ),
    ],
)
def test_a_unit_counts_once_in_each_of_its_groups(world: World, sql: str, groups: int, units: str):
    [part] = plan_of(world, sql).parts
    assert part.selection is not None
    assert part.selection.groups == groups
    assert f"CAST({units}" in part.exact
    assert ("DENSE_RANK()" in part.exact) == (groups > 1)


def test_delta_is_the_settings_else_a_hundredth_of_the_budgets(world: World):
    assert plan_of(world, TOWNS).delta == Fraction(1, 10**7)
    assert plan_of(world, TOWNS, {"dp.delta": "3e-9"}).delta == Fraction(3, 10**9)
    assert plan_of(world, "SELECT count(*) FROM visits").delta == 0
    assert plan_of(world, f"{TOWNS} LIMIT 0", {"dp.delta": "0"}).free


def test_parts_that_find_keys_share_delta_and_those_that_do_not_take_none(world: World):
    made = plan_of(
        world, "SELECT town, day, count(*) FROM visits GROUP BY CUBE (town, day)", {"dp.delta": "1e-6"}
    )
    deltas = [part.delta for part in made.parts]
    assert sorted(deltas) == [0, *[deltas[0]] * 3]
    assert Fraction(1, 10**6) - Fraction(1, 10**29) < made.delta <= Fraction(1, 10**6)
    assert (deltas[0] * 10**30).denominator == 1


def test_the_key_of_a_release_tells_its_delta(world: World):
    small, large = (plan_of(world, TOWNS, {"dp.delta": d}).parts[0] for d in ("1e-9", "1e-6"))
    assert small.exact == large.exact
    assert payment.release_key(small, (), 1) != payment.release_key(large, (), 1)
    dear = plan_of(world, TOWNS, {"dp.delta": "1e-9", "dp.epsilon": "1"}).parts[0]
    assert payment.release_key(small, (), 1) == payment.release_key(dear, (), 1)
    assert payment.release_key(replace(small, selection=None), (), 1) != payment.release_key(small, (), 1)


@pytest.mark.parametrize(
    ("key", "held"),
    [
        ("town", f'LENGTH("town") <= {LONGEST_KEY}'),
        ("lower(town)", f'CASE WHEN LENGTH("town") <= {LONGEST_KEY} THEN "town" END'),
        ("left(town, 2)", f'CASE WHEN LENGTH("town") <= {LONGEST_KEY} THEN "town" END'),
        ("day", "\"day\" <= CAST('9999-12-31' AS DATE)"),
        ("extract(year FROM day)", "CASE WHEN (\"day\" >= CAST('0001-01-01' AS DATE)"),
        ("date_trunc('month', since)", "CASE WHEN (\"since\" >= CAST('0001-01-01 00:00:00' AS TIMESTAMP)"),
        ("town || ward", f'CASE WHEN LENGTH("town") <= {LONGEST_KEY} THEN "town" END'),
    ],
)
def test_a_value_without_a_public_bound_is_no_key(world: World, key: str, held: str):
    [part] = plan_of(world, f"SELECT {key}, count(*) FROM visits GROUP BY 1").parts
    assert held in part.exact
    assert part.discovered


@pytest.mark.parametrize(
    "key", ["town = 'Oslo'", "CASE WHEN town = 'Oslo' THEN 1 ELSE 2 END", "ward", "hours / 8"]
)
def test_what_follows_from_the_policy_is_declared(world: World, key: str):
    made = plan_of(world, f"SELECT {key}, count(*) FROM visits GROUP BY 1", {"dp.delta": "0"})
    assert (made.discovered, made.delta) == (False, 0)


def test_keys_of_a_subquery_that_shows_the_column(world: World):
    [part] = plan_of(world, "SELECT t, count(*) FROM (SELECT town AS t FROM visits) AS s GROUP BY t").parts
    assert part.discovered


@pytest.mark.parametrize(
    ("sql", "given", "refusal", "words"),
    [
        (TOWNS, {"dp.delta": "0"}, BoundsMissing, "the keys of town are not public"),
        (
            "SELECT town, ward FROM visits GROUP BY 1, 2",
            {"dp.delta": "0"},
            BoundsMissing,
            "the keys of town are not",
        ),
        (
            "SELECT town, median(hours) FROM visits GROUP BY 1",
            {},
            Unsupported,
            "median is not answered beside keys",
        ),
        ("SELECT exp(code), count(*) FROM visits GROUP BY 1", {}, BoundsMissing, "floating-point"),
        (TOWNS, {"dp.epsilon": "0.001"}, InvalidParameter, "too small to find keys"),
        (TOWNS, {"dp.delta": "1e-25"}, InvalidParameter, "delta must be"),
    ],
)
def test_what_is_refused(world: World, sql: str, given: dict[str, str], refusal: type[Refusal], words: str):
    with pytest.raises(refusal, match=words) as caught:
        plan_any(world, sql, given)
    assert caught.value.hint
    assert caught.value.position is not None


@pytest.mark.parametrize("tail", ["LIMIT 0", "HAVING count(*) > 3 LIMIT 0"])
def test_groups_that_nothing_selects_are_not_read(world: World, tail: str):
    """No rows are wanted, so nothing decides which groups are shown: then none is computed, or paid for."""
    plan = plan_of(world, f"SELECT count(*) FROM ({TOWNS} {tail}) AS s")
    assert plan.free
    assert all(p.vacuous for p in plan.parts)


def test_rows_without_a_partner_keep_to_the_other_conditions():
    """NULL is a key beside the join of units: nobody's rows meet those of others."""
    world = build(
        (
            "CREATE TABLE people (id INTEGER)",
            "CREATE TABLE visits (person INTEGER)",
            "CREATE TABLE stays (person INTEGER, town VARCHAR)",
            "INSERT INTO people SELECT i FROM range(6) r(i)",
            "INSERT INTO visits SELECT i FROM range(6) r(i)",
            "INSERT INTO stays VALUES (0, 'Oslo')",
            "ALTER TABLE people SET PRIVACY KEY (id)",
            "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 1",
            "ALTER TABLE stays SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 1",
            "ALTER TABLE stays ALTER COLUMN town SET PRIVACY DOMAIN DISCOVERED",
        ),
        "DELTA 0.01",
    )
    joined = "people p JOIN visits v ON p.id = v.person LEFT JOIN stays s ON s.person = p.id"
    tables = Tables(world, least=1)
    plan = plan_of(world, f"SELECT s.town, count(*) FROM {joined} GROUP BY 1")
    assert furthest(world, plan, tables) == [1]
    tables.fill(world.rows)
    assert list(answered(plan, tables)) == [("Oslo", 1), (None, 5)]
    tables.close()
