"""One SELECT as two; what comes of it is in tests/golden/row_windows.test."""

import pytest
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.query import _relation
from dpproxy.planner.rewrites.two_steps import in_two
from dpproxy.planner.rows.from_rows import rows_of
from dpproxy.planner.rows.sources import Env, entries
from tests.golden.world import World
from tests.planner.passes import planning_of

CASES = (
    ("SELECT id, city FROM people", None),
    ("SELECT DISTINCT id, city FROM people", None),
    ("SELECT city, count(*), rank() OVER (ORDER BY count(*)) FROM people GROUP BY city", None),
    (
        "SELECT DISTINCT ON (id) id, age FROM people ORDER BY id, age DESC",
        'SELECT "#0" AS "id", "#1" AS "age" FROM "#rows" WHERE "#2" = 1',
    ),
    (
        "SELECT DISTINCT id, max(age) OVER (PARTITION BY id) AS m FROM people",
        'SELECT DISTINCT "#0" AS "id", "#1" AS "m" FROM "#rows"',
    ),
    (
        "SELECT id, rank() OVER (PARTITION BY id ORDER BY sum(age)) AS r FROM people GROUP BY 1 HAVING count(*) > 1",
        'SELECT "#0" AS "id", RANK() OVER (PARTITION BY "#0" ORDER BY "#1") AS "r" FROM "#rows"',
    ),
)


@pytest.mark.parametrize(("sql", "outer"), CASES)
def test_a_select_in_two(clinic: World, sql: str, outer: str | None):
    planning, env, select = planning_of(clinic), Env(plan=_relation), accept(parse(sql))
    assert isinstance(select, exp.Select)
    rows, select = rows_of(select, entries(select, planning, env), planning, env, lambda _node, _rows: None)
    halves = in_two(select, rows)
    if outer is None:
        assert halves is None
        return
    assert halves is not None
    inner, around = halves
    assert duck.words(around) == outer
    assert inner.args.get("distinct") is None
    assert [e.alias for e in inner.expressions] == [f"#{n}" for n in range(len(inner.expressions))]
    assert (inner.args.get("having") is not None) == ("HAVING" in sql)
