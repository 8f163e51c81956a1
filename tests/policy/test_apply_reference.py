"""Domains that refer to public tables, and those nobody can list."""

from collections.abc import Callable

import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.model import ColumnClass, ColumnPolicy, Composite, Discovered, Policy, References
from dpproxy.policy.store import change_of
from dpproxy.values.errors import InvalidParameter, Refusal, TypeMismatch, UndefinedColumn, UndefinedTable

Apply = Callable[..., Policy]

PUBLIC = "ALTER TABLE regions SET PRIVACY PUBLIC"


def alter(column: str, text: str) -> str:
    return f"ALTER TABLE patients ALTER COLUMN {column} SET PRIVACY DOMAIN {text}"


def together(columns: str, text: str) -> str:
    return f"ALTER TABLE patients SET PRIVACY DOMAIN ({columns}) {text}"


def test_a_domain_refers_to_a_public_table_or_is_discovered(applied: Apply):
    policy = applied(
        PUBLIC,
        'ALTER TABLE patients ALTER COLUMN "Zip" SET PRIVACY CLASS QUASI IDENTIFIER',
        alter('"Zip"', "REFERENCES regions (region)"),
        *(alter(column, "DISCOVERED") for column in ("sex", "age", "born")),
    )
    assert policy.tables["patients"].columns == {
        "Zip": ColumnPolicy(References("regions", "region"), ColumnClass.QUASI_IDENTIFIER),
        "sex": ColumnPolicy(Discovered()),
        "age": ColumnPolicy(Discovered()),
        "born": ColumnPolicy(Discovered()),
    }


def test_of_one_set_of_columns_there_is_one_key_set(applied: Apply):
    policy = applied(PUBLIC, together("sex, age", "REFERENCES regions (region, size)"))
    assert policy.tables["patients"].composites == (Composite(("sex", "age"), "regions", ("region", "size")),)
    other = applied(together("age, sex", "REFERENCES regions (size, region)"), to=policy)
    assert other.tables["patients"].composites == (Composite(("age", "sex"), "regions", ("size", "region")),)
    more = applied(together('age, "Zip"', "REFERENCES regions (size, region)"), to=policy)
    assert [one.columns for one in more.tables["patients"].composites] == [("age", "Zip"), ("sex", "age")]
    assert applied(together("age, sex", "HIDDEN"), to=policy).tables["patients"].composites == ()


@pytest.mark.parametrize(
    ("sql", "error", "at"),
    [
        (alter("sex", "REFERENCES gone (ward)"), UndefinedTable, "gone"),
        (alter("sex", "REFERENCES regions (gone)"), UndefinedColumn, "gone"),
        (alter("sex", "REFERENCES visits (note)"), InvalidParameter, "visits"),
        (alter("sex", "REFERENCES patients (sex)"), InvalidParameter, "patients (sex)"),
        (alter("sex", "REFERENCES regions (size)"), TypeMismatch, "sex"),
        (alter("patient_id", "REFERENCES regions (size)"), TypeMismatch, "patient_id"),
        (alter("smokes", "DISCOVERED"), TypeMismatch, "smokes"),
        (together("sex, age", "REFERENCES visits (note, patient_id)"), InvalidParameter, "visits"),
        (together("sex, age", "REFERENCES regions (size, region)"), TypeMismatch, "sex"),
        (together("sex, sex", "REFERENCES regions (region, region)"), InvalidParameter, "sex)"),
        (together("sex, age", "REFERENCES regions (region, region)"), InvalidParameter, "region)"),
        (together('sex, "Zip"', "REFERENCES regions (region, size, region)"), InvalidParameter, "region)"),
        (together("sex, age", "REFERENCES regions (region, size, gone)"), InvalidParameter, "regions"),
        (together("sex, gone", "HIDDEN"), UndefinedColumn, "gone"),
    ],
)
def test_what_does_not_fit_is_refused_where_it_stands(
    applied: Apply, sql: str, error: type[Refusal], at: str
):
    with pytest.raises(error) as caught:
        applied(PUBLIC, sql)
    assert caught.value.position == sql.rindex(at)


@pytest.mark.parametrize("column", ["weight", "height"])
def test_floats_are_no_keys(applied: Apply, column: str):
    sql = f"ALTER TABLE visits ALTER COLUMN {column} SET PRIVACY DOMAIN "
    for text in (f"REFERENCES visits ({column})", "DISCOVERED"):
        with pytest.raises(TypeMismatch):
            applied("ALTER TABLE visits SET PRIVACY PUBLIC", sql + text)


def test_digits_are_part_of_a_numeric_type(applied: Apply):
    sql = "ALTER TABLE visits ALTER COLUMN rate SET PRIVACY DOMAIN REFERENCES visits (cost)"
    with pytest.raises(TypeMismatch) as caught:
        applied("ALTER TABLE visits SET PRIVACY PUBLIC", sql)
    assert "digits" in (caught.value.hint or "")


def test_a_stored_policy_was_checked_when_it_was_declared():
    policy = apply(Policy(), change_of(alter("sex", "REFERENCES regions (region)")), None)
    assert policy.tables["patients"].columns["sex"].domain == References("regions", "region")
