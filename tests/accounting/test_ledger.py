import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace

from dpproxy.accounting import database
from dpproxy.accounting.batch import PATIENCE
from dpproxy.accounting.files import DATABASE
from dpproxy.accounting.ledger import FRESH, Ledger
from dpproxy.accounting.model import Account, Charge, Cost, Debit, Drawing, Reservation, Reset
from dpproxy.accounting.sqlite import SQLite
from dpproxy.policy.interval import CalendarInterval, Step
from dpproxy.values.errors import BudgetExceeded, LedgerUnavailable, ShuttingDown, StartupError
from tests.accounting.conftest import Home

ROOT = Path(__file__).parents[2]
BUDGET = Account.budget("research")


@pytest.fixture
def ledger(home: Home) -> Iterator[Ledger]:
    with home.open() as ledger:
        yield ledger


def test_a_charge_is_recorded_and_counted(ledger: Ledger, make: Callable[..., Charge]):
    reserved = ledger.reserve(make("ann", 3, budget=10, user=5))
    ledger.reserve(make("bob", 4))
    assert reserved.sequence == 1
    assert reserved.remaining == 2
    assert ledger.spent(BUDGET) == 7
    assert ledger.spent(Account.user("research", "bob")) == 4
    assert ledger.spent(Account.session("nobody")) == 0
    assert ledger.remaining(Debit(BUDGET, 10), Debit(Account.user("research", "ann"), 4), Debit(BUDGET)) == 1
    assert ledger.remaining(Debit(BUDGET, 6)) == 0
    assert ledger.remaining(Debit(BUDGET)) is None


def test_entries_tell_who_asked_what_at_what_price(ledger: Ledger, make: Callable[..., Charge]):
    charges = [make("ann", 3), make("bob", 4, question="other"), make("ann", 5)]
    for charge in charges:
        ledger.reserve(charge)
    entries = ledger.entries()
    assert [entry.sequence for entry in entries] == [1, 2, 3]
    assert [entry.sequence for entry in ledger.entries("ann")] == [1, 3]
    for entry, charge in zip(entries, charges, strict=True):
        for name in (
            "who",
            "statement",
            "policy_version",
            "data_version",
            "mechanism",
            "nano",
            "release",
            "label",
        ):
            assert getattr(entry, name) == getattr(charge, name)
        assert {posting.account for posting in entry.postings} == {debit.account for debit in charge.debits}


def test_what_was_spent_survives_a_restart(home: Home, make: Callable[..., Charge]):
    for total in range(1, 4):
        with home.open() as ledger:
            ledger.reserve(make(budget=3))
            assert ledger.spent(BUDGET) == total
    with home.open() as ledger, pytest.raises(BudgetExceeded):
        ledger.reserve(make(budget=3))


def test_what_another_process_has_just_charged_is_waited_for(home: Home, make: Callable[..., Charge]):
    now = 1_000_000_000_000
    with home.open(clock=lambda: now) as one, home.open(clock=lambda: now) as other:
        paid = one.reserve_once(make(nano=2))
        assert isinstance(paid, Reservation)
        for ledger in (one, other, one):
            assert ledger.reserve_once(make("bob", nano=2)) == Drawing(paid.sequence, PATIENCE)
        assert isinstance(other.reserve_once(make(nano=1)), Reservation)
        assert isinstance(other.reserve_once(make(nano=2, question="another")), Reservation)
        now += 10**9 * PATIENCE
        for ledger in (one, other):
            assert isinstance(ledger.reserve_once(make(nano=2, question="yet another")), Reservation) == (
                ledger is one
            )
        assert isinstance(other.reserve_once(make(nano=2)), Reservation)
        assert one.verify() == 5


def test_of_those_who_waited_in_vain_one_charges(home: Home, make: Callable[..., Charge]):
    with home.open() as one, home.open() as other:
        lost = one.reserve(make("ann")).sequence
        found = [
            ledger.reserve_once(make(who), lost)
            for ledger, who in ((other, "bob"), (one, "eve"), (other, "joe"))
        ]
        [paid] = [each for each in found if isinstance(each, Reservation)]
        assert found[0] is paid
        assert [each.origin for each in found if isinstance(each, Drawing)] == [paid.sequence] * 2


def test_who_cannot_pay_for_the_answer_does_not_learn_that_it_is_asked_for(
    home: Home, make: Callable[..., Charge]
):
    with home.open() as one, home.open() as other:
        one.reserve(make("ann", 3, user=3, ceiling=3))
        for ledger in (one, other):
            with pytest.raises(BudgetExceeded):
                ledger.reserve_once(make("bob", 3, user=2, ceiling=3))
            assert isinstance(ledger.reserve_once(make("bob", 3, user=2, ceiling=3), shares=True), Drawing)
            # The ceiling has paid, and so has ann.
            assert isinstance(ledger.reserve_once(make("bob", 3, user=3, ceiling=3)), Drawing)
            assert isinstance(ledger.reserve_once(make("ann", 3, user=3, ceiling=3)), Drawing)
        assert len(one.entries()) == 1


def test_of_many_charges_of_another_process_the_last_are_waited_for(
    home: Home, make: Callable[..., Charge], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(database, "RECENT", 2)
    with home.open() as one, home.open() as other:
        for question in "abc":
            one.reserve(make(question=question))
        assert isinstance(other.reserve_once(make(question="c")), Drawing)
        assert isinstance(other.reserve_once(make(question="a")), Reservation)


def test_a_clock_set_back_does_not_go_back_across_restarts(home: Home, make: Callable[..., Charge]):
    for clock in (9_000_000, 4_000_000):
        with home.open(clock=lambda clock=clock: clock) as ledger:
            assert ledger.reserve(make()).entry.at == 9000


def test_sixty_four_racing_for_ten_get_exactly_ten(ledger: Ledger, make: Callable[..., Charge]):
    together = threading.Barrier(64)

    def one(number: int) -> bool:
        together.wait()
        try:
            ledger.reserve(make(f"user{number}", 7, budget=70))
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(64) as pool:
        assert sum(pool.map(one, range(64))) == 10
    assert ledger.spent(BUDGET) == 70
    assert len(ledger.entries()) == 10
    assert ledger.verify() == 10


def test_a_full_disk_answers_nothing_loses_nothing_and_heals(
    tmp_path: Path, make: Callable[..., Charge], monkeypatch: pytest.MonkeyPatch
):
    connect, pages = SQLite.connect, [0]

    def small(self: SQLite, *, writing: bool) -> sqlite3.Connection:
        connection = connect(self, writing=writing)
        if pages[0]:
            connection.execute(f"PRAGMA max_page_count = {pages[0]}").fetchall()
        return connection

    monkeypatch.setattr(SQLite, "connect", small)
    with Ledger.open(tmp_path) as ledger:
        count = ledger.read(lambda connection: int(connection.execute("PRAGMA page_count").fetchone()[0]))
        pages[0] = count + 8
        ledger.writer._database.close()
        answered = 0
        with pytest.raises(LedgerUnavailable, match="cannot be written"):  # noqa: PT012
            for _ in range(1000):
                ledger.reserve(make(question="q" * 3000 + str(answered)))
                answered += 1
        for _ in range(3):
            with pytest.raises(LedgerUnavailable):
                ledger.reserve(make(who="w" * 9000))
        assert ledger.spent(BUDGET) == len(ledger.entries()) == ledger.verify() == answered
        pages[0] = 0
        ledger.writer._database.close()
        assert ledger.reserve(make(who="w" * 9000)).sequence == answered + 1


def test_a_file_that_cannot_be_read_is_said_to_be_unavailable(tmp_path: Path, make: Callable[..., Charge]):
    path = tmp_path / DATABASE
    with Ledger.open(tmp_path) as ledger:
        ledger.reserve(make())
        kept = path.rename(path.with_name("kept"))
        with pytest.raises(LedgerUnavailable, match="cannot be read"):
            ledger.spent(BUDGET)
        with pytest.raises(LedgerUnavailable, match="cannot be written"):
            ledger.reserve(make())
        kept.rename(path)
        assert ledger.spent(BUDGET) == 1
        assert ledger.reserve(make()).sequence == 2


def test_closing_twice_is_harmless_and_nothing_is_reserved_after(home: Home, make: Callable[..., Charge]):
    ledger = home.open()
    ledger.close()
    ledger.close()
    with pytest.raises(ShuttingDown):
        ledger.reserve(make())


LOAD = """
import os, sys, threading
from fractions import Fraction
from dpproxy.accounting.ledger import FRESH, Ledger
from dpproxy.accounting.model import Account, Charge, Debit
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.values.errors import BudgetExceeded

ledger = Ledger.open(sys.argv[1], url=sys.argv[2] or None)
store = ReleaseStore(ledger)

def ask(name):
    debits = (Debit(Account.budget("b"), 10**9), Debit(Account.user("b", name), 10**9))
    while True:
        key, delta = os.urandom(32), Fraction(1, 10**9)
        reserved = ledger.reserve(Charge(name, bytes(32), 1, 1, "m", 1, debits, key, "count", delta))
        os.write(1, b"%d\\n" % reserved.sequence)
        store.store(reserved, b"rows" * 100)

for number in range(8):
    threading.Thread(target=ask, args=(f"user{number}",)).start()
"""


def test_killed_under_load_everything_answered_is_charged(home: Home):
    answered: list[int] = []
    for round_number in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", LOAD, str(home.state), home.url or ""],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(100 + 97 * round_number)]
        process.kill()
        rest, _ = process.communicate(timeout=10)
        assert process.returncode == -signal.SIGKILL
        answered += [int(line) for line in re.findall(r"^\d+\n", "".join(lines) + rest, re.MULTILINE)]
        with home.open() as ledger:
            entries = [entry.sequence for entry in ledger.entries()]
            assert set(answered) <= set(entries)
            assert len(answered) == len(set(answered))
            paid = ledger.paid(Account.budget("b"))
            assert (paid.nano, paid.delta) == (len(entries), Fraction(len(entries), 10**9))


def test_delta_is_raced_for_and_verified_like_epsilon(home: Home, make: Callable[..., Charge]):
    share, limits = Fraction(1, 3 * 10**7), {"budget": Fraction(1, 10**6)}
    with home.open() as ledger:

        def reserve(number: int) -> bool:
            try:
                ledger.reserve(
                    make(f"user {number % 4}", question=str(number), delta=share, delta_limits=limits)
                )
            except BudgetExceeded:
                return False
            return True

        with ThreadPoolExecutor(16) as pool:
            assert sum(pool.map(reserve, range(64))) == 30
        assert ledger.paid(BUDGET) == sum([Cost.of(1, share)] * 30, Cost())
        [found] = ledger.standings(Debit(BUDGET, None, Fraction(2, 10**6)))
        assert found.debit.delta_left(found.spent) == Fraction(1, 10**6)
        with pytest.raises(BudgetExceeded, match="delta 0 left"):
            ledger.check([Debit(BUDGET, None, Fraction(1, 10**6))], Cost(0, share))
    with home.open() as ledger:
        assert ledger.verify() == 30
        assert {entry.delta for entry in ledger.entries()} == {"1/30000000"}


def test_a_ledger_with_another_delta_does_not_verify(home: Home, make: Callable[..., Charge]):
    with home.open() as ledger:
        ledger.reserve(make(delta=Fraction(1, 10**6)))
        ledger.writer.submit(lambda batch: batch.connection.execute("UPDATE account SET delta = '0'"))
        with pytest.raises(StartupError, match="not the sums"):
            ledger.verify()


def test_a_budget_refills_and_begins_anew_by_the_ledgers_own_clock(home: Home, make: Callable[..., Charge]):
    """Over restarts, and on a host whose clock is set back."""
    month = CalendarInterval(1, Step.MONTH)
    january, february = 1_767_700_000 * 10**9, 1_770_400_000 * 10**9

    def pay(ledger: Ledger, question: str) -> None:
        charge = make(nano=6, question=question, budget=10, ceiling=100)
        debits = tuple(replace(d, refresh=month if d.account == BUDGET else None) for d in charge.debits)
        ledger.reserve(replace(charge, debits=debits))

    with home.open(clock=lambda: january) as ledger:
        pay(ledger, "a")
        with pytest.raises(BudgetExceeded, match=r"has 0\.000000004 epsilon left") as caught:
            pay(ledger, "b")
        assert "refills at 2026-02-01" in str(caught.value.detail)
    with home.open(clock=lambda: february) as ledger:
        pay(ledger, "b")
    with home.open(clock=lambda: january) as ledger:
        with pytest.raises(BudgetExceeded):
            pay(ledger, "c")
        entry = ledger.reset(Reset("root", BUDGET, "a reason", "reset budget research", 1, 1))
        assert (entry.kind, entry.note, entry.at) == ("reset", "a reason", february // 1000)
        pay(ledger, "c")
        assert ledger.spent(Account.ceiling("people")) == 18
        assert ledger.verify() == 4


def test_a_standing_that_is_known_is_that_of_the_last_entry_of_any_process(
    home: Home, make: Callable[..., Charge]
):
    with home.open() as ledger, home.open() as other:
        account = Account.user("research", "ann")
        assert [ledger.spent(account) for _ in range(3)] == [0, 0, 0]
        other.reserve(make("ann", 5))
        assert [ledger.spent(account) for _ in range(3)] == [5, 5, 5]
        ledger.reserve(make("ann", 7, question="another"))
        assert [each.spent(account) for each in (ledger, other)] == [12, 12]


@pytest.mark.parametrize("fails", [False, True])
def test_of_many_who_ask_a_slow_server_two_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fails: bool
):
    """Those who came while the first one read wait for one more read, which began after they asked."""
    monkeypatch.setattr(SQLite, "is_near", False)
    with Home(tmp_path / "state").open() as ledger:
        read, reads = ledger.read, list[None]()
        begun, asked = threading.Event(), threading.Event()

        def slow(query: Callable[..., object]) -> object:
            reads.append(None)
            begun.set()
            assert asked.wait(10)
            time.sleep(2 * FRESH)
            if fails:
                raise LedgerUnavailable("away", detail="A detail.")
            return read(query)

        def ask() -> str:
            try:
                ledger.moment()
            except LedgerUnavailable as error:
                return f"{error} {error.detail}"
            return "known"

        monkeypatch.setattr(ledger, "read", slow)
        with ThreadPoolExecutor(16) as pool:
            told = [pool.submit(ask)]
            assert begun.wait(10)
            told += [pool.submit(ask) for _ in range(15)]
            time.sleep(0.2)
            asked.set()
            assert {one.result() for one in told} == {"away A detail." if fails else "known"}
        assert len(reads) == 2
        ask()
        assert len(reads) == 3
