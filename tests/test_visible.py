from dataclasses import replace

from dpproxy.pgtypes import INT4, TEXT, Column, Schema
from dpproxy.plan import Caller
from dpproxy.policy.model import (
    ColumnPolicy,
    Exposure,
    Grant,
    Members,
    Policy,
    TablePolicy,
    Unit,
)
from dpproxy.settings import DEFAULTS
from dpproxy.visible import visible

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
VIEWS = {"adults": (Column("town", TEXT),), "unasked": (Column("n", INT4),)}


def seen(*roles: str) -> dict[str, list[str]]:
    view = visible(POLICY, SCHEMA, Caller("ann", frozenset(roles), "s"), DEFAULTS, "main", VIEWS)
    return {relation.name: [column.name for column in relation.columns] for relation in view.relations}


def test_a_caller_sees_granted_and_public_tables_and_declared_columns():
    assert seen("analyst") == {"adults": ["town"], "people": ["town"], "regions": ["town", "secret"]}


def test_a_caller_without_grants_sees_public_tables_only():
    assert list(seen("guest")) == ["regions"]


def test_an_administrator_sees_whatever_is_declared_and_there():
    assert list(seen("admin")) == ["adults", "other", "people", "regions", "unasked"]


def test_roles_of_others_are_an_administrators_to_know():
    for roles, expected in ((("guest",), ("admin", "guest")), (("admin",), ("admin", "analyst"))):
        view = visible(POLICY, SCHEMA, Caller("ann", frozenset(roles), "s"), DEFAULTS, "main", VIEWS)
        assert view.roles == expected
