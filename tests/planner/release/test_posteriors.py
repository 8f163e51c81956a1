"""Priors over many people: noise and the posterior, what is told of it, and where refinement answers."""

import pytest

from dpproxy.planner.explain import explain_json, explain_text
from dpproxy.planner.release.posteriors import MOST_CELLS
from tests.golden.world import World, build, plan_of
from tests.planner.answers import answered

HEADER = (
    "CREATE TABLE people (id INTEGER, age INTEGER, ward VARCHAR, town VARCHAR)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people SET PRIVACY EXPECTED ROWS 100",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110",
    "ALTER TABLE people ALTER COLUMN ward SET PRIVACY DOMAIN IN ('A', 'B')",
    "ALTER TABLE people ALTER COLUMN town SET PRIVACY DOMAIN DISCOVERED",
    *(f"INSERT INTO people VALUES ({i}, {20 + i % 60}, 'A', 'x')" for i in range(100)),
)
PRIOR = "dp.with_prior(avg(age), 'normal(44, 6)')"


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def test_what_is_released_is_what_is_released_without_a_prior(world: World):
    """So that a prior, and another one, are free where the question was asked."""
    [plain] = plan_of(world, "SELECT avg(age) FROM people").parts
    for sql in (f"SELECT {PRIOR} FROM people", "SELECT dp.with_prior(avg(age), 'uniform(0, 9)') FROM people",
                f"SELECT avg(age), {PRIOR} FROM people"):  # fmt: skip
        assert plan_of(world, sql).parts == (plain,)


def test_one_draw_for_aggregates_with_priors_and_without(world: World):
    sql = f"SELECT ward, {PRIOR}, dp.with_prior(count(*), 'normal(60, 9)') AS n, sum(age) FROM people GROUP BY ward"
    [part] = plan_of(world, sql, {"dp.epsilon": "0.5"}).parts
    assert (part.loss.nano, part.measures) == (500_000_000, 4)


def test_the_posterior_is_between_the_draw_and_the_prior(world: World):
    [row] = answered(world, f"SELECT avg(age), {PRIOR}, dp.with_prior(count(*), 'normal(60, 9)') FROM people")
    mean, posterior, count = (float(str(v)) for v in row)
    assert 44 < posterior < mean == 45.5
    assert 60 < count < 100


def test_intervals_are_the_draw_s_own(world: World):
    sql = f"SELECT dp.ci_low({PRIOR}) = dp.ci_low(avg(age)), dp.ci_high({PRIOR}) = dp.ci_high(avg(age)) FROM people"
    assert answered(world, sql) == [(True, True)]
    plan = plan_of(world, f"SELECT {PRIOR} AS m FROM people", {"dp.intervals": "columns"})
    assert [o.column.name for o in plan.outputs] == ["m", "m_ci_low", "m_ci_high"]


def test_explain_and_a_notice_compare_with_noise(world: World):
    from fractions import Fraction  # noqa: PLC0415 - of one test

    plan = plan_of(world, f"SELECT {PRIOR} FROM people", {"dp.epsilon": "1"})
    [notice] = plan.notices
    assert notice.message.startswith("with prior normal(44, 6): answered by noise, then the mean")
    assert "0.79" in str(notice.detail)
    assert str(notice.detail).endswith("by noise alone.")
    said = " ".join(map(str.strip, explain_text(plan, Fraction(95, 100))))
    assert f"Told: {notice.message}. {notice.detail}" in said
    assert notice.message in explain_json(plan, Fraction(95, 100))


def test_without_expected_rows_nothing_is_predicted_of_averages():
    own = build([s for s in HEADER if "EXPECTED" not in s])
    [notice] = plan_of(own, f"SELECT {PRIOR} FROM people").notices
    assert "depends on how many rows" in str(notice.detail)
    [notice] = plan_of(own, "SELECT dp.with_prior(count(*), 'normal(60, 9)') FROM people").notices
    assert "by noise alone" in str(notice.detail)


def test_refinement_answers_where_it_is_predicted_to_be_nearer():
    """One row, and epsilon 5: noise for all of 0 to 100,000 says little of two values beside each other."""
    own = build(
        (
            "CREATE TABLE t (id INTEGER, x INTEGER)",
            "ALTER TABLE t SET PRIVACY KEY (id)",
            "ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 100000",
        )
    )
    sql = "SELECT dp.with_prior(sum(x), 'table([10, 20], [1, 1])') FROM t"
    plan = plan_of(own, sql, {"dp.epsilon": "5"})
    assert [p.refined for p in plan.parts] == [True]
    assert "answered by refinement" in plan.notices[0].message
    plan = plan_of(own, sql.replace("[10, 20]", "[0, 90000000]"), {"dp.epsilon": "5"})
    assert [p.refined for p in plan.parts] == [False]


def test_values_that_are_no_numbers_on_a_line_are_refined(world: World):
    for prior in ("nominal([40, 50], [1, 1])", "ordinal([40, 50], [1, 1])"):
        [part] = plan_of(world, f"SELECT dp.with_prior(avg(age), '{prior}') FROM people").parts
        assert part.refined


def test_a_check_counts_draws_that_contradict(world: World):
    found = plan_of(world, f"SELECT {PRIOR} FROM people WHERE ward = 'B'", {"dp.epsilon": "1"})
    [check] = found.checks
    assert check.sql.startswith("SELECT COUNT(*) FROM r0 WHERE _DP_SURPRISE('normal(44, 6)', ")
    assert (check.prior, check.groups) == ("normal(44, 6)", 1)
    assert check.sql.endswith(" < 0.05e0")
    grouped = plan_of(world, f"SELECT ward, {PRIOR} FROM people GROUP BY ward")
    assert grouped.checks[0].sql.endswith(" < 0.025e0")


def test_many_groups_take_a_prior_of_fewer_values():
    dates = "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 49999"
    own = build([dates if "COLUMN age" in s else s for s in HEADER])
    plan = plan_of(own, "SELECT age, dp.with_prior(count(*), 'normal(60, 9)') FROM people GROUP BY age")
    assert f", {MOST_CELLS // 50_000})" in plan.answer


def test_keys_that_are_not_public_may_be_asked_with_a_prior(world: World):
    settings = {"dp.delta": "1e-6", "dp.epsilon": "1"}
    plan = plan_of(world, f"SELECT town, {PRIOR} FROM people GROUP BY town", settings)
    assert plan.discovered
    assert "_DP_POSTERIOR" in plan.answer
