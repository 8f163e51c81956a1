"""What a statement seems to release, before its names are looked up: what is planned does not depend on it."""

import pytest

from dpproxy.algebra.plan import Plan, PublicPlan
from dpproxy.planner import guess, query
from dpproxy.planner.accept import accept, parse
from dpproxy.values.errors import Refusal
from tests.golden.world import World, plan_any
from tests.planner.passes import planning_of

MEAN = "SELECT avg(x.hours) FROM visits x"
LIKELY = [
    ("SELECT ward FROM wards", 1),
    ("SELECT count(*) FROM visits", 1),
    ("SELECT ward, count(*) FROM visits v JOIN people p ON p.id = v.person GROUP BY ward", 1),
    ("SELECT count(*) FROM visits UNION ALL SELECT count(*) FROM people", 2),
    ("SELECT count(*) FROM visits UNION ALL SELECT count(*) FROM visits", 1),
    (f"SELECT count(*) FROM visits WHERE hours > ({MEAN})", 2),
    (f"WITH m AS ({MEAN}) SELECT avg FROM m UNION ALL SELECT 2 * avg FROM m", 1),
    ("SELECT n, count(*) FROM (SELECT person, count(*) AS n FROM visits GROUP BY person) t GROUP BY n", 1),
    ("SELECT count(*) FROM people WHERE id IN (SELECT DISTINCT person FROM visits)", 1),
    (f"SELECT count(*) FROM visits v WHERE v.hours > ({MEAN} WHERE x.person = v.person)", 1),
    ("SELECT ward, count(*) FROM visits GROUP BY ROLLUP (ward)", 2),
    ("SELECT ward, hours, count(*) FROM visits GROUP BY CUBE (ward, hours)", 4),
    ("SELECT ward, hours, count(*) FROM visits GROUP BY GROUPING SETS ((ward, hours), (ward), ())", 3),
]
OTHERWISE = [
    (
        "SELECT ward, count(*) FROM visits WHERE ward IN (SELECT ward FROM visits GROUP BY ward ORDER BY count(*)"
        " LIMIT 1) GROUP BY ward"
    ),
    (
        "SELECT v.ward, count(*) FROM visits v JOIN (SELECT person AS p, max(hours) AS most FROM visits GROUP BY p) t"
        " ON t.p = v.person GROUP BY v.ward"
    ),
    "SELECT ward FROM visits UNION ALL SELECT count(*) FROM people",
    "SELECT count(*) FROM visits UNION ALL SELECT sum(age) FROM nobody",
    "SELECT count(*), nothing FROM visits GROUP BY ROLLUP (ward)",
]


@pytest.mark.parametrize(("sql", "many"), LIKELY)
def test_releases_are_counted_by_the_tree(clinic: World, sql: str, many: int):
    context = planning_of(clinic).context
    assert guess.releases_of(guess.tables_of(accept(parse(sql)), context), context) == many


def outcome(world: World, sql: str, options: dict[str, str]) -> Plan | PublicPlan | tuple[object, ...]:
    try:
        return plan_any(world, sql, options)
    except Refusal as refusal:
        return type(refusal), refusal.message, refusal.hint, refusal.detail, refusal.position


@pytest.mark.parametrize("guessed", [1, 2, 5])
@pytest.mark.parametrize("options", [{}, {"dp.epsilon": "0.0006"}, {"dp.target_error": "5"}])
@pytest.mark.parametrize("sql", [*(sql for sql, _ in LIKELY), *OTHERWISE])
def test_whatever_is_guessed_the_plan_is_the_same(
    clinic: World, sql: str, options: dict[str, str], guessed: int, monkeypatch: pytest.MonkeyPatch
):
    found = outcome(clinic, sql, options)
    monkeypatch.setattr(query, "releases_of", lambda *_: guessed)
    assert outcome(clinic, sql, options) == found
