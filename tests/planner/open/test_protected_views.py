"""Built views as relations of a statement: allowed to whom, and beside what."""

# ruff: noqa: FBT003 - records written out

from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpproxy.algebra import printing
from dpproxy.algebra.plan import Caller, Plan, PublicPlan
from dpproxy.analysis.scopes import Parameters
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context
from dpproxy.planner.query import plan_query
from dpproxy.policy.model import Budget, Ceiling, Grant, Policy
from dpproxy.values.errors import NotGranted, TooComplex, UndefinedTable, UnitLost
from dpproxy.values.pgtypes import INT4, NUMERIC, TEXT
from dpproxy.views.columns import ShownColumn
from dpproxy.views.materialized import Materialized
from tests.golden.world import World

COLUMNS = (
    ShownColumn("age", INT4, Fraction(0), Fraction(100)),
    ShownColumn("pay", NUMERIC.with_precision(38, 2), Fraction(0), Fraction(9)),
    ShownColumn("city", TEXT, longest=10),
)
VIEW = Materialized("v", "v", "w1", COLUMNS, 1_000_000, True, False, 0, "", "people", "people", "")
VIEWS = {
    "v": VIEW,
    "masked": replace(VIEW, name="masked", private=False),
    "inner": replace(VIEW, name="inner", inside=True, k=5),
}


V_BUDGET: str | None = None


def granted(world: World, on_view: Grant) -> Policy:
    """A policy that can be asked."""
    policy = replace(
        world.policy,
        grants=(on_view, Grant("people", "analyst", "b")),
        budgets={"b": Budget("b", Fraction(9))},
    )
    people = replace(policy.tables["people"], ceiling=Ceiling(Fraction(9)))
    return replace(policy, tables={**policy.tables, "people": people})


def plan(world: World, sql: str, role: str = "analyst") -> Plan | PublicPlan:
    policy = granted(world, Grant("v", "analyst", V_BUDGET))
    caller = Caller("ann", frozenset({role}), "s")
    context = Context(
        policy,
        world.schema,
        caller,
        DEFAULTS,
        None,
        lambda query: ((3,) * len(query.items),),
        views=VIEWS,
    )
    return plan_query(accept(parse(sql)), context, Parameters())


def test_a_view_that_is_read_plainly_is_read_in_portions(world: World):
    found = plan(world, "SELECT * FROM v")
    assert isinstance(found, PublicPlan)
    assert 1_000 < found.portion < 100_000
    assert '"dpproxy_prepared"."main"."w1"' in printing.text(found.query)
    assert [o.column.name for o in found.outputs] == ["age", "pay", "city"]
    assert found.outputs[1].scale == 2


def test_what_multiplies_a_view_is_limited_where_it_is_held(world: World):
    with pytest.raises(TooComplex):
        plan(world, "SELECT a.age, b.city, a.pay FROM v AS a JOIN v AS b ON a.age = b.age")
    several = "SELECT age, city, pay FROM v UNION ALL SELECT age, city, pay FROM v"
    found = plan(world, several)
    assert isinstance(found, PublicPlan)
    assert found.portion
    with pytest.raises(TooComplex):
        plan(world, f"{several} ORDER BY 1")
    small = plan(world, "SELECT count(*) FROM v")
    assert isinstance(small, PublicPlan)
    assert not small.portion


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM v", "SELECT * FROM public.v AS x", "SELECT (SELECT max(age) FROM v)"]
)
def test_grants_are_on_the_view(world: World, sql: str):
    assert plan(world, sql).free
    with pytest.raises(UndefinedTable):
        plan(world, sql, "stranger")
    with pytest.raises(NotGranted):
        plan(world, sql, "admin")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM people AS p JOIN masked AS m ON p.age = m.age",
        "SELECT count(*) FROM people WHERE age IN (SELECT age FROM masked)",
        "WITH m AS (SELECT age FROM masked) SELECT count(*) FROM people WHERE EXISTS (SELECT 1 FROM m WHERE m.age = 3)",
        "SELECT count(*) FROM people HAVING count(*) > (SELECT count(*) FROM masked)",
        "SELECT count(*) FROM people UNION ALL SELECT count(*) FROM masked",
    ],
)
def test_what_is_not_private_stands_beside_no_protected_table(world: World, sql: str):
    with pytest.raises(UnitLost, match="not differentially private"):
        plan(world, sql)
    assert isinstance(plan(world, sql.replace("masked", "v")), Plan)


def test_rows_that_stay_inside_are_not_shown(world: World):
    with pytest.raises(UnitLost, match="stay inside"):
        plan(world, "SELECT age FROM v JOIN inner AS i USING (age)".replace("inner", '"inner"'))
