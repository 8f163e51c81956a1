"""MIN and MAX of listed texts over places; what is answered is in tests/golden/order_statistics.test."""

import pytest
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.query import _relation
from dpproxy.planner.rewrites import listed_extremes
from dpproxy.planner.rewrites.listed_extremes import with_places
from dpproxy.planner.rows.from_rows import rows_of
from dpproxy.planner.rows.sources import Env, entries
from tests.golden.world import World
from tests.planner.passes import planning_of

PLACE = "CASE ward WHEN 'A' THEN 0 WHEN 'B' THEN 1 WHEN 'C' THEN 2 END"
TEXT = "WHEN 0 THEN 'A' WHEN 1 THEN 'B' WHEN 2 THEN 'C' END"


def written(world: World, sql: str) -> str:
    planning, env, select = planning_of(world), Env(plan=_relation), accept(parse(sql))
    assert isinstance(select, exp.Select)
    rows, select = rows_of(select, entries(select, planning, env), planning, env, lambda _node, _rows: None)
    return duck.words(with_places(select, rows, planning))


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT min(ward) FROM visits", f'SELECT CASE MIN({PLACE}) {TEXT} AS "min" FROM visits'),
        (
            "SELECT count(*) AS n FROM visits HAVING max(ward) = 'B'",
            f"SELECT COUNT(*) AS n FROM visits HAVING CASE MAX({PLACE}) {TEXT} = 'B'",
        ),
        (
            "SELECT max(ward) FILTER (WHERE hours > 3) AS m FROM visits",
            f"SELECT CASE MAX({PLACE}) FILTER(WHERE hours > 3) {TEXT} AS m FROM visits",
        ),
        ("SELECT min(hours) FROM visits", "SELECT MIN(hours) FROM visits"),
        ("SELECT min(upper(ward)) FROM visits", "SELECT MIN(UPPER(ward)) FROM visits"),
    ],
)
def test_an_extreme_of_a_listed_text_is_of_places(world: World, sql: str, found: str):
    assert written(world, sql) == found


def test_a_long_list_stays(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(listed_extremes, "MOST", 2)
    assert written(world, "SELECT min(ward) FROM visits") == "SELECT MIN(ward) FROM visits"
