"""What is listed of the policy."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from dpproxy.policy.model import Policy
from dpproxy.policy.show import number, show_grants, show_policy
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import UndefinedTable

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
