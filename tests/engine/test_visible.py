from msgspec.structs import replace

from dpproxy.algebra.plan import Caller
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.visible import catalogue_view, fitting
from dpproxy.policy.model import (
    ColumnPolicy,
    ExactGrant,
    Exposure,
    Grant,
    Members,
    Policy,
    TablePolicy,
    Unit,
)
from dpproxy.values.pgtypes import INT4, INT8, JSON, TEXT, Column, Schema
from dpproxy.views.columns import ShownColumn
from dpproxy.views.materialized import Materialized
from tests.golden.world import build

SCHEMA = Schema(
    {
        name: (Column("town", TEXT), Column("secret", INT4))
        for name in ("people", "regions", "hidden", "other")
    }
)
TOWN = {"town": ColumnPolicy(Members(("a",))), "secret": ColumnPolicy()}
PEOPLE = TablePolicy("people", Exposure.PROTECTED, Unit(None), TOWN)
POLICY = Policy(
    tables={
        "people": PEOPLE,
        "other": replace(PEOPLE, name="other"),
        "regions": TablePolicy("regions", Exposure.PUBLIC),
        "hidden": TablePolicy("hidden"),
        "gone": replace(PEOPLE, name="gone"),
    },
    grants=(
        Grant("adults", "analyst", "research"),
        Grant("people", "analyst", "research"),
        Grant("gone", "analyst", "research"),
    ),
)
BUILT: dict[str, Materialized] = {}
VIEWS = {"adults": (Column("town", TEXT),), "unasked": (Column("n", INT4),)}


def seen(*roles: str) -> dict[str, list[str]]:
    view = catalogue_view(
        POLICY, SCHEMA, Caller("ann", frozenset(roles), "s"), DEFAULTS, "main", VIEWS, BUILT
    )
    return {relation.name: [column.name for column in relation.columns] for relation in view.relations}


def test_a_caller_sees_granted_and_public_tables_and_declared_columns():
    assert seen("analyst") == {"adults": ["town"], "people": ["town"], "regions": ["town", "secret"]}


def test_a_caller_without_grants_sees_public_tables_only():
    assert list(seen("guest")) == ["regions"]


def test_an_administrator_sees_whatever_is_declared_and_there():
    assert list(seen("admin")) == ["adults", "other", "people", "regions", "unasked"]


def test_roles_of_others_are_an_administrators_to_know():
    for roles, expected in ((("guest",), ("admin", "guest")), (("admin",), ("admin", "analyst"))):
        view = catalogue_view(
            POLICY, SCHEMA, Caller("ann", frozenset(roles), "s"), DEFAULTS, "main", VIEWS, BUILT
        )
        assert view.roles == expected


RAW = (
    "CREATE TABLE people (id INTEGER, age INTEGER, name VARCHAR)",
    "CREATE VIEW ages AS SELECT age, count(*) AS n FROM people GROUP BY age",
    "CREATE VIEW names AS SELECT name FROM people",
    "CREATE VIEW odd AS SELECT age // 2 AS half FROM people",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 9",
)


def test_views_that_cannot_be_asked_lose_their_grants():
    world = build(RAW)
    asked = ("ages", "names", "odd", "gone", "people", "was")
    stored = replace(
        world.policy,
        tables={**world.policy.tables, "was": TablePolicy("was")},
        grants=tuple(Grant(name, "analyst", "lab") for name in asked),
    )
    schema = replace(world.schema, views={**world.schema.views, "was": world.schema.views["ages"]})
    found = fitting(stored, schema, DEFAULTS, world.facts)
    assert {g.table for g in found.policy.grants} == {"ages", "gone", "people"}
    assert [(c.name, c.type) for c in found.views["ages"]] == [("age", INT4), ("n", INT8)]
    assert found.views.keys() == {"ages"}
    assert found.lines == (
        'table "was" stays hidden: table "was" does not exist',
        'view "gone" stays hidden: it does not exist',
        'view "names" stays hidden: column "name" does not exist',
        'view "odd" stays hidden: INT DIV is not supported',
    )


def test_a_policy_that_fits_is_kept_as_it_is():
    world = build(RAW[:2] + RAW[4:])
    found = fitting(world.policy, world.schema, DEFAULTS, world.facts)
    assert (found.policy, found.lines) == (world.policy, ())


def test_a_protected_view_is_a_view_with_its_guarantee():
    columns = (ShownColumn("age", INT4),)
    built = {
        "safe": Materialized("safe", "safe", "w", columns, 3, True, False, 0, "words", "people", "people", "")  # noqa: FBT003
    }
    policy = replace(POLICY, grants=(*POLICY.grants, Grant("safe", "analyst", None)))
    for role, names in (("analyst", ["safe"]), ("guest", [])):
        caller = Caller("ann", frozenset({role}), "s")
        view = catalogue_view(policy, SCHEMA, caller, DEFAULTS, "main", VIEWS, built)
        found = [(r.name, r.comment) for r in view.relations if r.name == "safe" and r.kind == "v"]
        assert found == [(name, "words") for name in names]


def test_what_is_protected_says_so_and_tells_its_domains():
    view = catalogue_view(
        POLICY, SCHEMA, Caller("ann", frozenset(["analyst"]), "s"), DEFAULTS, "main", VIEWS, {}
    )
    found = {relation.name: relation for relation in view.relations}
    assert found["people"].comment == "Answered with noise; privacy unit: one row."
    assert found["people"].domains == {"town": Members(("a",))}
    assert found["regions"].comment is None
    assert not found["regions"].domains


def test_what_an_exact_answer_does_not_read_is_not_shown():
    schema = Schema({"people": (Column("j", JSON), Column("town", TEXT))})
    columns = dict.fromkeys(("j ->> 'a'", "town"), ColumnPolicy(Members(("a",))))
    policy = Policy(
        tables={"people": replace(PEOPLE, columns=columns)},
        grants=(Grant("people", "analyst", "research"),),
        exact=(ExactGrant("people", "dpo"),),
    )
    for role, names in (("analyst", ["town", "j ->> 'a'"]), ("dpo", ["town"])):
        caller = Caller("ann", frozenset({role}), "s")
        [relation] = catalogue_view(policy, schema, caller, DEFAULTS, "main", {}, BUILT).relations
        assert [column.name for column in relation.columns] == names
