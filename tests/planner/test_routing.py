"""Statements that a protected view can answer instead of its table."""

import pytest
from msgspec.structs import replace

from dpproxy.algebra import printing
from dpproxy.algebra.plan import Caller, Plan, PublicPlan
from dpproxy.analysis.scopes import Parameters
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.accept import parse
from dpproxy.planner.access import Context
from dpproxy.planner.routing import plan_routed, routed_notice
from dpproxy.policy.model import Grant
from dpproxy.values.errors import Refusal
from dpproxy.views.materialized import Materialized
from tests.golden.world import World
from tests.planner.open.test_protected_views import VIEW, granted

SHOWN = replace(VIEW, query="SELECT age, pay, city FROM people", rows=50)


def routed(world: World, sql: str, view: Materialized = SHOWN, preview: str = "off") -> Plan | PublicPlan:
    policy = granted(world, Grant("v", "analyst", None))
    caller = Caller("ann", frozenset({"analyst"}), "s")
    settings = {**DEFAULTS, "dp.preview": preview}
    context = Context(policy, world.schema, caller, settings, None, lambda _: ((3,),), views={"v": view})
    return plan_routed(parse(sql), context, Parameters(), lambda _: None)


UNANSWERED = [
    "SELECT * FROM people",
    "SELECT age, city FROM people WHERE pay > 3 ORDER BY age LIMIT 5",
    "SELECT p.age FROM people AS p",
    "SELECT public.people.age FROM public.people",
    "SELECT string_agg(city, ',') FROM people",
]


@pytest.mark.parametrize("sql", UNANSWERED)
def test_the_hint_names_the_view_that_answers(world: World, sql: str):
    with pytest.raises(Refusal) as caught:
        routed(world, sql)
    assert str(caught.value.hint).startswith("Protected view v answers it")


@pytest.mark.parametrize("sql", UNANSWERED[:4])
def test_with_preview_the_view_answers(world: World, sql: str):
    found = routed(world, sql, preview="view")
    assert isinstance(found, PublicPlan)
    assert found.view == "v"
    assert VIEW.table in printing.text(found.query)
    assert "dp.preview" in routed_notice(found.view).message


def test_what_has_a_direct_answer_is_not_led_elsewhere(world: World):
    assert isinstance(routed(world, "SELECT count(*) FROM people", preview="view"), Plan)


@pytest.mark.parametrize(
    ("sql", "view"),
    [
        ("SELECT height FROM people", SHOWN),
        ("SELECT nothing FROM people", SHOWN),
        ("SELECT age FROM people", replace(SHOWN, query="SELECT age FROM people WHERE age > 3")),
        ("SELECT age FROM people", replace(SHOWN, query="SELECT pay AS age FROM people")),
        ("SELECT age FROM people", replace(SHOWN, source="visits")),
        ("SELECT age FROM people", replace(SHOWN, inside=True)),
        ("SELECT string_agg(city, ',') FROM people", replace(SHOWN, inside=True, k=5)),
        ("SELECT p.age FROM people AS p JOIN visits AS v ON p.id = v.patient", SHOWN),
    ],
)
def test_a_view_that_would_answer_something_else_is_not_named(world: World, sql: str, view: Materialized):
    for preview in ("off", "view"):
        with pytest.raises(Refusal) as caught:
            routed(world, sql, view, preview)
        assert "Protected view" not in str(caught.value.hint)


def test_what_changes_while_it_is_planned_is_planned_anew(world: World):
    policy = granted(world, Grant("v", "analyst", None))
    caller = Caller("ann", frozenset({"analyst"}), "s")
    for epochs, used in (([1, 1], 1), ([1, 2, 3, 3], 3), ([1, 2, 3, 4], 4)):  # the last has not settled
        told = iter(epochs)
        context = Context(policy, world.schema, caller, DEFAULTS, epoch=lambda told=told: next(told))
        plan = plan_routed(parse("SELECT count(*) FROM people"), context, Parameters(), lambda _: None)
        assert isinstance(plan, Plan)
        assert plan.epoch == used
        assert next(told, None) is None
