"""Lists of released values joined; what comes of it is in tests/golden/two_stages.test."""

from collections.abc import Callable

import pytest
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.query import _relation
from dpproxy.planner.rewrites.memberships import with_memberships
from dpproxy.planner.rows.sources import Env, with_ctes
from tests.golden.world import World
from tests.planner.passes import planning_of

TOP = "(SELECT city FROM people GROUP BY city ORDER BY COUNT(*) DESC LIMIT 2)"
JOINED = (
    ' LEFT JOIN (SELECT DISTINCT "#in0"."#0" FROM {0} AS "#in0"("#0")) AS "#in0"("#0") ON city = "#in0"."#0"'
)


@pytest.fixture
def written(world: World) -> Callable[[str], str]:
    def find(sql: str) -> str:
        select = accept(parse(sql))
        assert isinstance(select, exp.Select)
        return duck.words(
            with_memberships(select, planning_of(world), with_ctes(select, Env(plan=_relation)))
        )

    return find


def test_a_test_of_when_is_a_join(written: Callable[[str], str]):
    sql = f"SELECT CASE WHEN city IN {TOP} AND age > 3 THEN city END AS c, count(*) FROM people GROUP BY 1 ORDER BY 2"
    found = written(sql)
    assert JOINED.format(TOP) in found
    assert found.startswith('SELECT CASE WHEN NOT "#in0"."#0" IS NULL AND age > 3 THEN city END AS c')


def test_one_list_is_joined_once(written: Callable[[str], str]):
    case = f"CASE WHEN city IN {TOP} THEN 1 ELSE 0 END"
    assert (
        written(f"SELECT {case}, count(*) FROM people GROUP BY {case} ORDER BY {case}").count("LEFT JOIN")
        == 1
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT city, count(*) FROM people GROUP BY city",
        f"SELECT city IN {TOP}, count(*) FROM people GROUP BY 1",
        f"SELECT CASE WHEN NOT city IN {TOP} THEN 1 END, count(*) FROM people GROUP BY 1",
        f"SELECT sum(CASE WHEN city IN {TOP} THEN 1 END) FROM people",
        "SELECT CASE WHEN id IN (SELECT patient FROM visits) THEN 1 END, count(*) FROM people GROUP BY 1",
        "SELECT CASE WHEN city IN (SELECT city FROM cities) THEN 1 END, count(*) FROM people GROUP BY 1",
        f"SELECT CASE WHEN city IN {TOP} THEN 1 END, count(*) FROM cities GROUP BY 1",
        f"WITH c AS {TOP} SELECT CASE WHEN city IN {TOP} THEN 1 END, count(*) FROM c GROUP BY 1",
    ],
)
def test_others_stay(written: Callable[[str], str], sql: str):
    assert "LEFT JOIN" not in written(sql)


def test_names_of_with_are_followed(written: Callable[[str], str]):
    sql = "WITH top AS {0} SELECT CASE WHEN city IN (SELECT city FROM top) THEN 1 END, count(*) FROM people GROUP BY 1"
    assert "LEFT JOIN" in written(sql.format(TOP))
    assert "LEFT JOIN" not in written(sql.format("(SELECT city FROM cities)"))
