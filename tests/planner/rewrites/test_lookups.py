"""Look-ups of public values as joins; what comes of them is in tests/golden/public.test."""

import pytest
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.query import _relation
from dpproxy.planner.rewrites.lookups import with_lookups
from dpproxy.planner.rows.sources import Env
from tests.golden.world import World
from tests.planner.passes import planning_of

SIZE = "(SELECT size FROM cities WHERE cities.city = p.city{0})"
JOINED = (
    'LEFT JOIN (SELECT cities.city AS "#0", MAX(size) AS "#1" FROM cities GROUP BY cities.city) AS "#look0" '
    'ON "#look0"."#0" = p.city'
)


def written(world: World, sql: str) -> str:
    select = accept(parse(sql))
    assert isinstance(select, exp.Select)
    return duck.words(with_lookups(select, planning_of(world), Env(plan=_relation)))


@pytest.mark.parametrize("end", ["", " LIMIT 1", " ORDER BY size LIMIT 1"])
def test_a_look_up_in_a_key_is_a_join(world: World, end: str):
    found = written(world, f"SELECT {SIZE.format(end)} > 3 AS big, count(*) FROM people p GROUP BY 1")
    assert found == f'SELECT "#look0"."#1" > 3 AS big, COUNT(*) FROM people AS p {JOINED} GROUP BY 1'


def test_an_aggregate_of_public_rows_is_looked_up(world: World):
    sql = "SELECT (SELECT max(size) FROM cities WHERE cities.city = p.city) AS s, count(*) FROM people p GROUP BY s"
    assert JOINED in written(world, sql)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT sum({SIZE.format('')}) FROM people p",
        "SELECT (SELECT max(size) FROM cities) AS s, count(*) FROM people p GROUP BY 1",
        f"SELECT {SIZE.format(' LIMIT 2')} AS s, count(*) FROM people p GROUP BY 1",
        "SELECT (SELECT count(*) FROM cities WHERE cities.city = p.city) AS s, count(*) FROM people p GROUP BY 1",
        "SELECT (SELECT city FROM cities WHERE size < p.age) AS s, count(*) FROM people p GROUP BY 1",
        "SELECT (SELECT size FROM cities c WHERE c.city = p.city) AS s, count(*) FROM cities p GROUP BY 1",
        "SELECT (SELECT max(age) FROM people q WHERE q.city = p.city) AS s, count(*) FROM people p GROUP BY 1",
    ],
)
def test_others_stay(world: World, sql: str):
    assert written(world, sql) == duck.words(accept(parse(sql)))
