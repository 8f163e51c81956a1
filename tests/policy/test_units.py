"""References lead to the table that owns the unit."""

from collections.abc import Callable

import pytest

from dpproxy.policy.model import Exposure, Policy, TablePolicy, Unit
from dpproxy.policy.units import unanswerable, unit_table, without_people
from dpproxy.values.errors import BoundsMissing, InvalidParameter
from dpproxy.values.pgtypes import INT4, Column, Schema


def test_references_are_followed(applied: Callable[..., Policy]):
    policy = applied(
        "ALTER TABLE lines SET PRIVACY KEY (visit_id) REFERENCES visits (visit_id) MAX ROWS 9",
        "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id) MAX ROWS 3",
        "ALTER TABLE patients SET PRIVACY KEY (patient_id)",
    )
    assert unit_table(policy, "lines").name == "patients"
    assert unit_table(policy, "patients").name == "patients"


@pytest.mark.parametrize("way", ["PUBLIC", "HIDDEN"])
def test_a_unit_whose_owner_is_not_protected_is_lost(applied: Callable[..., Policy], way: str):
    policy = applied(
        "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id)",
        f"ALTER TABLE patients SET PRIVACY {way}",
    )
    with pytest.raises(BoundsMissing) as caught:
        unit_table(policy, "visits")
    assert "patients" not in f"{caught.value.message} {caught.value.hint}"


def test_a_row_is_referred_to_by_nobody(applied: Callable[..., Policy]):
    policy = applied(
        "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id)",
        "ALTER TABLE patients SET PRIVACY KEY ROW",
    )
    assert unit_table(policy, "patients").name == "patients"
    with pytest.raises(BoundsMissing, match="a row of another table"):
        unit_table(policy, "visits")


def test_an_undeclared_table_has_no_unit():
    with pytest.raises(BoundsMissing):
        unit_table(Policy(), "visits")


def test_a_cycle_ends():
    def protected(name: str, target: str) -> TablePolicy:
        return TablePolicy(name, Exposure.PROTECTED, Unit("id", (target, "id")))

    policy = Policy(tables={"a": protected("a", "b"), "b": protected("b", "a")})
    with pytest.raises(InvalidParameter, match="cycle"):
        unit_table(policy, "a")


def test_what_is_granted_and_never_answered_is_told(applied: Callable[..., Policy]):
    policy = applied(
        "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id)",
        "CREATE PRIVACY BUDGET b LIMIT EPSILON 1",
        "GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET b",
    )
    [line] = unanswerable(policy)
    assert (
        line == 'nothing is answered about table "visits": the privacy unit of table "visits" is not declared'
    )
    policy = applied("ALTER TABLE patients SET PRIVACY KEY (patient_id)", to=policy)
    [line] = unanswerable(policy)
    assert 'table "patients" has no privacy ceiling' in line
    assert unanswerable(applied("ALTER TABLE patients SET PRIVACY CEILING EPSILON 1", to=policy)) == []


def test_rows_that_may_be_nobodys_are_said(applied: Callable[..., Policy]):
    policy = applied(
        "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id)",
        "ALTER TABLE patients SET PRIVACY KEY (patient_id)",
    )
    never, maybe = Column("patient_id", INT4, not_null=True), Column("patient_id", INT4)
    schema = Schema({"patients": (never,), "visits": (maybe,)})
    assert without_people(policy, schema) == [
        'rows of table "visits" whose "patient_id" is NULL count for nobody'
    ]
    assert without_people(applied("ALTER TABLE patients SET PRIVACY KEY ROW"), schema) == []
