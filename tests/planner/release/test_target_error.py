"""dp.target_error: the least epsilon that is enough, or a refusal that says what would be."""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra.plan import Drawn, Plan
from dpproxy.analysis.scopes import Parameters
from dpproxy.config.setting_checks import Target
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner import query
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context, Estimates
from dpproxy.planner.planning import Planning
from dpproxy.planner.query import plan_query
from dpproxy.planner.release.pricing import Draft, Price, Terms
from dpproxy.planner.release.target_error import predicted
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


def worst(found: Plan, count: float | None) -> float:
    errors = predicted(found, Target(Fraction(0)), count).values()
    return max(error for error in errors if error is not None)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT count(*) FROM t", "20"),
        ("SELECT 2 * count(*) + 1 FROM t", "20"),
        ("SELECT count(*) FROM t", "3"),
        ("SELECT k, count(*), sum(x) FROM t GROUP BY k", "200"),
        ("SELECT count(*), (SELECT sum(x) FROM t) FROM t", "400"),
        ("SELECT k, sum(x) FROM t GROUP BY ROLLUP (k)", "300"),
    ],
)
def test_the_least_epsilon_of_three_digits_is_found(world: World, sql: str, error: str):
    found = plan(world, sql, error)
    assert worst(found, None) <= float(error)
    less = found.loss.epsilon * Fraction(98, 100)
    assert worst(plan(world, sql, "", epsilon=f"{float(less):.9g}"), None) > float(error)
    assert f"dp.target_error = {error}: worst half-width" in found.solved


def test_a_statement_is_compiled_once_and_priced_once_at_each_epsilon(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    compiled, prices, top, priced = [], [], query._top, query.priced

    def noted(tree: exp.Expr, planning: Planning) -> object:
        compiled.append(tree)
        return top(tree, planning)

    def noted_price(drafts: Sequence[Draft], terms: Terms, losses: Sequence[Drawn] | None) -> list[Price]:
        prices.append(terms.loss.nano)
        return priced(drafts, terms, losses)

    monkeypatch.setattr(query, "_top", noted)
    monkeypatch.setattr(query, "priced", noted_price)
    plan(world, "SELECT count(*), (SELECT sum(x) FROM t) FROM t", "300")
    assert len(compiled) == 1
    assert len(set(prices)) == len(prices) <= 10


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
    ("sql", "error"),
    [
        ("SELECT median(x) FROM t", "5"),
        ("SELECT variance(x) FROM t", "5"),
        ("SELECT sum(x) FROM t", "5 %"),
        ("SELECT avg(x) FROM t", "5 % for groups of at least 500"),
        ("SELECT sum(x) / count(*) FROM t", "5"),
        ("SELECT 3 AS three, sum(n * n) FROM (SELECT k, count(*) AS n FROM t GROUP BY k) s", "5"),
    ],
)
def test_an_error_that_is_not_known_beforehand_is_refused(world: World, sql: str, error: str):
    with pytest.raises(InvalidParameter, match="cannot be met"):
        plan(world, sql, error)


def test_the_error_of_a_total_of_released_rows_is_met(world: World):
    sql = "SELECT sum(n) AS total FROM (SELECT k, count(*) AS n FROM t GROUP BY k) s"
    found = plan(world, sql, "5")
    assert found.loss.nano > plan(world, sql, "10").loss.nano
    [accuracy] = [o.accuracy for o in found.outputs]
    assert accuracy is not None
    assert accuracy.half is not None
    assert accuracy.half <= 5


def test_of_ranks_a_share_is_met(world: World):
    found = plan(world, "SELECT k, median(x) FROM t GROUP BY k", "4 %")
    [rows] = [o.error.rows for o in found.outputs if o.error is not None]
    assert rows is not None
    assert rows <= 40
    assert "for 1000 rows a group" in found.solved
    with pytest.raises(InvalidParameter) as caught:
        plan(world, "SELECT median(x) FROM t", "40")
    assert caught.value.hint == "SET dp.target_error = '5 %';"


@pytest.mark.parametrize("many", [5, 9, 31])
def test_several_quantiles_are_drawn_as_is_cheaper(world: World, many: int):
    """Together or one by one: what is stated of them together is more for some numbers of them."""
    listed = ", ".join(
        f"percentile_cont({n / (many + 1):.3f}) WITHIN GROUP (ORDER BY x)" for n in range(1, many + 1)
    )
    found = plan(world, f"SELECT {listed} FROM t", "20 % for groups of at least 20000")
    is_joint = len(found.parts) == 1
    assert is_joint == (many == 31)


def test_a_share_is_of_the_group(world: World):
    one, groups, given = (
        plan(world, sql, error)
        for sql, error in [
            ("SELECT count(*) FROM t", "2 %"),
            ("SELECT k, count(*) FROM t GROUP BY k", "2%"),
            ("SELECT k, count(*) FROM t GROUP BY k", "2 % for groups of at least 500"),
        ]
    )
    assert worst(one, None) <= 40
    assert worst(groups, None) <= 20
    assert worst(given, None) <= 10
    assert given.solved.endswith("for 500 rows a group")
    assert one.loss.nano < groups.loss.nano < given.loss.nano


def test_an_average_of_groups_of_at_least_so_many(world: World):
    found = plan(world, "SELECT k, avg(x) FROM t GROUP BY k", "1 for groups of 400")
    assert worst(found, 400.0) <= 1 < worst(found, 380.0)


def test_what_is_not_known_is_estimated_from_earlier_releases(world: World):
    seen: list[Plan] = []

    def earlier(asked: Plan) -> Estimates:
        """A sum of 10,000 with the half-width that the epsilon gives; a group of few rows does not count."""
        seen.append(asked)
        half = next(o.error.half_width for o in asked.outputs if o.column.name == "s" and o.error is not None)
        assert half is not None
        return [("a", 900, 10_000), ("b", 3, 0)], {1: [9.0, 9.0], 2: [half, half]}

    given = replace(context(world, "5 % for groups of at least 500"), earlier=earlier)
    found = planned(given, "SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k")
    [half] = [o.error.half_width for o in found.outputs if o.column.name == "s" and o.error is not None]
    assert half is not None
    assert 480 < half <= 500
    assert found.solved.endswith("as estimated from earlier releases for s")
    with pytest.raises(InvalidParameter) as caught:
        planned(given, "SELECT k, sum(x) AS s FROM t GROUP BY k")
    first = "/*+ dp(epsilon=0.05, target_error=off) */"
    assert caught.value.hint == f"{first} SELECT k, SUM(x) AS s, COUNT(*) FROM t GROUP BY k;"


def test_what_was_never_released_is_asked_for_first(world: World):
    for error in ("5 %", "5 % for groups of at least 500"):
        with pytest.raises(InvalidParameter, match="is not known beforehand") as caught:
            plan(world, "SELECT k, count(*), stddev(x) FROM t GROUP BY k", error)
        first = "/*+ dp(epsilon=0.05, target_error=off) */"
        assert caught.value.hint == f"{first} SELECT k, COUNT(*), STDDEV(x) FROM t GROUP BY k;"


def test_of_a_group_of_nobody_no_share_is_met(world: World):
    given = replace(context(world, "5 %"), earlier=lambda _: ([("a", 900), ("b", 0)], {1: [9.0, 9.0]}))
    with pytest.raises(InvalidParameter, match="cannot be met") as caught:
        planned(given, "SELECT k, sum(x) AS s FROM t GROUP BY k")
    assert "for groups of at least 100" in str(caught.value.hint)


def test_what_is_free_or_stored_is_planned_as_it_is(world: World):
    assert plan(world, "SELECT count(*) FROM t WHERE false", "5").free
    given = replace(context(world, "5"), losses=(Drawn(Loss(7 * NANO // 10)),))
    assert planned(given, "SELECT count(*) FROM t").parts[0].loss == Loss(7 * NANO // 10)


@pytest.mark.parametrize("error", ["5 %", "5 % for groups of at least 500"])
def test_a_share_of_an_average_needs_its_value_and_not_a_number_of_rows(world: World, error: str):
    with pytest.raises(InvalidParameter, match="not known beforehand") as caught:
        plan(world, "SELECT k, avg(x) FROM t GROUP BY k", error)
    assert str(caught.value.hint).startswith("/*+ dp(epsilon=0.05, target_error=off) */ SELECT k, AVG(x)")
