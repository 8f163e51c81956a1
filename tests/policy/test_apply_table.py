"""Declarations of tables, checked against the schema and each other."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from dpproxy.policy.dump import dump
from dpproxy.policy.model import Ceiling, ColumnPolicy, Composition, Exposure, Policy, Unit
from dpproxy.values.errors import (
    DependentObjects,
    InvalidParameter,
    Refusal,
    TypeMismatch,
    UndefinedColumn,
    UndefinedTable,
)

Apply = Callable[..., Policy]
KEY = "ALTER TABLE patients SET PRIVACY KEY (patient_id)"


def test_a_key_protects(applied: Apply):
    table = applied(KEY + " MAX ROWS 20 MAX GROUPS 5").tables["patients"]
    assert (table.exposure, table.unit) == (Exposure.PROTECTED, Unit("patient_id", None, 20, 5))


def test_a_row_unit(applied: Apply):
    assert applied("ALTER TABLE regions SET PRIVACY KEY ROW").tables["regions"].unit == Unit(None)


def test_a_reference_may_come_before_what_it_refers_to(applied: Apply):
    reference = "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id)"
    assert applied(reference, KEY) == applied(KEY, reference)


def test_a_ceiling_declared_again_keeps_what_is_not_named(applied: Apply):
    ceiling = "ALTER TABLE patients SET PRIVACY CEILING EPSILON "
    policy = applied(KEY, f"{ceiling}20 DELTA 1e-5 ACCOUNTANT ZCDP")
    kept = applied(f"{ceiling}1", to=policy)
    assert kept.tables["patients"].ceiling == Ceiling(Fraction(1), Fraction(1, 100_000), Composition.ZCDP)
    basic = applied(f"{ceiling}1 DELTA 0 ACCOUNTANT BASIC", to=policy)
    assert basic.tables["patients"].ceiling == Ceiling(Fraction(1))
    with pytest.raises(InvalidParameter, match="needs a DELTA"):
        applied(f"{ceiling}1 DELTA 0", to=policy)


def test_a_key_declared_again_keeps_what_else_was_declared(applied: Apply):
    policy = applied(
        KEY,
        "ALTER TABLE patients SET PRIVACY CEILING EPSILON 20 DELTA 1e-5",
        "ALTER TABLE patients SET PRIVACY EXPECTED ROWS 1000",
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY HIDDEN",
    )
    again = applied(KEY + " MAX ROWS 2", to=policy).tables["patients"]
    assert again.ceiling == Ceiling(Fraction(20), Fraction(1, 100_000))
    assert again.expected_rows == 1000
    assert again.columns == {"sex": ColumnPolicy()}
    assert again.unit == Unit("patient_id", None, 2)


@pytest.mark.parametrize("way", [Exposure.PUBLIC, Exposure.HIDDEN])
def test_other_exposures_forget_the_unit_and_its_ceiling(applied: Apply, way: Exposure):
    table = applied(
        KEY,
        "ALTER TABLE patients SET PRIVACY CEILING EPSILON 20",
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY HIDDEN",
        f"ALTER TABLE patients SET PRIVACY {way.value}",
    ).tables["patients"]
    assert (table.exposure, table.unit, table.ceiling) == (way, None, None)
    assert table.columns == {"sex": ColumnPolicy()}


@pytest.mark.parametrize(
    ("sql", "error", "at"),
    [
        ("ALTER TABLE nothing SET PRIVACY PUBLIC", UndefinedTable, "nothing"),
        ("ALTER TABLE patients SET PRIVACY KEY (nothing)", UndefinedColumn, "nothing"),
        ("ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES gone (id)", UndefinedTable, "gone"),
        (
            "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (gone)",
            UndefinedColumn,
            "gone",
        ),
        ("ALTER TABLE visits SET PRIVACY KEY (note) REFERENCES patients (patient_id)", TypeMismatch, "note"),
        (
            "ALTER TABLE visits SET PRIVACY KEY (visit_id) REFERENCES visits (visit_id)",
            InvalidParameter,
            "visits (v",
        ),
        (KEY + " MAX ROWS 0", InvalidParameter, "0"),
        (KEY + " MAX GROUPS 1.5", InvalidParameter, "1.5"),
        ("ALTER TABLE visits SET PRIVACY EXPECTED ROWS -1", InvalidParameter, "-1"),
        ("ALTER TABLE visits SET PRIVACY CEILING EPSILON 5", InvalidParameter, "visits"),
    ],
)
def test_refusals_point_at_the_word(applied: Apply, sql: str, error: type[Refusal], at: str):
    with pytest.raises(error) as caught:
        applied(sql)
    assert caught.value.position == sql.rindex(at)


@pytest.mark.parametrize("clause", ["EPSILON 0", "EPSILON -1", "EPSILON 1 DELTA 1"])
def test_a_ceiling_is_in_range(applied: Apply, clause: str):
    with pytest.raises(InvalidParameter):
        applied(KEY, f"ALTER TABLE patients SET PRIVACY CEILING {clause}")


def test_the_accountant_zcdp_needs_a_delta(applied: Apply):
    ceiling = "ALTER TABLE patients SET PRIVACY CEILING EPSILON 8"
    for delta in ("", " DELTA 0"):
        with pytest.raises(InvalidParameter, match="ACCOUNTANT ZCDP needs a DELTA") as caught:
            applied(KEY, f"{ceiling}{delta} ACCOUNTANT ZCDP")
        assert caught.value.position is not None
    policy = applied(KEY, f"{ceiling} DELTA 0.00001 ACCOUNTANT ZCDP")
    found = policy.tables["patients"].ceiling
    assert found is not None
    assert found.concentrated
    assert applied(*dump(policy)) == policy


def test_a_ceiling_belongs_to_the_owner_of_the_unit(applied: Apply):
    with pytest.raises(InvalidParameter) as caught:
        applied(
            "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id)",
            "ALTER TABLE visits SET PRIVACY CEILING EPSILON 5",
        )
    assert '"patients"' in (caught.value.hint or "")


def test_a_unit_does_not_move_away_from_its_ceiling(applied: Apply):
    own = (
        "ALTER TABLE visits SET PRIVACY KEY (patient_id)",
        "ALTER TABLE visits SET PRIVACY CEILING EPSILON 5",
    )
    reference = "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id)"
    with pytest.raises(DependentObjects):
        applied(*own, reference)
    moved = applied(*own, "ALTER TABLE visits SET PRIVACY HIDDEN", reference).tables["visits"]
    assert moved.ceiling is None


def test_a_longer_cycle_is_refused(applied: Apply):
    with pytest.raises(InvalidParameter, match="cycle"):
        applied(
            "ALTER TABLE lines SET PRIVACY KEY (visit_id) REFERENCES visits (visit_id)",
            "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id)",
            "ALTER TABLE patients SET PRIVACY KEY (patient_id) REFERENCES lines (visit_id)",
        )


def test_a_table_read_without_a_budget_is_not_protected_silently(applied: Apply):
    free = ("ALTER TABLE regions SET PRIVACY PUBLIC", "GRANT SELECT ON regions TO analysts")
    with pytest.raises(DependentObjects, match='"analysts"'):
        applied(*free, "ALTER TABLE regions SET PRIVACY KEY ROW")
    revoked = applied(
        *free, "REVOKE SELECT ON regions FROM analysts", "ALTER TABLE regions SET PRIVACY KEY ROW"
    )
    assert revoked.tables["regions"].exposure is Exposure.PROTECTED
