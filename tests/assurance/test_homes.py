"""The files of twins."""

from dpproxy.assurance.homes import BUDGETS, policy_of_test
from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from tests.assurance.made_up import policy, schema


def test_declarations_are_the_owners_and_limits_are_the_tests():
    found = Policy()
    for statement in policy_of_test(policy()):
        found = apply(found, change_of(statement), schema())
    for name, table in policy().tables.items():
        kept = found.tables[name]
        assert (kept.exposure, kept.unit, kept.columns, kept.composites) == (
            table.exposure, table.unit, table.columns, table.composites,
        )  # fmt: skip
        assert (kept.ceiling is not None) == (name in ("patients", "survey"))
    assert set(found.budgets) == set(BUDGETS)
    assert {g.role for g in found.grants} == set(BUDGETS)
    assert found.exact == ()
