"""Statements reach the policy, and nothing else changes."""

from collections.abc import Callable

from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from dpproxy.values.pgtypes import Schema


def test_every_kind_of_statement_changes_its_part_and_leaves_the_policy_given(schema: Schema):
    statements = {
        "ALTER TABLE patients SET PRIVACY KEY (patient_id)": "tables",
        "ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110": "tables",
        "CREATE PRIVACY BUDGET b LIMIT EPSILON 1": "budgets",
        "GRANT SELECT ON patients TO r WITH PRIVACY BUDGET b": "grants",
        "ADVANCE PRIVACY DATA VERSION": "data_version",
    }
    policy = Policy()
    for sql, part in statements.items():
        before = repr(policy)
        after = apply(policy, change_of(sql), schema)
        assert repr(policy) == before
        changed = {name for name in Policy.__slots__ if getattr(policy, name) != getattr(after, name)}
        assert changed == {part}
        policy = after


def test_the_data_version_advances(applied: Callable[..., Policy]):
    assert applied("ADVANCE PRIVACY DATA VERSION", "ADVANCE PRIVACY DATA VERSION").data_version == 3
