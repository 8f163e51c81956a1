from dataclasses import replace
from fractions import Fraction

import pytest

from dpproxy.errors import BoundsMissing, InvalidParameter, NotGranted, UndefinedTable
from dpproxy.plan import Caller
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import DEFAULT_EPSILON, Context, find_payer, find_source, statement_loss
from dpproxy.policy.model import Budget, Exposure, Grant
from dpproxy.settings import DEFAULTS
from tests.golden.world import ANALYST, World
from udfs.privacy import Loss


def context(world: World, caller: Caller = ANALYST, **settings: str) -> Context:
    given = {f"dp.{name}": value for name, value in settings.items()}
    return Context(world.policy, world.schema, caller, {**DEFAULTS, **given})


def source(world: World, table: str, caller: Caller = ANALYST):
    return find_source(accept(parse(f"SELECT count(*) FROM {table}")), context(world, caller))


def test_the_table_and_the_name_its_columns_go_by(world: World):
    assert source(world, "people").alias == "people"
    assert source(world, "public.people AS p").alias == "p"


@pytest.mark.parametrize("name", ["nothing", "secret.people", '"People"', "pg_catalog.people"])
def test_a_table_that_is_not_there_does_not_exist(world: World, name: str):
    with pytest.raises(UndefinedTable, match="does not exist"):
        source(world, name)


def test_hidden_missing_and_not_granted_are_told_alike(world: World):
    nobody = replace(ANALYST, roles=frozenset())
    hidden = replace(world.policy.tables["people"], exposure=Exposure.HIDDEN)
    policy = replace(world.policy, tables={**world.policy.tables, "people": hidden})
    told = set()
    for where, caller in ((world, nobody), (replace(world, policy=policy), ANALYST)):
        with pytest.raises(UndefinedTable) as error:
            source(where, "people", caller)
        told.add((error.value.message, error.value.hint, error.value.position))
    assert told == {('relation "people" does not exist', None, 21)}


def test_an_administrator_is_told_what_is_missing(world: World):
    with pytest.raises(NotGranted) as error:
        source(world, "people", Caller("root", frozenset({"admin"}), "s"))
    assert error.value.hint == "GRANT SELECT ON people TO <role> WITH PRIVACY BUDGET <budget>;"


def test_a_public_table_is_for_everybody(world: World):
    assert source(world, "cities", replace(ANALYST, roles=frozenset())).policy.name == "cities"


def test_the_owner_of_the_unit_pays(world: World):
    payer, budget = find_payer(source(world, "visits"), context(world))
    assert (payer.ceiling, payer.budget, budget.name) == ("people", "lab", "lab")
    assert payer.session_limit is None


def test_the_tighter_session_limit_holds(world: World):
    lab = replace(world.policy.budgets["lab"], session_limit=Fraction(3))
    where = replace(world, policy=replace(world.policy, budgets={"lab": lab}))
    found = source(where, "people")
    assert find_payer(found, context(where))[0].session_limit == 3
    assert find_payer(found, context(where, session_epsilon="2"))[0].session_limit == 2
    assert find_payer(found, context(where, session_epsilon="4"))[0].session_limit == 3


def test_a_unit_without_a_ceiling_gets_no_answers(world: World):
    bare = replace(world.policy.tables["people"], ceiling=None)
    policy = replace(world.policy, tables={**world.policy.tables, "people": bare})
    where = replace(world, policy=policy)
    with pytest.raises(BoundsMissing, match="no privacy ceiling"):
        find_payer(source(where, "visits"), context(where))


def test_of_several_budgets_one_is_chosen(world: World):
    policy = replace(
        world.policy,
        budgets={**world.policy.budgets, "spare": Budget("spare", Fraction(1))},
        grants=(*world.policy.grants, Grant("people", "clerk", "spare")),
    )
    where = replace(world, policy=policy)
    both = replace(ANALYST, roles=frozenset({"analyst", "clerk"}))
    found = source(where, "people", both)
    with pytest.raises(InvalidParameter, match="several budgets"):
        find_payer(found, context(where, both))
    assert find_payer(found, context(where, both, budget="spare"))[1].name == "spare"


@pytest.mark.parametrize(
    ("asked", "default", "most", "loss"),
    [
        ("", None, None, DEFAULT_EPSILON),
        ("", None, Fraction(1, 20), Fraction(1, 20)),
        ("", Fraction(1, 4), None, Fraction(1, 4)),
        ("0.7", Fraction(1, 4), Fraction(1), Fraction(7, 10)),
    ],
)
def test_the_loss_of_a_statement(
    world: World, asked: str, default: Fraction | None, most: Fraction | None, loss: Fraction
):
    budget = Budget("b", Fraction(9), max_epsilon=most, default_epsilon=default)
    assert statement_loss(budget, context(world, epsilon=asked)) == Loss.of(loss)


def test_more_than_the_most_is_refused(world: World):
    budget = Budget("b", Fraction(9), max_epsilon=Fraction(1, 2))
    with pytest.raises(InvalidParameter) as error:
        statement_loss(budget, context(world, epsilon="0.6"))
    assert error.value.hint == "SET dp.epsilon = 0.5;"


def test_a_stored_release_is_planned_at_its_own_loss(world: World):
    budget = Budget("b", Fraction(9), max_epsilon=Fraction(1, 2))
    assert statement_loss(budget, replace(context(world), loss=Loss(7))) == Loss(7)
