"""What is listed of the policy."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest

from dpproxy.errors import UndefinedTable
from dpproxy.policy.model import Policy
from dpproxy.policy.show import show_budgets, show_grants, show_policy
from dpproxy.policy.statements import Name

Apply = Callable[..., Policy]


def test_budgets_with_what_was_spent(applied: Apply):
    policy = applied(
        "CREATE PRIVACY BUDGET b LIMIT EPSILON 1000 DELTA 1e-6 USER LIMIT EPSILON 2 MAX EPSILON 0.5",
        "CREATE PRIVACY BUDGET a LIMIT EPSILON 1",
    )
    columns, rows = show_budgets(policy, {"b": (Fraction(1234567891, 10**9), Fraction(3, 10**8))})
    assert [column.name for column in columns] == [
        "name", "limit_epsilon", "delta", "user_limit", "session_limit", "max_epsilon", "default_epsilon", "refresh",
        "spent", "delta_spent",
    ]  # fmt: skip
    assert rows == [
        ("a", Decimal(1), Decimal(0), None, None, None, None, "NEVER", Decimal(0), Decimal(0)),
        (
            "b", Decimal(1000), Decimal("0.000001"), Decimal(2), None, Decimal("0.5"), None, "NEVER",
            Decimal("1.234567891"), Decimal("0.00000003"),
        ),
    ]  # fmt: skip
    assert str(rows[1][1]) == "1000"
    assert {len(row) for row in rows} == {len(columns)}


def test_an_amount_without_an_end_is_rounded_up(applied: Apply):
    _, rows = show_budgets(
        applied("CREATE PRIVACY BUDGET a LIMIT EPSILON 1"), {"a": (Fraction(1, 3), Fraction(0))}
    )
    spent = rows[0][-2]
    assert isinstance(spent, Decimal)
    assert Fraction(1, 3) < Fraction(spent) < Fraction(1, 3) + Fraction(1, 10**30)


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
