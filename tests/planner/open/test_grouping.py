import pytest

from dpproxy.planner.accept import parse
from dpproxy.planner.open.grouping import has_groups
from dpproxy.values.errors import GroupingError, Refusal, SyntaxRefused
from tests.golden.world import World, plan_any
from tests.planner.answers import answered, shape

V = "(VALUES (1, 'a', 10), (1, 'b', 20), (2, 'a', 30)) AS v (x, k, n)"


@pytest.mark.parametrize(
    ("sql", "is_grouped"),
    [
        ("SELECT count(*) FROM t", True),
        ("SELECT x FROM t HAVING true", True),
        ("SELECT sum(x) OVER () FROM t", False),
        ("SELECT sum(x) FILTER (WHERE x > 1) OVER () FROM t", False),
        ("SELECT rank() OVER (ORDER BY count(*)) FROM t", True),
        ("SELECT (SELECT count(*) FROM u) FROM t", False),
        ("SELECT x FROM t ORDER BY max(x)", True),
    ],
)
def test_what_makes_one_row_of_many(sql: str, is_grouped: bool):  # noqa: FBT001
    assert has_groups(parse(sql)) is is_grouped  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rest", "rows"),
    [
        ("x, sum(n) FROM {v} GROUP BY x ORDER BY x", [(1, 30), (2, 30)]),
        ("x AS y, sum(n) FROM {v} GROUP BY y ORDER BY 1", [(1, 30), (2, 30)]),
        ("x + 1, count(*) FROM {v} GROUP BY 1 ORDER BY 1", [(2, 2), (3, 1)]),
        ("v.x, max(k) FROM {v} GROUP BY x ORDER BY v.x", [(1, "b"), (2, "a")]),
        ("7, count(*) FROM {v} GROUP BY 1", [(7, 3)]),
        ("x, count(*) FROM {v} GROUP BY ROLLUP (x) ORDER BY 1 NULLS FIRST", [(None, 3), (1, 2), (2, 1)]),
        ("x, k, sum(n), grouping(x, k) FROM {v} GROUP BY GROUPING SETS ((x), (k)) ORDER BY 4, 1, 2",
         [(1, None, 30, 1), (2, None, 30, 1), (None, "a", 40, 2), (None, "b", 20, 2)]),
        ("count(*) FROM {v} GROUP BY CUBE (x, k)", [(1,), (1,), (1,), (1,), (1,), (2,), (2,), (3,)]),
        ("sum(n) FROM {v} HAVING count(*) > 3", []),
    ],
)  # fmt: skip
def test_groups(world: World, rest: str, rows: list[tuple[object, ...]]):
    found = answered(world, f"SELECT {rest.format(v=V)}")
    assert (found if "ORDER" in rest else sorted(found)) == rows


def test_grouping_is_an_integer(world: World):
    assert shape(world, f"SELECT grouping(x) FROM {V} GROUP BY ROLLUP (x)") == [("grouping", "int4")]


@pytest.mark.parametrize(
    ("rest", "error"),
    [
        ("k, count(*) FROM {v} GROUP BY x", GroupingError),
        ("k, count(*) FROM {v}", GroupingError),
        ("x FROM {v} GROUP BY 2", SyntaxRefused),
        ("count(*) FROM {v} GROUP BY count(*)", GroupingError),
        ("grouping(k) FROM {v} GROUP BY x", GroupingError),
        ("x FROM {v} WHERE count(*) > 1", GroupingError),
        (
            "x, (SELECT max(n) FROM {v} WHERE v.n = w.n) FROM (SELECT 1 AS x, 2 AS n) AS w GROUP BY x",
            GroupingError,
        ),
    ],
)
def test_refused(world: World, rest: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_any(world, f"SELECT {rest.format(v=V)}")
