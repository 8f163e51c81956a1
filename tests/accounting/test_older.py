"""A ledger that was begun before rho was recorded, under an accountant that adds up nothing else."""

from fractions import Fraction

import pytest

from dpproxy.accounting.accounts import limited
from dpproxy.accounting.model import NANO, NO_DELTA, Account, Charge, Cost
from dpproxy.accounting.older import missing
from dpproxy.values.errors import BudgetExceeded, StartupError
from tests.accounting.conftest import Home, Make

CEILING = limited(Account.ceiling("people"), Fraction(2), Fraction(1, 10**6), concentrated=True)


@pytest.fixture
def begun(home: Home, make: Make, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Ten statements of 0.1 and one of 0.5, as they were written then."""
    with home.open() as ledger, monkeypatch.context() as then:
        then.setattr(Cost, "of", classmethod(lambda cls, nano, delta=NO_DELTA: cls(nano, delta)))
        for number in range(10):
            ledger.reserve(make(nano=NANO // 10, question=str(number)))
        ledger.reserve(make(nano=NANO // 2, question="more", delta=Fraction(1, 10**8)))
    return home


ALL = 10 * Fraction(1, 200) + Fraction(1, 8)


def test_its_entries_count_against_a_limit_of_rho(begun: Home, make: Make):
    with begun.open() as ledger:
        [ceiling] = ledger.standings(CEILING)
        assert ceiling.spent == Cost(NANO * 3 // 2, Fraction(1, 10**8), ALL)
        assert {e.rho for e in ledger.entries()} == {"0"}
        ledger.reserve(make(nano=NANO // 10, question="after"))
    for _ in range(2):  # it is completed once
        with begun.open() as ledger:
            assert ledger.paid(Account.ceiling("people")).rho == ALL + Fraction(1, 200)
            assert ledger.verify() == 12


def test_what_was_spent_then_is_not_spent_again_under_zcdp(begun: Home):
    assert CEILING.rho_limit is not None
    most = int(CEILING.left(Cost()) or 0)
    charge = Charge(
        "ann", bytes(32), 1, 1, "gaussian", most, (CEILING,), bytes(32), "count", concentrated=True
    )
    with begun.open() as ledger, pytest.raises(BudgetExceeded):
        ledger.reserve(charge)


def test_a_ledger_that_was_not_opened_since_verifies(begun: Home):
    with begun.open() as ledger:
        ledger.verify()
    begun.edit("UPDATE account SET rho = '0'")
    with begun.open() as ledger:
        assert ledger.paid(Account.budget("research")).rho == ALL


def test_any_other_total_is_refused(begun: Home):
    begun.edit("UPDATE account SET rho = '1/200' WHERE kind = 'ceiling'")
    with pytest.raises(StartupError, match="not the sums"):
        begun.open()


def test_only_entries_that_say_nothing_are_converted():
    assert missing(NANO, "0") == Fraction(1, 2)
    assert missing(0, "0") == missing(NANO, "1/2") == 0
