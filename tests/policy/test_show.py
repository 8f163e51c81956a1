"""What is listed of the policy."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpproxy.policy.model import Exposure, Policy, TablePolicy
from dpproxy.policy.show import number, show_grants, show_policy, show_tables
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import UndefinedTable
from dpproxy.values.pgtypes import INT8, TEXT, Column, Schema

Apply = Callable[..., Policy]


def test_an_amount_without_an_end_is_rounded_up():
    found = number(Fraction(1, 3))
    assert found is not None
    assert Fraction(1, 3) < Fraction(found) < Fraction(1, 3) + Fraction(1, 10**30)
    assert (str(number(Fraction(1000))), number(None)) == ("1000", None)


def test_one_row_for_each_declaration(applied: Apply):
    policy = applied(
        "ALTER TABLE visits SET PRIVACY PUBLIC",
        "ALTER TABLE patients SET PRIVACY KEY (patient_id) MAX ROWS 2",
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm')",
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY CLASS SENSITIVE",
    )
    columns, rows = show_policy(policy)
    assert [column.name for column in columns] == ["table", "column", "declaration"]
    assert rows == [
        ("patients", None, "KEY (patient_id) MAX ROWS 2"),
        ("patients", "sex", "DOMAIN IN ('f', 'm')"),
        ("patients", "sex", "CLASS SENSITIVE"),
        ("visits", None, "PUBLIC"),
    ]
    assert show_policy(policy, Name("visits"))[1] == rows[3:]


def test_a_table_without_a_declaration():
    with pytest.raises(UndefinedTable) as caught:
        show_policy(Policy(), Name("visits", 24))
    assert caught.value.position == 24


def test_grants(applied: Apply):
    policy = applied(
        "CREATE PRIVACY BUDGET b LIMIT EPSILON 1",
        "GRANT SELECT ON visits TO r WITH PRIVACY BUDGET b",
        "GRANT SELECT ON regions TO r",
        "ALTER TABLE visits SET PRIVACY KEY ROW",
        "GRANT EXACT SELECT ON visits TO dpo",
    )
    columns, rows = show_grants(policy)
    assert [column.name for column in columns] == ["table", "role", "privilege", "budget"]
    assert rows == [
        ("regions", "r", "SELECT", None),
        ("visits", "r", "SELECT", "b"),
        ("visits", "dpo", "EXACT SELECT", None),
    ]


def test_every_table_is_listed_declared_or_not(applied: Apply):
    columns = (Column("patient_id", INT8), Column("sex", TEXT))
    schema = Schema(
        {"patients": columns, "visits": columns, "wards": columns}, left_out={"visits": ("tags",)}
    )
    policy = applied(
        "ALTER TABLE patients SET PRIVACY KEY (patient_id)",
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY HIDDEN",
    )
    policy = replace(policy, tables={**policy.tables, "wards": TablePolicy("wards", Exposure.PUBLIC)})
    assert show_tables(policy, schema)[1] == [
        ("patients", "protected", "KEY (patient_id) MAX ROWS 1", 2, "patient_id", None),
        ("visits", "hidden", None, 2, "patient_id, sex", "tags"),
        ("wards", "public", None, 2, None, None),
    ]
