"""Which groups are shown, where some may have no rows."""

import math
from fractions import Fraction

import pytest

from dpproxy.algebra.plan import Hidden, Plan
from dpproxy.planner.explain import explain_text
from tests.golden.world import World, build, plan_of
from tests.planner.release.test_intervals import shown

GROUPS = 40
EMPTY = 30
STATEMENTS = 400
HIDE = {"dp.epsilon": "0.5", "dp.empty_groups": "hide"}
HEADER = (
    "CREATE TABLE people (id INTEGER, g INTEGER, far INTEGER, age INTEGER NOT NULL)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    f"ALTER TABLE people ALTER COLUMN g SET PRIVACY DOMAIN BETWEEN 0 AND {GROUPS - 1}",
    "ALTER TABLE people ALTER COLUMN far SET PRIVACY DOMAIN BETWEEN 1 AND 1001",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def hidden(plan: Plan) -> Hidden | None:
    assert plan.accuracy is not None
    return plan.accuracy.hidden


@pytest.mark.statistical
def test_a_group_without_rows_is_shown_by_one_statement_in_twenty_at_most(world: World):
    """False-alarm rate under 1e-6: 4.9 standard deviations. Groups that have rows are above the threshold by far."""
    plan = plan_of(world, "SELECT g, count(*) AS n FROM people GROUP BY g", HIDE)
    (part,) = plan.parts
    assert part.mechanism is not None
    exact = [0] * EMPTY + [500] * (GROUPS - EMPTY)
    false = 0
    for _ in range(STATEMENTS):
        noise = part.mechanism.draw(GROUPS).tolist()
        keys = {row[0] for row in shown(plan, [[e + n] for e, (n,) in zip(exact, noise, strict=True)])}
        assert set(range(EMPTY, GROUPS)) <= keys
        false += len(keys) > GROUPS - EMPTY
    assert false <= STATEMENTS * 0.05 + 4.9 * math.sqrt(STATEMENTS * 0.05 * 0.95)


def test_the_threshold_decides_and_nothing_else(world: World):
    plan = plan_of(
        world, "SELECT g, count(*) AS n FROM people GROUP BY g HAVING g > 2 AND count(*) < 900", HIDE
    )
    found = hidden(plan)
    assert found is not None
    counts = [int(found.most) + (g % 3) for g in range(GROUPS)]
    kept = [g for g in range(3, GROUPS) if g % 3]
    assert [row[0] for row in shown(plan, [[n] for n in counts])] == kept


def test_windows_and_limits_are_over_groups_that_are_shown(world: World):
    sql = "SELECT g, avg(count(*)) OVER () AS mean FROM people GROUP BY g ORDER BY g LIMIT 2"
    plan = plan_of(world, sql, HIDE)
    rows = shown(plan, [[600 if g > 36 else 0] for g in range(GROUPS)])
    assert [(g, float(str(mean))) for g, mean, *_ in rows] == [(37, 600.0), (38, 600.0)]


def test_a_count_is_released_where_there_is_none(world: World):
    plans = [
        plan_of(world, "SELECT g, sum(age) FROM people GROUP BY g", o) for o in ({"dp.epsilon": "0.5"}, HIDE)
    ]
    assert [plan.parts[0].measures for plan in plans] == [1, 2]
    assert [len(plan.outputs) for plan in plans] == [2, 2]
    found = hidden(plans[1])
    assert found is not None
    assert found.added
    told = f"Hidden: groups of a released count up to {found.most} (dp.empty_groups)"
    texts = [explain_text(plan, Fraction(95, 100)) for plan in plans]
    more = "That count is released for it, and shares the epsilon: 'show' has the errors without"
    for line in (told, more):
        assert [line in text for text in texts] == [False, True]


def test_intervals_are_of_all_groups_together(world: World):
    plan = plan_of(world, "SELECT g, count(*) FROM people GROUP BY g", HIDE)
    assert plan.accuracy is not None
    assert plan.accuracy.together


@pytest.mark.parametrize(
    ("sql", "is_hidden"),
    [
        ("SELECT far, count(*) FROM people GROUP BY far", True),
        ("SELECT far, avg(age), count(*) FROM people GROUP BY far", True),
        ("SELECT far, sum(age) FROM people GROUP BY far", True),
        ("SELECT far, avg(age) FROM people GROUP BY far", True),
        ("SELECT far, stddev(age) FROM people GROUP BY far", True),
        ("SELECT far, count(DISTINCT age) FROM people GROUP BY far", True),
        ("SELECT far, sum(age - 50) FROM people GROUP BY far", True),
        ("SELECT far, sum(age - 50), max(age) FROM people GROUP BY far", True),
        ("SELECT far, median(age) FROM people GROUP BY far", False),
        ("SELECT g, count(*) FROM people GROUP BY g", False),
        ("SELECT count(*) FROM people", False),
    ],
)
def test_by_default_those_of_many_are_hidden_where_rows_are_counted(world: World, sql: str, is_hidden: bool):  # noqa: FBT001
    assert (hidden(plan_of(world, sql, {"dp.epsilon": "0.5"})) is not None) == is_hidden
    assert hidden(plan_of(world, sql, {"dp.epsilon": "0.5", "dp.empty_groups": "show"})) is None


def test_a_sum_decides_by_itself_at_no_price(world: World):
    """One measure as before, and as accurate; its threshold is in the unit of the column."""
    sql = "SELECT far, sum(age) AS total FROM people GROUP BY far"
    auto, show = (plan_of(world, sql, {"dp.epsilon": "0.5", "dp.empty_groups": s}) for s in ("auto", "show"))
    assert auto.parts == show.parts
    found = hidden(auto)
    assert found is not None
    assert found.what == "sum(age)"
    sums = [int(found.most) + n for n in (-1, 0, 1)] + [0] * 998
    assert [row[0] for row in shown(auto, [[s] for s in sums])] == [3]


def test_a_sum_of_both_signs_decides_by_its_distance_from_zero(world: World):
    """At no price: what is released is the same."""
    sql = "SELECT far, sum(age - 50) AS total FROM people GROUP BY far"
    auto, show = (plan_of(world, sql, {"dp.epsilon": "0.5", "dp.empty_groups": s}) for s in ("auto", "show"))
    assert auto.parts == show.parts
    found = hidden(auto)
    assert found is not None
    assert (found.what, found.added) == ("abs(sum(age - 50))", False)
    most = int(found.most)
    sums = [most + 1, most, 0, -most, -most - 1] + [0] * 996
    assert [row[0] for row in shown(auto, [[s] for s in sums])] == [1, 5]


@pytest.mark.statistical
def test_a_sum_of_nothing_is_shown_by_one_statement_in_twenty_at_most(world: World):
    """False-alarm rate under 1e-6: 4.9 standard deviations."""
    plan = plan_of(world, "SELECT far, sum(age) AS n FROM people GROUP BY far", {"dp.epsilon": "0.5"})
    (part,), found = plan.parts, hidden(plan)
    assert part.mechanism is not None
    assert found is not None
    noise = part.mechanism.draw(STATEMENTS * 1001).reshape(STATEMENTS, 1001)
    false = int((noise.max(axis=1) > found.most).sum())
    assert false <= STATEMENTS * 0.05 + 4.9 * math.sqrt(STATEMENTS * 0.05 * 0.95)


def test_a_whole_has_no_groups(world: World):
    assert hidden(plan_of(world, "SELECT count(*) FROM people", HIDE)) is None


def test_each_grouping_set_has_its_own_threshold(world: World):
    plan = plan_of(world, "SELECT g, count(*) FROM people GROUP BY ROLLUP (g)", HIDE)
    assert hidden(plan) is not None
    assert plan.answer.count("WHERE") == 1


def test_it_is_said_beside_windows_and_around_subqueries_too(world: World):
    grouped = "SELECT g, count(*) AS n FROM people GROUP BY ROLLUP (g)"
    found = hidden(plan_of(world, grouped, HIDE))
    assert found
    ranked = grouped.replace("AS n", "AS n, rank() OVER (ORDER BY count(*))")
    for sql in (ranked, f"SELECT g, n FROM ({grouped}) AS t"):
        assert hidden(plan_of(world, sql, HIDE)) == found
