from collections.abc import Callable

import pytest

from dpproxy.policy.dump import dump
from dpproxy.policy.model import Grant, Policy, Taxonomic
from dpproxy.policy.usable import usable
from dpproxy.values.errors import (
    BoundsMissing,
    DependentObjects,
    InvalidParameter,
    Refusal,
    TypeMismatch,
    UndefinedObject,
    UndefinedTable,
)
from dpproxy.values.pgtypes import Schema

Applied = Callable[..., Policy]
VIEW = (
    'CREATE PROTECTED VIEW v WITH (method = mdav, k = 25, quasi = (age, "Zip")) AS SELECT age FROM patients'
)
INSIDE = (
    "CREATE PROTECTED VIEW w WITH (method = dp_microaggregation, release = query) AS SELECT age FROM patients"
)
TREE = "CREATE PRIVACY TAXONOMY sexes ON regions (region, region)"
PUBLIC = "ALTER TABLE regions SET PRIVACY PUBLIC"
CONCEPT = "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN TAXONOMY sexes"
LAB = "CREATE PRIVACY BUDGET lab LIMIT EPSILON 1"


def refused(applied: Applied, *statements: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        applied(*statements)
    return caught.value


def test_a_view_is_declared_replaced_and_dropped_with_its_grants(applied: Applied):
    policy = applied(VIEW, "GRANT SELECT ON v TO a")
    assert policy.views["v"].option("k") == 25
    assert policy.grants == (Grant("v", "a", None),)
    assert applied(VIEW, to=policy) == policy
    changed = applied(VIEW.replace("25", "26"), to=policy)
    assert changed.views["v"].option("k") == 26
    dropped = applied("DROP PROTECTED VIEW v", to=policy)
    assert (dropped.views, dropped.grants) == ({}, ())


def test_the_order_of_options_makes_no_other_view(applied: Applied):
    other = 'CREATE PROTECTED VIEW v WITH (quasi = (age, "Zip"), k = 25, method = mdav) AS SELECT age FROM patients'
    assert applied(VIEW) == applied(other)


def test_what_is_declared_reads_back(applied: Applied):
    policy = applied(
        LAB, PUBLIC, TREE, CONCEPT, VIEW, INSIDE, "GRANT SELECT ON w TO a WITH PRIVACY BUDGET lab"
    )
    assert applied(*dump(policy)) == policy


def test_a_view_whose_rows_stay_inside_is_granted_with_a_budget(applied: Applied):
    caught = refused(applied, INSIDE, "GRANT SELECT ON w TO a")
    assert isinstance(caught, BoundsMissing)
    assert applied(LAB, INSIDE, "GRANT SELECT ON w TO a WITH PRIVACY BUDGET lab").grants[0].budget == "lab"


def test_a_budget_that_pays_for_a_view_stays(applied: Applied):
    paid = VIEW.replace("k = 25", "charge = lab")
    assert isinstance(refused(applied, paid), UndefinedObject)
    assert isinstance(refused(applied, LAB, paid, "DROP PRIVACY BUDGET lab"), DependentObjects)


def test_names_that_are_taken_or_not_there(applied: Applied):
    assert isinstance(refused(applied, VIEW.replace(" v ", " visits ")), InvalidParameter)
    assert isinstance(refused(applied, "DROP PROTECTED VIEW v"), UndefinedTable)
    assert isinstance(refused(applied, VIEW.replace("method = mdav, ", "")), InvalidParameter)


def test_the_domain_of_concepts_follows_its_taxonomy(applied: Applied, schema: Schema):
    policy = applied("ALTER TABLE patients SET PRIVACY KEY (patient_id)", PUBLIC, TREE, CONCEPT)
    assert policy.tables["patients"].columns["sex"].domain == Taxonomic("regions", "region", taxonomy="sexes")
    assert usable(policy, schema) == (policy, [])
    assert isinstance(
        refused(lambda *s: applied(*s, to=policy), "DROP PRIVACY TAXONOMY sexes"), DependentObjects
    )
    hidden, lines = usable(applied("ALTER TABLE regions SET PRIVACY HIDDEN", to=policy), schema)
    assert hidden.tables["patients"].columns["sex"].domain is None
    assert "is not public" in lines[0]


def test_taxonomies_are_of_public_tables_and_columns_of_one_type(applied: Applied):
    assert isinstance(refused(applied, TREE), InvalidParameter)
    assert isinstance(refused(applied, PUBLIC, TREE.replace("region)", "size)")), TypeMismatch)
    assert isinstance(refused(applied, CONCEPT), UndefinedObject)
    age = CONCEPT.replace("sex ", "age ")
    assert isinstance(refused(applied, PUBLIC, TREE, age), TypeMismatch)
