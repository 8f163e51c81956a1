"""Charges of one small world: budget "research", table "people", users by name."""

from collections.abc import Callable, Mapping
from fractions import Fraction

import pytest

from dpproxy.accounting.canonical import digest
from dpproxy.accounting.model import NO_DELTA, Account, Charge, Debit, Kind

Make = Callable[..., Charge]


@pytest.fixture
def make() -> Make:
    """``make("ann", 10, question="q", budget=100)``: limits are given by the kind of account."""

    def build(
        who: str = "ann",
        nano: int = 1,
        *,
        question: str = "q",
        login: str = "",
        delta: Fraction = NO_DELTA,
        delta_limits: Mapping[str, Fraction] | None = None,
        **limits: int,
    ) -> Charge:
        accounts = (
            Account.ceiling("people"),
            Account.budget("research"),
            Account.user("research", who),
            Account.session(login or f"session of {who}", "research"),
        )
        assert set(limits) <= {kind.value for kind in Kind}
        return Charge(
            who=who,
            statement=digest("statement", question),
            policy_version=3,
            data_version=1,
            mechanism="staircase",
            nano=nano,
            debits=tuple(
                Debit(account, limits.get(account.kind.value), (delta_limits or {}).get(account.kind.value))
                for account in accounts
            ),
            release=digest("release", question),
            label="count on people",
            delta=delta,
        )

    return build
