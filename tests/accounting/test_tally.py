"""What is charged while a tally is open is counted in it, whoever charges."""

from pathlib import Path

import pytest

from dpproxy.accounting import tally
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import NANO, Account, Charge, Debit
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.values.errors import BudgetExceeded


def charge(user: str, nano: int) -> Charge:
    debits = (Debit(Account.user("b", user), limit=NANO), Debit(Account.budget("b"), limit=3 * NANO))
    return Charge(user, bytes(32), 1, 1, "staircase", nano, debits, bytes(32), "count on t")


def test_every_reservation_is_counted_and_no_refusal(tmp_path: Path):
    with Ledger.open(tmp_path) as ledger:
        ledger.reserve(charge("ann", 7))  # nobody counts
        with tally.tallied() as found:
            ledger.reserve(charge("ann", 10))
            ledger.reserve(charge("bob", 5))
            with pytest.raises(BudgetExceeded):
                ledger.reserve(charge("bob", NANO))
        assert found.nano == 15


def test_an_adopted_release_counts_what_it_costs(tmp_path: Path):
    with Ledger.open(tmp_path) as ledger:
        store = ReleaseStore(ledger)
        store.store(ledger.reserve(charge("ann", 10)), b"answer")
        stored = store.find(bytes(32), 10)
        assert stored is not None
        with tally.tallied() as found:
            store.adopt(stored, charge("bob", 10))
            store.adopt(stored, charge("bob", 10))
        assert found.nano == 10


def test_what_is_taken_counts_no_more(tmp_path: Path):
    assert tally.take() == 0
    with Ledger.open(tmp_path) as ledger, tally.tallied() as found:
        ledger.reserve(charge("ann", 10))
        assert tally.take() == 10
        ledger.reserve(charge("ann", 1))
    assert found.nano == 1
