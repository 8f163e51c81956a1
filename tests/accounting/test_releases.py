import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dpproxy.accounting import releases as module
from dpproxy.accounting import writer
from dpproxy.accounting.canonical import digest
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Account, Charge, Debit, StoredRelease
from dpproxy.accounting.releases import ReleaseStore, paid
from dpproxy.values.errors import BudgetExceeded, LedgerUnavailable
from tests.accounting.conftest import Home
from tests.postgres import Server

Make = Callable[..., Charge]
ANN, BOB = Account.user("research", "ann"), Account.user("research", "bob")


@pytest.fixture
def ledger(home: Home) -> Iterator[Ledger]:
    with home.open() as ledger:
        yield ledger


@pytest.fixture
def store(ledger: Ledger) -> ReleaseStore:
    return ReleaseStore(ledger)


def keep(ledger: Ledger, charge: Charge, payload: bytes) -> int:
    reserved = ledger.reserve(charge)
    ReleaseStore(ledger).store(reserved, payload)
    return reserved.sequence


def test_releases_of_the_same_rows_are_found_by_who_paid(
    ledger: Ledger, store: ReleaseStore, make: Make, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "LINGER", 60)
    key, other = make("ann").release, make("ann", question="another").release
    first, second = keep(ledger, make("ann", 5), b"five"), keep(ledger, make("ann", 7), b"seven")
    third = keep(ledger, make("ann", 3, question="another"), b"three")
    for _ in ("waiting", "written"):
        assert store.paid([key[:12]], ANN) == [(first, 5), (second, 7)]
        assert store.paid([other[:12]], ANN) == [(third, 3)]
        assert store.paid([key[:12], other[:12]], ANN) == [(first, 5), (second, 7), (third, 3)]
        assert store.paid([key[:12]], BOB) == []
        assert (store.load(first), store.load(third), store.load(10**6)) == (b"five", b"three", None)
        ledger.reserve(make("cat", question="yet another"))
        while ledger.writer.waiting():
            pass
    stored = store.find(key, 7)
    assert stored is not None
    store.adopt(stored, make("bob"))
    assert store.paid([key[:12]], BOB) == [(second, 7)]


def test_it_is_known_what_became_of_a_charge(ledger: Ledger, store: ReleaseStore, make: Make):
    answered, lost = (ledger.reserve(make("ann", 5, question=question)) for question in "ab")
    assert not store.is_settled(answered.sequence)
    store.store(answered, b"rows")
    store.give_up(lost)
    while ledger.writer.waiting():
        pass
    assert store.is_settled(answered.sequence)
    assert store.is_settled(lost.sequence)
    assert store.find(make(question="b").release, 1) is None
    assert store.paid([make(question="b").release[:12]], ANN) == []
    ledger.verify()


def test_an_answer_is_found_before_and_after_it_is_written(
    ledger: Ledger, store: ReleaseStore, make: Make, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "LINGER", 60)
    origin = keep(ledger, make("ann", 5), b"rows")
    assert len(ledger.writer.waiting()) == 1
    before = store.find(make().release, 5)
    ledger.reserve(make(question="another"))
    while ledger.writer.waiting():
        pass
    assert before == store.find(make().release, 5)
    assert before == StoredRelease(
        origin, 5, b"rows", frozenset(debit.account for debit in make("ann").debits)
    )


def test_only_one_at_least_as_accurate_answers(ledger: Ledger, store: ReleaseStore, make: Make):
    keep(ledger, make(nano=5), b"rows")
    assert store.find(make().release, 4) is not None
    assert store.find(make().release, 6) is None
    assert store.find(make(question="another").release, 1) is None


def test_which_of_several_answers(ledger: Ledger, store: ReleaseStore, make: Make):
    for who, nano, payload in (("ann", 5, b"5"), ("eve", 9, b"9"), ("eve", 7, b"7"), ("ann", 9, b"late")):
        keep(ledger, make(who, nano), payload)

    def payload(payer: Account | None) -> bytes:
        found = store.find(make().release, 5, payer)
        assert found is not None
        return found.payload

    assert payload(None) == b"9"
    assert payload(ANN) == b"late"
    assert payload(Account.user("research", "eve")) == b"9"
    assert payload(BOB) == b"5"


def test_it_is_free_for_the_payer_across_restarts_and_debited_to_others_once(home: Home, make: Make):
    with home.open() as ledger:
        keep(ledger, make("ann", 5), b"rows")
    for login in ("one", "two"):
        with home.open() as ledger:
            store = ReleaseStore(ledger)
            found = store.find(make().release, 2)
            assert found is not None
            assert ANN in found.payers
            assert store.adopt(found, make("ann", 2, login=login)) is None
            assert (store.adopt(found, make("bob", 2, login=login)) is None) == (login == "two")
            assert ledger.spent(ANN) == ledger.spent(BOB) == 5
            assert ledger.spent(Account.budget("research")) == ledger.spent(Account.ceiling("people")) == 5
            assert [entry.kind for entry in ledger.entries()] == ["charge", "adopt"]


def test_many_at_once_adopt_for_one_price(ledger: Ledger, store: ReleaseStore, make: Make):
    keep(ledger, make("ann", 5), b"rows")
    found = store.find(make().release, 5)
    assert found is not None
    with ThreadPoolExecutor(16) as pool:
        paid = list(pool.map(lambda _: store.adopt(found, make("bob")), range(16)))
    assert sum(reservation is not None for reservation in paid) == 1
    assert ledger.spent(BOB) == 5


def test_an_adoption_releases_nothing_new(ledger: Ledger, store: ReleaseStore, make: Make):
    keep(ledger, make("ann", 5), b"rows")
    found = store.find(make().release, 5)
    assert found is not None
    adopted = store.adopt(found, make("bob"))
    assert adopted is not None
    with pytest.raises(ValueError, match="only a charge"):
        store.store(adopted, b"other rows")


def test_an_altered_answer_is_not_shown(ledger: Ledger, store: ReleaseStore, make: Make):
    keep(ledger, make(), b"rows")
    ledger.writer.submit(lambda batch: batch.connection.execute("SELECT 1").fetchall())
    while ledger.writer.waiting():
        pass
    ledger.writer.submit(
        lambda batch: batch.connection.execute("UPDATE release SET payload = ?", (b"other",)) and None
    )
    with pytest.raises(LedgerUnavailable):
        store.find(make().release, 1)


def test_rows_do_not_show_in_a_repr(ledger: Ledger, store: ReleaseStore, make: Make):
    keep(ledger, make(), b"secret rows")
    assert "secret" not in repr((store.find(make().release, 1), ledger.writer.waiting()))


LIMITS = {"session": 12, "user": 15, "budget": 30, "ceiling": 25}
USERS = st.sampled_from(["ann", "bob", "eve"])
QUESTIONS = st.sampled_from(["p", "q"])


class Interleaving(RuleBasedStateMachine):
    """Charges, stored answers, adoptions, restarts and crashes in any order, against a plain model."""

    def __init__(self, server: Server | None) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.home = Home(self.root / "0", server, "" if server is None else server.database())
        self.crashed: list[Ledger] = []
        self.logins = 0
        self.spent: dict[Account, int] = {}
        self.payers: dict[int, set[Account]] = {}
        self.open()

    def open(self) -> None:
        self.ledger = self.home.open()
        self.store = ReleaseStore(self.ledger)
        self.logins += 1

    def charge(self, who: str, question: str, nano: int) -> Charge:
        debits = (
            Debit(Account.ceiling("people"), LIMITS["ceiling"]),
            Debit(Account.user("research", who), LIMITS["user"]),
            Debit(Account.session(f"{who} {self.logins}"), LIMITS["session"]),
            Debit(Account.budget("research"), LIMITS["budget"]),
        )
        return Charge(who, digest(question), 1, 1, "staircase", nano, debits, digest(question), "count")

    def fits(self, debits: list[Debit], nano: int) -> bool:
        return all(self.spent.get(d.account, 0) + nano <= (d.limit or 0) for d in debits)

    def pay(self, origin: int, debits: list[Debit], nano: int) -> None:
        for debit in debits:
            self.spent[debit.account] = self.spent.get(debit.account, 0) + nano
            self.payers.setdefault(origin, set()).add(debit.account)

    @rule(who=USERS, question=QUESTIONS, nano=st.integers(1, 6), stored=st.booleans())
    def reserve(self, who: str, question: str, nano: int, *, stored: bool) -> None:
        charge = self.charge(who, question, nano)
        if not self.fits(list(charge.debits), nano):
            with pytest.raises(BudgetExceeded):
                self.ledger.reserve(charge)
            return
        reservation = self.ledger.reserve(charge)
        self.pay(reservation.sequence, list(charge.debits), nano)
        if stored:
            self.store.store(reservation, b"%d" % reservation.sequence)

    @rule(who=USERS, question=QUESTIONS, nano=st.integers(1, 6), own=st.booleans())
    def replay(self, who: str, question: str, nano: int, *, own: bool) -> None:
        charge = self.charge(who, question, nano)
        user = Account.user("research", who)
        found = self.store.find(charge.release, nano, user if own else None)
        if found is None:
            return
        assert found.nano >= nano
        assert found.payload == b"%d" % found.id
        assert found.payers == self.payers[found.id]
        debits = [debit for debit in charge.debits if debit.account not in found.payers]
        if user in found.payers:
            assert self.store.adopt(found, charge) is None
        elif not self.fits(debits, found.nano):
            with pytest.raises(BudgetExceeded):
                self.store.adopt(found, charge)
        else:
            assert self.store.adopt(found, charge) is not None
            self.pay(found.id, debits, found.nano)

    @rule()
    def restart(self) -> None:
        self.ledger.close()
        self.open()

    @precondition(lambda self: self.logins < 6)
    @rule()
    def crash(self) -> None:
        """The machine stops here: what the disk holds now is all there is."""
        self.crashed.append(self.ledger)
        if self.home.server is None:
            self.home = self.home.copy(self.root / str(self.logins))
        self.open()

    @invariant()
    def totals_are_those_of_the_model(self) -> None:
        for account, nano in self.spent.items():
            assert self.ledger.spent(account) == nano
            assert nano <= LIMITS[account.kind.value]

    def teardown(self) -> None:
        for ledger in (*self.crashed, self.ledger):
            ledger.close()
        shutil.rmtree(self.root)


def test_interleavings(home: Home):
    run_state_machine_as_test(
        lambda: Interleaving(home.server),
        settings=settings(max_examples=5 if home.server else 20, stateful_step_count=25, deadline=None),
    )


@pytest.mark.whole
def test_more_interleavings(home: Home):
    run_state_machine_as_test(
        lambda: Interleaving(home.server),
        settings=settings(max_examples=100, stateful_step_count=25, deadline=None),
    )


@pytest.mark.parametrize("beginnings", [[b"a" * 32], [b"a" * 12], [b"a" * 12 + b"\0" * 6, b"a" * 18]])
def test_the_releases_of_a_beginning_are_found_without_looking_through_all(
    tmp_path: Path, beginnings: list[bytes]
):
    """Among the account's payments where a beginning is of many, whoever else has asked about the same rows."""
    wide = [each for each in beginnings if not each[12:].strip(b"\0")]
    with Ledger.open(tmp_path) as ledger:
        connection = ledger.store.connect(writing=False)
        values = [b""] * (6 * len(beginnings) + len(wide))
        steps = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {paid(beginnings)}", values)]
        connection.close()
    searched = [
        sum(f"USING COVERING INDEX {of}" in s for s in steps) for of in ("debit_by_payer", "release_by_key")
    ]
    assert searched == [len(wide), len(beginnings) - len(wide)]
    assert sum(step.startswith("SEARCH p USING PRIMARY KEY") for step in steps) >= len(wide)
    assert sum("TEMP B-TREE FOR ORDER BY" in step for step in steps) == searched[1]
    assert not any(step.startswith("SCAN") for step in steps if step not in ("SCAN p", "SCAN found")), steps


def test_the_latest_payments_are_searched(
    ledger: Ledger, store: ReleaseStore, make: Make, monkeypatch: pytest.MonkeyPatch
):
    """Those of others count for nothing."""
    key = make("ann").release[:12]
    origins = []
    for question in ("a", "b", "c"):
        origins.append(keep(ledger, make("ann", 5, question=question), b"rows"))
        keep(ledger, make("bob", 5, question=f"{question} of bob"), b"rows")
    while ledger.writer.waiting():
        pass
    for releases, payments, found in ((9, 0, 3), (5, 9, 3), (2, 9, 2), (5, 1, 1), (5, 0, 0)):
        monkeypatch.setattr(module, "MOST_PAID", releases)
        monkeypatch.setattr(module, "MOST_PAYMENTS", payments)
        assert [origin for origin, _ in store.paid([b""], ANN)] == origins[3 - found :]
        assert len(store.paid([key], ANN)) <= found
