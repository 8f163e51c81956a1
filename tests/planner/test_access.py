from fractions import Fraction

import pytest
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra.plan import Caller
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import DEFAULT_EPSILON, Context, Use, find_payer, find_table, statement_loss
from dpproxy.policy.model import Budget, Exposure, Grant, TablePolicy, Unit
from dpproxy.values.errors import (
    BoundsMissing,
    InvalidParameter,
    NotGranted,
    UndefinedObject,
    UndefinedTable,
    UnitLost,
)
from tests.golden.world import ANALYST, World
from udfs.privacy import Loss


def context(world: World, caller: Caller = ANALYST, **settings: str) -> Context:
    given = {f"dp.{name}": value for name, value in settings.items()}
    return Context(world.policy, world.schema, caller, {**DEFAULTS, **given})


def named(table: str) -> exp.Table:
    return next(accept(parse(f"SELECT count(*) FROM {table}")).find_all(exp.Table))


def tables(*names: str) -> list[Use]:
    return [Use(named(name), name) for name in names]


def found(world: World, table: str, caller: Caller = ANALYST) -> TablePolicy:
    return find_table(named(table), context(world, caller))


def test_a_table_goes_by_either_schema(world: World):
    assert {found(world, name).name for name in ("people", "public.people AS p", "main.people")} == {"people"}


@pytest.mark.parametrize("name", ["nothing", "secret.people", '"People"', "pg_catalog.people"])
def test_a_table_that_is_not_there_does_not_exist(world: World, name: str):
    with pytest.raises(UndefinedTable, match="does not exist"):
        found(world, name)


GRANT = "ask an administrator to grant a table to one of them."


@pytest.mark.parametrize(
    ("name", "roles", "hint"),
    [
        ("secret.people", ANALYST.roles, "It is in the schema public here: FROM people."),
        ("peopel", ANALYST.roles, "Did you mean people?"),
        ("zzz", ANALYST.roles, None),
        ("people", frozenset({"analst", "b"}), f"Nothing is granted to your roles (analst, b) yet: {GRANT}"),
    ],
)  # fmt: skip
def test_a_hint_names_only_what_the_caller_may_know(
    world: World, name: str, roles: frozenset[str], hint: str | None
):
    with pytest.raises(UndefinedTable) as error:
        found(world, name, replace(ANALYST, roles=roles))
    assert error.value.hint == hint


def test_hidden_missing_and_not_granted_are_told_alike(world: World):
    nobody = replace(ANALYST, roles=frozenset())
    hidden = replace(world.policy.tables["people"], exposure=Exposure.HIDDEN)
    policy = replace(world.policy, tables={**world.policy.tables, "people": hidden})
    told = set()
    for where, caller in ((world, nobody), (replace(world, policy=policy), ANALYST)):
        with pytest.raises(UndefinedTable) as error:
            found(where, "people", caller)
        told.add((error.value.message, error.value.hint, error.value.position))
    assert told == {('relation "people" does not exist', None, 21)}


def test_an_administrator_is_told_what_is_missing(world: World):
    with pytest.raises(NotGranted) as error:
        found(world, "people", Caller("root", frozenset({"admin"}), "s"))
    assert (
        error.value.hint
        == "Grant it with the budget that pays: GRANT SELECT ON people TO admin WITH PRIVACY BUDGET lab;"
    )


def test_a_public_table_is_for_everybody(world: World):
    assert found(world, "cities", replace(ANALYST, roles=frozenset())).name == "cities"


def test_the_owner_of_the_unit_pays(world: World):
    payer, budget = find_payer(tables("visits"), context(world))
    assert (payer.ceiling, payer.budget, budget.name) == ("people", "lab", "lab")
    assert payer.session_limit is None


def test_the_tighter_session_limit_holds(world: World):
    lab = replace(world.policy.budgets["lab"], session_limit=Fraction(3))
    where = replace(world, policy=replace(world.policy, budgets={"lab": lab}))
    people = tables("people")
    assert find_payer(people, context(where))[0].session_limit == 3
    assert find_payer(people, context(where, session_epsilon="2"))[0].session_limit == 2
    assert find_payer(people, context(where, session_epsilon="4"))[0].session_limit == 3


def test_a_unit_without_a_ceiling_gets_no_answers(world: World):
    bare = replace(world.policy.tables["people"], ceiling=None)
    policy = replace(world.policy, tables={**world.policy.tables, "people": bare})
    where = replace(world, policy=policy)
    with pytest.raises(BoundsMissing, match="no privacy ceiling"):
        find_payer(tables("visits"), context(where))


def test_of_several_budgets_one_is_chosen(world: World):
    policy = replace(
        world.policy,
        budgets={**world.policy.budgets, "spare": Budget("spare", Fraction(1))},
        grants=(*world.policy.grants, Grant("people", "clerk", "spare")),
    )
    where = replace(world, policy=policy)
    both = replace(ANALYST, roles=frozenset({"analyst", "clerk"}))
    people = tables("people")
    with pytest.raises(InvalidParameter, match="several budgets"):
        find_payer(people, context(where, both))
    assert find_payer(people, context(where, both, budget="spare"))[1].name == "spare"
    with pytest.raises(UndefinedObject, match="does not pay"):
        find_payer(people, context(where, both, budget="nothing"))


def test_one_budget_pays_for_all_tables_of_a_statement(world: World):
    grants = tuple(g for g in world.policy.grants if g.table != "visits")
    spare = {**world.policy.budgets, "spare": Budget("spare", Fraction(1))}
    apart = replace(world.policy, budgets=spare, grants=(*grants, Grant("visits", "analyst", "spare")))
    both = tables("people", "visits")
    assert find_payer(both, context(world))[1].name == "lab"
    with pytest.raises(BoundsMissing, match='no single budget pays for tables "people" and "visits"'):
        find_payer(both, context(replace(world, policy=apart)))
    with pytest.raises(BoundsMissing, match='"visits" is granted to you without a privacy budget'):
        find_payer(both, context(replace(world, policy=replace(world.policy, grants=grants))))


def test_a_statement_is_about_one_kind_of_unit(world: World):
    unit = Unit("size", None, 1, 1)
    cities = replace(world.policy.tables["cities"], unit=unit, exposure=Exposure.PROTECTED)
    policy = replace(world.policy, tables={**world.policy.tables, "cities": cities})
    with pytest.raises(UnitLost, match='of "people" and of "cities"'):
        find_payer(tables("people", "visits", "cities"), context(replace(world, policy=policy)))


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
