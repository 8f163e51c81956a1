"""Policy stores that several statements change at once."""

from collections.abc import Sequence

from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import PolicyStore, change_of
from dpproxy.values.pgtypes import Schema


def change_all(store: PolicyStore, statements: Sequence[str], schema: Schema, by: str) -> Policy:
    """All of them, or none; the policy afterwards."""

    def applied(policy: Policy) -> Policy:
        for sql in statements:
            policy = apply(policy, change_of(sql), schema)
        return policy

    return store.update(applied, ";\n".join(statements), by)
