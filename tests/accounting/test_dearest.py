"""What a refusal tells of who spent a limit."""

from collections.abc import Iterator
from fractions import Fraction

import pytest

from dpproxy.accounting.accounts import limited
from dpproxy.accounting.canonical import digest
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.limits import LimitReached
from dpproxy.accounting.model import NANO, Account, Charge, Debit, Reset
from dpproxy.policy.interval import CalendarInterval, Step
from tests.accounting.conftest import Home

BUDGET = Account.budget("research")
SPENT = (
    ("ann", "count(*) on t", 2), ("ann", "avg(x) on t", 3), ("ann", "sum(x) on t", 1), ("ann", "median(x) on t", 1),
    ("ann", "count(*) on t", 2), ("bob", "max(y) on u", 4), ("cem", "min(y) on u", 1),
)  # fmt: skip


@pytest.fixture
def ledger(home: Home) -> Iterator[Ledger]:
    with home.open(clock=lambda: 1_800_000_000 * 10**9) as found:
        yield found


def ask(ledger: Ledger, who: str, label: str, tenths: int, budget: Debit) -> None:
    debits = (Debit(Account.user("research", who)), budget)
    key = digest(who, label, len(ledger.entries()))
    ledger.reserve(Charge(who, key, 1, 1, "staircase", tenths * NANO // 10, debits, key, label))


def refused(ledger: Ledger, who: str, budget: Debit, *, is_admin: bool = False) -> str:
    with pytest.raises(LimitReached) as caught:
        ask(ledger, who, "count(*) on t", 9, budget)
    return ledger.explained(caught.value, who, is_admin=is_admin)


def test_own_statements_are_named_and_others_are_one_total(ledger: Ledger):
    budget = Debit(BUDGET, 2 * NANO)
    for who, label, tenths in SPENT:
        ask(ledger, who, label, tenths, budget)
    detail = refused(ledger, "ann", budget)
    assert detail == (
        "Its limit is 2 epsilon. Your dearest statements: avg(x) on t, 0.3 epsilon, "
        "count(*) on t, 0.4 epsilon in 2 releases, median(x) on t, 0.1 epsilon. Others of yours: 0.1 epsilon. "
        "What others spent: 0.5 epsilon."
    )
    assert not {"bob", "cem", "max", "min", "u"} & set(detail.replace("(", " ").split())


def test_who_spent_nothing_is_told_a_total(ledger: Ledger):
    budget = Debit(BUDGET, 2 * NANO)
    for who, label, tenths in SPENT:
        ask(ledger, who, label, tenths, budget)
    assert refused(ledger, "dora", budget) == "Its limit is 2 epsilon. What others spent: 1.4 epsilon."


def test_an_administrator_is_told_of_everybody(ledger: Ledger):
    budget = Debit(BUDGET, 2 * NANO)
    for who, label, tenths in SPENT:
        ask(ledger, who, label, tenths, budget)
    detail = refused(ledger, "root", budget, is_admin=True)
    assert "The dearest statements: bob: max(y) on u, 0.4 epsilon, ann: avg(x) on t, 0.3 epsilon, " in detail
    assert detail.endswith("Others: 0.3 epsilon.")


def test_an_empty_limit_names_nobody(ledger: Ledger):
    assert refused(ledger, "ann", Debit(BUDGET, 1)) == "Its limit is 0.000000001 epsilon."


def test_only_what_counts_now_is_told(ledger: Ledger):
    budget = Debit(BUDGET, NANO, refresh=CalendarInterval(1, Step.MONTH))
    ask(ledger, "ann", "before", 8, budget)
    ledger.reset(Reset("root", BUDGET, "a new study", "reset", 1, 1))
    ask(ledger, "ann", "after", 8, budget)
    detail = refused(ledger, "ann", budget)
    assert "It refills at 2027-02-01 00:00 UTC. Your dearest statements: after, 0.8 epsilon." in detail
    assert "before" not in detail


def test_under_zcdp_costs_are_told_in_rho(ledger: Ledger):
    budget = limited(BUDGET, Fraction(2), Fraction(1, 10**6), concentrated=True)
    ask(ledger, "ann", "count(*) on t", 2, budget)
    ask(ledger, "bob", "sum(x) on t", 1, budget)
    detail = refused(ledger, "ann", budget)
    assert detail.endswith("Your dearest statements: count(*) on t, rho 0.02. What others spent: rho 0.005.")
