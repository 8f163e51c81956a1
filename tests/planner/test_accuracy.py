"""dp.target_error: the least epsilon that is enough, or a refusal that says what would be."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from dpproxy.algebra.plan import Drawn, Plan
from dpproxy.analysis.scopes import Parameters
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context
from dpproxy.planner.accuracy import worst
from dpproxy.planner.query import plan_query
from dpproxy.values.errors import InvalidParameter
from tests.golden.world import ANALYST, World, build
from udfs.privacy import NANO, Loss

HEADER: Sequence[str] = (
    "CREATE TABLE t (k VARCHAR, x INTEGER)",
    "ALTER TABLE t SET PRIVACY KEY ROW",
    "ALTER TABLE t SET PRIVACY EXPECTED ROWS 2000",
    "ALTER TABLE t SET PRIVACY CEILING EPSILON 100",
    "ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b')",
    "ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 50",
    "CREATE PRIVACY BUDGET b LIMIT EPSILON 50 USER LIMIT EPSILON 9 MAX EPSILON 2",
    "GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b",
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def context(world: World, error: str, **settings: str) -> Context:
    given = {**DEFAULTS, "dp.target_error": error, **{f"dp.{n}": v for n, v in settings.items()}}
    return Context(world.policy, world.schema, ANALYST, given, facts=world.facts)


def plan(world: World, sql: str, error: str, **settings: str) -> Plan:
    return planned(context(world, error, **settings), sql)


def planned(given: Context, sql: str) -> Plan:
    found = plan_query(accept(parse(sql)), given, Parameters())
    assert isinstance(found, Plan)
    return found


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT count(*) FROM t", "20"),
        ("SELECT count(*) FROM t", "3"),
        ("SELECT k, count(*), sum(x) FROM t GROUP BY k", "200"),
        ("SELECT count(*), (SELECT sum(x) FROM t) FROM t", "150"),
        ("SELECT k, sum(x) FROM t GROUP BY ROLLUP (k)", "300"),
    ],
)
def test_the_least_epsilon_of_three_digits_is_found(world: World, sql: str, error: str):
    found = plan(world, sql, error)
    assert worst(found, None) <= float(error)
    less = found.loss.epsilon * Fraction(98, 100)
    assert worst(plan(world, sql, "", epsilon=f"{float(less):.9g}"), None) > float(error)
    assert f"dp.target_error = {error}: worst half-width" in found.solved


def test_the_worst_column_decides(world: World):
    both = plan(world, "SELECT count(*), sum(x) FROM t", "300")
    assert max(o.error.half_width or 0 for o in both.outputs if o.error) <= 300
    assert both.loss.nano > plan(world, "SELECT count(*) FROM t", "300").loss.nano


def test_what_is_cheap_enough_takes_the_least_epsilon(world: World):
    assert plan(world, "SELECT count(*) FROM t", "1e9").loss == Loss(NANO // 1000)


def test_a_confidence_is_met(world: World):
    sure, unsure = (
        plan(world, "SELECT count(*) FROM t", "20", confidence=c).loss.nano for c in ("0.99", "0.9")
    )
    assert sure > unsure


def test_above_the_limits_it_is_refused_with_the_error_they_give(world: World):
    with pytest.raises(InvalidParameter) as caught:
        plan(world, "SELECT sum(x) FROM t", "10")
    assert "more than epsilon 2" in caught.value.message
    hint = str(caught.value.hint)
    assert hint.startswith("SET dp.target_error = '")
    assert plan(world, "SELECT sum(x) FROM t", hint.split("'")[1]).loss.epsilon <= 2
    with pytest.raises(InvalidParameter, match=r"more than epsilon 0\.5"):
        plan(world, "SELECT sum(x) FROM t", "100", epsilon="0.5")


def test_an_average_counts_on_the_declared_rows(world: World):
    one = plan(world, "SELECT avg(x) FROM t", "1")
    halves = plan(world, "SELECT k, avg(x) FROM t GROUP BY k", "1")
    assert one.solved.endswith("for 2000 rows a group")
    assert halves.solved.endswith("for 1000 rows a group")
    assert worst(one, 2000.0) <= 1 < worst(plan(world, "SELECT avg(x) FROM t", "", epsilon="0.05"), 2000.0)


def test_an_average_counts_on_released_rows_first(world: World):
    few = planned(replace(context(world, "1"), counted=lambda _: 500.0), "SELECT avg(x) FROM t")
    assert few.solved.endswith("for 500 rows a group")
    assert few.loss.nano > plan(world, "SELECT avg(x) FROM t", "1").loss.nano


def test_an_average_of_nobody_knows_how_many_is_refused(world: World):
    table = replace(world.policy.tables["t"], expected_rows=None)
    unsized = replace(world, policy=replace(world.policy, tables={"t": table}))
    with pytest.raises(InvalidParameter) as caught:
        plan(unsized, "SELECT avg(x) FROM t", "1")
    assert "EXPECTED ROWS" in str(caught.value.hint)


@pytest.mark.parametrize(
    "sql", ["SELECT median(x) FROM t", "SELECT variance(x) FROM t", "SELECT count(*) + 1 FROM t"]
)
def test_an_error_that_is_not_known_beforehand_is_refused(world: World, sql: str):
    with pytest.raises(InvalidParameter, match="cannot be met"):
        plan(world, sql, "5")


def test_what_is_free_or_stored_is_planned_as_it_is(world: World):
    assert plan(world, "SELECT count(*) FROM t WHERE false", "5").free
    given = replace(context(world, "5"), losses=(Drawn(Loss(7 * NANO // 10)),))
    assert planned(given, "SELECT count(*) FROM t").parts[0].loss == Loss(7 * NANO // 10)
