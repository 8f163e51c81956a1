"""MIN and MAX of shared values as two releases; what comes of it is in tests/golden/discovered.test."""

import pytest
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.query import _relation
from dpproxy.planner.rewrites.extremes import over_values
from dpproxy.planner.rows.from_rows import rows_of
from dpproxy.planner.rows.sources import Env, entries
from dpproxy.values.errors import Unsupported
from tests.golden.world import World, build
from tests.planner.keys.test_discovery import HEADER
from tests.planner.passes import planning_of

IN_GROUP = 'FROM "#values0" WHERE "#0" IS NOT DISTINCT FROM "#rows"."#0"'
LEAST, MOST = f'(SELECT MIN("#1") {IN_GROUP})', f'(SELECT MAX("#1") {IN_GROUP})'
CASES = (
    (
        "SELECT town, min(day), max(day) AS m FROM visits GROUP BY town ORDER BY min(day), 3 DESC LIMIT 3",
        (
            'SELECT town AS "#0" FROM visits GROUP BY GROUPING SETS ((town))',
            f'SELECT "#0" AS "town", {LEAST} AS "min", {MOST} AS "m" FROM "#rows" ORDER BY {LEAST}, 3 DESC LIMIT 3',
            'SELECT DISTINCT town AS "#0", day AS "#1" FROM visits',
        ),
    ),
    (
        "SELECT min(town) FROM visits",
        (
            'SELECT COUNT(*) AS "#0" FROM visits',  # not asked
            'SELECT (SELECT MIN("#0") FROM "#values0") AS "min"',
            'SELECT DISTINCT town AS "#0" FROM visits',
        ),
    ),
    (  # hours have bounds: one draw finds the largest
        "SELECT ward, max(hours), max(town) FILTER (WHERE hours > 3) FROM visits GROUP BY 1",
        (
            'SELECT ward AS "#0", MAX(hours) AS "#1" FROM visits GROUP BY GROUPING SETS ((ward))',
            f'SELECT "#0" AS "ward", "#1" AS "max", {MOST} AS "max" FROM "#rows"',
            'SELECT DISTINCT ward AS "#0", CASE WHEN hours > 3 THEN town END AS "#1" FROM visits',
        ),
    ),
    (
        "SELECT town, count(*) FROM visits GROUP BY town HAVING max(hours) > 3",
        (
            'SELECT town AS "#0", COUNT(*) AS "#1" FROM visits GROUP BY GROUPING SETS ((town))',
            f'SELECT "#0" AS "town", "#1" AS "count" FROM "#rows" WHERE {MOST} > 3',
            'SELECT DISTINCT town AS "#0", hours AS "#1" FROM visits',
        ),
    ),
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def _found(world: World, sql: str) -> tuple[str, ...] | None:
    planning, env, select = planning_of(world), Env(plan=_relation), accept(parse(sql))
    assert isinstance(select, exp.Select)
    rows, select = rows_of(select, entries(select, planning, env), planning, env, lambda _node, _rows: None)
    found = over_values(select, rows, planning)
    if found is None:
        return None
    halves, values = found
    return tuple(map(duck.words, (*halves, *values.values())))


@pytest.mark.parametrize(("sql", "queries"), CASES)
def test_two_releases(world: World, sql: str, queries: tuple[str, ...]):
    assert _found(world, sql) == queries


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT town, count(*) FROM visits GROUP BY town",
        "SELECT ward, max(hours) FROM visits GROUP BY ward",
        "SELECT town, max(hours) FROM visits WHERE town IN ('Oslo', 'Rome') GROUP BY town",  # these are listed
        "SELECT max(code) FROM visits",  # between the ends of its type
        "SELECT town, min(patient) FROM visits GROUP BY town",
        "SELECT patient, min(day) FROM visits GROUP BY patient",
        "SELECT *, min(day) FROM visits",
        "SELECT town, dp.ci_low(min(day)) FROM visits GROUP BY town",
    ],
)
def test_what_is_no_extreme_of_shared_values(world: World, sql: str):
    assert _found(world, sql) is None


def test_several_sets_of_keys_are_asked_one_by_one(world: World):
    with pytest.raises(Unsupported) as refused:
        _found(world, "SELECT town, min(day) FROM visits GROUP BY ROLLUP (town)")
    assert refused.value.message == "min of what nobody listed is of one set of keys"
    assert (
        refused.value.hint == "Ask for each set in a statement of its own, with GROUP BY and its keys alone."
    )
