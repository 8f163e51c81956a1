"""From a statement to its plan."""

from contextlib import suppress

import pytest
from sqlglot import exp

from dpproxy.algebra.plan import PublicPlan
from dpproxy.planner import query
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.sources import Relation
from dpproxy.values.errors import (
    GroupingError,
    InvalidParameter,
    NotGranted,
    Refusal,
    TooComplex,
    UndefinedColumn,
    UndefinedTable,
    UnitLost,
)
from tests.golden.world import World, plan_any, plan_of
from udfs.privacy import Loss


def test_who_pays_for_what(world: World):
    plan = plan_of(
        world, "SELECT ward, count(*), sum(hours) FROM visits GROUP BY ward", {"dp.epsilon": "0.6"}
    )
    assert plan.loss.nano == 600_000_000
    assert plan.unit == "one patient of visits, at most 6 rows"
    assert plan.label == "count(*), sum(hours) by ward on visits"
    assert (plan.groups, plan.free, plan.payer.ceiling) == (3, False, "people")
    assert (plan.policy_version, plan.data_version) == (world.policy.version, world.policy.data_version)


def test_parts_share_what_the_statement_costs(world: World):
    sql = "SELECT count(*) * 1.0 / (SELECT count(*) FROM people) FROM visits"
    plan = plan_of(world, sql, {"dp.epsilon": "1"})
    assert [p.loss.nano for p in plan.parts] == [500_000_000, 500_000_000]


def test_what_is_asked_twice_is_one_part(world: World):
    t = "WITH t AS (SELECT city, count(*) AS n FROM people GROUP BY city)"
    plan = plan_of(world, f"{t} SELECT a.n FROM t AS a JOIN t AS b ON a.city = b.city", {"dp.epsilon": "1"})
    assert [p.loss.nano for p in plan.parts] == [10**9]


def test_no_rows_no_price(world: World):
    plan = plan_of(world, "SELECT city, count(*) FROM people GROUP BY city LIMIT 0")
    assert plan.empty
    assert plan.free


def test_public_tables_take_another_way(world: World):
    assert isinstance(plan_any(world, "SELECT * FROM cities"), PublicPlan)


def test_names_of_with_hide_tables(world: World):
    assert isinstance(plan_any(world, "WITH people AS (SELECT 1 AS age) SELECT age FROM people"), PublicPlan)


@pytest.mark.parametrize(
    ("sql", "copied"),
    [
        ("SELECT city, count(*) FROM people GROUP BY city", ("k0", "m0")),
        ("SELECT count(*) AS n, city FROM people GROUP BY city", ("m0", "k0")),
        ("SELECT city, count(*) + 1 FROM people GROUP BY city", ()),
        ("SELECT city, count(*) FROM people GROUP BY city HAVING count(*) > 5", ()),
        ("SELECT city, count(*) FROM people GROUP BY city ORDER BY 2", ()),
        ("SELECT city, count(*) FROM people GROUP BY city LIMIT 3", ()),
        ("SELECT city, count(*), (SELECT count(*) FROM visits) FROM people GROUP BY city", ()),
        ("SELECT n FROM (SELECT city, count(*) AS n FROM people GROUP BY city) AS t", ("m0",)),
        ("SELECT n FROM (SELECT city, count(*) AS n FROM people GROUP BY city) AS t WHERE n > 5", ()),
    ],
)
def test_what_is_shown_as_it_is_needs_no_answer_stage(world: World, sql: str, copied: tuple[str, ...]):
    assert plan_of(world, sql, {"dp.epsilon": "1"}).copied == copied


def test_order_and_limit_behind_a_parenthesis(world: World):
    plan = plan_of(world, "(SELECT city, count(*) AS n FROM people GROUP BY city) ORDER BY n DESC LIMIT 1")
    assert plan.answer.endswith('ORDER BY "whole"."c1" DESC NULLS FIRST LIMIT 1')


def test_a_qualified_column_is_the_column(world: World):
    [one] = plan_of(world, "SELECT sum(p.age) FROM people p WHERE p.city = 'Oslo'").parts
    [other] = plan_of(world, "SELECT sum(age) FROM people WHERE city = 'Oslo'").parts
    assert one.exact == other.exact


def test_an_alias_hides_the_table_s_name(world: World):
    with pytest.raises(UndefinedTable, match='missing FROM-clause entry for table "people"'):
        plan_of(world, "SELECT sum(people.age) FROM people p")


def test_missing_and_undeclared_columns_are_told_alike(world: World):
    told = set()
    for name in ("nothing", "rowid"):
        with pytest.raises(UndefinedColumn) as error:
            plan_of(world, f"SELECT count({name}) FROM people")
        told.add((error.value.message.replace(name, "x"), error.value.hint))
    assert told == {('column "x" does not exist', "Columns of people: age, pay, city, height.")}


@pytest.mark.parametrize(
    "sql", ["SELECT sum(id) FROM people", "SELECT count(*) FROM people WHERE id > 3", "SELECT id FROM people"]
)
def test_the_key_is_not_answered_anywhere(world: World, sql: str):
    with pytest.raises(NotGranted, match="tells people apart"):
        plan_of(world, sql)


def test_aggregates_do_not_stand_in_where(world: World):
    with pytest.raises(GroupingError):
        plan_of(world, "SELECT count(*) FROM people WHERE 1 < count(*)")


def test_a_refusal_comes_before_anything_is_planned(world: World):
    for sql in ("SELECT count(*) FROM nothing WHERE nothing", "SELECT 1 FROM people, visits"):
        with pytest.raises(Refusal):
            plan_of(world, sql)


@pytest.mark.parametrize(
    ("sql", "parts"),
    [
        ("SELECT count(*), sum(age), avg(age) FROM people", 1),
        ("SELECT city, count(*) FROM people GROUP BY ROLLUP (city)", 2),
        ("SELECT count(*), max(age) FROM people", 2),
        ("SELECT count(*) FROM people WHERE age > (SELECT avg(age) FROM people)", 2),
        ("SELECT count(*) FROM people UNION ALL SELECT count(*) FROM visits", 2),
        ("SELECT count(*) FROM people UNION ALL SELECT count(*) FROM people", 1),
        (
            "WITH t AS (SELECT city, count(*) n FROM people GROUP BY city) SELECT 1 FROM t a JOIN t b USING (city)",
            1,
        ),
    ],
)
def test_the_loss_of_a_statement_is_shared_by_its_parts(clinic: World, sql: str, parts: int):
    plan = plan_of(clinic, sql, {"dp.epsilon": "0.6"})
    assert len(plan.parts) == parts
    assert [p.loss for p in plan.parts] == [Loss(600_000_000 // parts)] * parts
    assert plan.loss == Loss(600_000_000)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT age FROM people", NotGranted),
        ("SELECT 3 FROM people", NotGranted),
        ("SELECT count(*) OVER () FROM people", NotGranted),
        ("SELECT (SELECT count(*) FROM people) FROM people", NotGranted),
        ("SELECT * FROM (SELECT age FROM people) AS s", NotGranted),
        ("SELECT age FROM people UNION ALL SELECT age FROM people", NotGranted),
        ("SELECT count(*) FROM people UNION ALL SELECT count(*) FROM shops", UnitLost),
        ("SELECT count(*) FROM people WHERE age > (SELECT count(*) FROM shops)", UnitLost),
        ("WITH t AS (SELECT * FROM people LIMIT 1) SELECT count(*) FROM t", UnitLost),
        ("SELECT count(*) FROM (SELECT * FROM people OFFSET 1) AS t", UnitLost),
        (" , ".join(f"sum(age * {n})" for n in range(33)).join(["SELECT ", " FROM people"]), TooComplex),
    ],
)
def test_refused(clinic: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_any(clinic, sql)


def test_rows_that_are_not_there_have_columns_and_are_free(clinic: World):
    for sql in (
        "SELECT * FROM people p JOIN visits v ON v.person = p.id LIMIT 0",
        "SELECT * FROM visits WHERE false",
    ):
        plan = plan_of(clinic, sql)
        assert plan.empty
        assert plan.free
        assert {"person", "ward", "hours"} <= {o.column.name for o in plan.outputs}


KEPT = "wards w LEFT JOIN visits v ON v.ward = w.ward AND v.hours > 3"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT count(*) FROM (SELECT w.building, v.hours FROM {KEPT}) AS s",
        f"WITH s AS (SELECT w.building FROM {KEPT}) SELECT building, count(*) FROM s GROUP BY building",
    ],
)
def test_a_subquery_does_not_lose_public_rows_in_silence(clinic: World, sql: str):
    with pytest.raises(UnitLost, match="lost in a subquery"):
        plan_of(clinic, sql)
    assert plan_of(clinic, f"SELECT w.building, v.hours FROM {KEPT} LIMIT 0").empty


MEAN = "SELECT avg(x.hours) FROM visits x"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ward FROM wards",
        "SELECT count(*) FROM visits",
        "SELECT count(*) FROM visits UNION ALL SELECT count(*) FROM people",
        f"SELECT count(*) FROM visits WHERE hours > ({MEAN})",
        f"WITH m AS ({MEAN}) SELECT avg FROM m UNION ALL SELECT 2 * avg FROM m",
        "SELECT ward, hours, count(*) FROM visits GROUP BY CUBE (ward, hours)",
        "SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM visits GROUP BY 1 ORDER BY count(*) LIMIT 1)",
        "WITH people AS (SELECT * FROM people) SELECT count(*) FROM people",
        "WITH visits AS (SELECT count(*) FROM people) SELECT * FROM wards",
    ],
)
@pytest.mark.parametrize("options", [{}, {"dp.epsilon": "0.0006"}, {"dp.target_error": "5"}])
def test_a_statement_is_compiled_once(
    clinic: World, sql: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    compiled, top = [], query._top

    def noted(tree: exp.Expr, planning: Planning) -> Relation:
        compiled.append(tree)
        return top(tree, planning)

    monkeypatch.setattr(query, "_top", noted)
    with suppress(InvalidParameter):
        plan_any(clinic, sql, options)
    assert len(compiled) == 1


def test_a_prior_is_weighed_for_the_loss_it_is_asked_at(clinic: World):
    """Which of two ways is nearer follows from the loss: of each that is tried the statement is compiled."""
    sql = "SELECT dp.with_prior(avg(hours), 'normal(4, 1)') FROM visits"
    found = [plan_of(clinic, sql, {"dp.epsilon": e}).parts[0].refined for e in ("0.01", "1")]
    assert found == [plan_of(clinic, sql, {"dp.epsilon": e}).parts[0].refined for e in ("0.01", "1")]
