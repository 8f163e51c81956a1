"""Windows over rows of one person; what they compute, and whom they may see, is in tests/golden/row_windows.test."""

import pytest

from dpproxy.algebra import nodes
from dpproxy.values.errors import Refusal
from tests.golden.world import World, build, plan_any, plan_of

NUMBERED = "SELECT person, ward, row_number() OVER (PARTITION BY person ORDER BY day) AS rn FROM visits"


@pytest.fixture(scope="module")
def world() -> World:
    return build(
        (
            "CREATE TABLE visits (person INTEGER, ward VARCHAR, day DATE, note VARCHAR)",
            "ALTER TABLE visits SET PRIVACY KEY (person) MAX ROWS 7",
            "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('a', 'b')",
            "ALTER TABLE visits ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN DATE '2020-01-01' AND DATE '2020-12-31'",
        )
    )


@pytest.mark.parametrize(
    ("condition", "most"),
    [
        ("rn = 1", 1),
        ("rn = 5", 1),
        ("rn <= 3", 3),
        ("rn < 3", 2),
        ("rn BETWEEN 2 AND 4", 4),
        ("rn <= 30", 7),
        ("rn > 1", 7),
        ("NOT rn <= 3", 7),
        ("rn <= 3 OR ward = 'a'", 7),
        ("(rn = 1 AND ward = 'a') OR (rn = 1 AND ward = 'b')", 1),
    ],
)
def test_a_condition_on_numbers_bounds_a_persons_rows(world: World, condition: str, most: int):
    [part] = plan_of(
        world, f"SELECT ward, count(*) FROM ({NUMBERED}) t WHERE {condition} GROUP BY ward"
    ).parts
    assert part.factor == most


@pytest.mark.parametrize(
    "source",
    [
        f"({NUMBERED}) t JOIN visits v ON v.person = t.person",
        f"(SELECT rn, ward FROM ({NUMBERED}) a UNION ALL SELECT rn, ward FROM ({NUMBERED}) b) t",
        f"(SELECT t.rn, t.ward FROM ({NUMBERED}) t JOIN visits v ON v.person = t.person) t",
        f"({NUMBERED.replace('row_number', 'rank')}) t",
        f"({NUMBERED.replace('BY person', 'BY person, ward')}) t",
        f"(SELECT ward, CASE WHEN rn > 1 THEN 1 ELSE rn END AS rn FROM ({NUMBERED}) t) t",
    ],
)
def test_other_numbers_bound_nothing(world: World, source: str):
    [part] = plan_of(world, f"SELECT t.ward, count(*) FROM {source} WHERE t.rn = 1 GROUP BY t.ward").parts
    assert part.factor >= 7


def test_a_number_of_the_row_around_bounds_nothing_inside(world: World):
    inner = "SELECT count(*) FROM visits x WHERE x.person = t.person AND t.rn = 1"
    [part] = plan_of(
        world, f"SELECT sum(n) FROM (SELECT person, rn, ({inner}) AS n FROM ({NUMBERED}) t) s"
    ).parts
    assert part.mechanism is not None
    assert part.mechanism.widths == (49,)


def test_every_window_is_of_one_unit_in_a_total_order(world: World):
    sql = (
        "SELECT count(*) FROM (SELECT person, lag(ward) OVER (PARTITION BY ward, person ORDER BY day DESC) AS w, "
        "sum(1) OVER (PARTITION BY person ORDER BY day ROWS 1 PRECEDING) AS s, "
        "rank() OVER (PARTITION BY person ORDER BY day) AS r FROM visits) t WHERE w = 'a' AND s > 1 AND r > 1"
    )
    [part] = plan_of(world, sql).parts
    windows = {w.call.name: w for w in part.query.find_all(nodes.Window)}
    place = nodes.Ordered(nodes.ColumnRef("place"))
    assert all(w.partition[0] == nodes.ColumnRef("person") for w in windows.values())
    assert windows["lag"].order[-1] == windows["sum"].order[-1] == place
    assert place not in windows["rank"].order
    numbers = windows["row_number"]
    assert isinstance(numbers.order[0].value, nodes.Call)
    assert numbers.order[0].value.arguments[0] == nodes.Parameter(1)
    assert part.truncated


@pytest.mark.parametrize(
    "function", ["percent_rank()", "cume_dist()", "string_agg(ward, ',')", "count(DISTINCT ward)"]
)
def test_what_has_no_rule_is_refused(world: World, function: str):
    with pytest.raises(Refusal):
        plan_any(
            world,
            f"SELECT count(*) FROM (SELECT person, {function} OVER (PARTITION BY person) AS x FROM visits) t "
            "WHERE x IS NOT NULL",
        )


def test_explain_says_which_rows_they_see(world: World):
    cuts = plan_of(world, f"SELECT count(*) FROM ({NUMBERED}) t WHERE rn = 1").cuts
    assert any("first of these" in line for line in cuts)
