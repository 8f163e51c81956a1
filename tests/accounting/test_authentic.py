"""A ledger that was opened from a checkpoint: what is altered before it is noticed when it is used."""

from collections.abc import Callable
from contextlib import closing

import pytest

from dpproxy.accounting.model import Account, Charge
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.values.errors import LedgerUnavailable
from tests.accounting.conftest import Home

ANN = Account.user("research", "ann")


@pytest.fixture
def state(home: Home, make: Callable[..., Charge], monkeypatch: pytest.MonkeyPatch) -> Home:
    """Four charges with their answers and an adoption by eve of the second, all before a checkpoint."""
    monkeypatch.setattr("dpproxy.accounting.ledger.EVERY", 1)
    monkeypatch.setattr("dpproxy.accounting.background.DELAY", 1000.0)
    with home.open() as ledger:
        store = ReleaseStore(ledger)
        for number in range(4):
            store.store(ledger.reserve(make(nano=number + 1, question=str(number))), b"rows")
        found = store.find(make(question="1").release, 1)
        assert found is not None
        store.adopt(found, make("eve", question="1"))
    home.open().close()
    assert (home.state / "ledger.checkpoint").exists()
    return home


def test_what_was_not_altered_is_found_adopted_and_listed(state: Home, make: Callable[..., Charge]):
    release = make(question="1").release
    with state.open() as ledger:
        store = ReleaseStore(ledger)
        for _ in range(2):
            found = store.find(release, 1, ANN)
            assert found is not None
            assert (found.nano, found.payload) == (2, b"rows")
            assert Account.user("research", "eve") in found.payers
        assert store.load(2) == b"rows"
        assert store.adopt(found, make("bob", question="1")) is not None
        again = store.find(release, 1)
        assert again is not None
        assert Account.user("research", "bob") in again.payers
        assert ledger.charged([release, bytes(32)]) == {release}
        assert ledger.verify() == 6


PAID = "INSERT INTO debit VALUES (2, 'user', 'research', 'bob', '', 0, {}, 9, NULL, 2, '0', '0')"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET nano = 1 WHERE sequence = 2",
        "UPDATE debit SET member = 'bob' WHERE origin = 2 AND kind = 'user' AND member = 'eve'",
        "UPDATE debit SET nano = 0 WHERE origin = 2 AND kind = 'user' AND member = 'ann'",
        PAID.format(2),
        PAID.format(1),
        "UPDATE entry SET mac = (SELECT mac FROM entry WHERE sequence = 3) WHERE sequence = 2",
        "UPDATE entry SET mac = (SELECT mac FROM entry WHERE sequence = 3) WHERE sequence = 1",
    ],
)
def test_what_was_altered_is_not_used(state: Home, make: Callable[..., Charge], statement: str):
    state.edit(statement)
    release = make(question="1").release
    with state.open() as ledger:
        store = ReleaseStore(ledger)
        uses: tuple[Callable[[], object], ...] = (
            lambda: store.find(release, 1, ANN),
            lambda: store.load(2),
            lambda: ledger.charged([release]),
        )
        for use in uses:
            with pytest.raises(LedgerUnavailable):
                use()
        other = store.find(make(question="3").release, 1, ANN)
        assert other is not None


def test_once_all_is_verified_nothing_is_again(state: Home, make: Callable[..., Charge]):
    with state.open() as ledger:
        ledger.authentic.all()
        with closing(ledger.store.connect(writing=False)) as connection:
            ledger.authentic.require(connection, [1, 2, 99])
        assert ReleaseStore(ledger).find(make(question="1").release, 1) is not None
