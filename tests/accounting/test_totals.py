"""What is remembered of accounts is what a reading from the database alone says, whoever wrote in between."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpproxy.accounting import database
from dpproxy.accounting import totals as module
from dpproxy.accounting.batch import Batch
from dpproxy.accounting.canonical import digest
from dpproxy.accounting.chain import Head
from dpproxy.accounting.database import LedgerDatabase, Unwritten
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.limits import check
from dpproxy.accounting.model import Account, AccountKind, Charge, Cost, Debit, Reset
from dpproxy.accounting.store import Store
from dpproxy.accounting.totals import Total, Totals, TotalsCache, UnknownTotal
from dpproxy.accounting.verify import verify
from dpproxy.accounting.windows import DAY, Standing, standings
from dpproxy.policy.interval import CalendarInterval, Step
from dpproxy.values.errors import BudgetExceeded
from tests.accounting.conftest import Home, Make
from tests.accounting.test_database import begun

RESEARCH, PEOPLE = Account.budget("research"), Account.ceiling("people")
ANN = Account.user("research", "ann")
HEAD = Head(1, b"name", 1, 0, b"mac")
REFRESHED = (
    None,
    CalendarInterval(1, Step.DAY),
    CalendarInterval(1, Step.WEEK),
    CalendarInterval(1, Step.MONTH),
)


# --- what is remembered ---------------------------------------------------------------------------------


def total(nano: int) -> Total:
    return Total(0, 0, {("", 0): Cost(nano)})


def test_what_is_known_is_known_for_one_head():
    known = TotalsCache()
    known.keep(HEAD, {ANN.own: total(3)})
    assert known.at(HEAD, [ANN.own, PEOPLE.own]) == {ANN.own: total(3)}
    for other in (
        replace(HEAD, mac=b"another"),
        replace(HEAD, sequence=2),
        replace(HEAD, ledger=b"another"),
    ):
        assert known.at(other, [ANN.own]) == {}
    known.forget()
    assert known.at(HEAD, [ANN.own]) == {}


def test_a_head_that_follows_what_is_known_keeps_it_and_another_does_not():
    known, later, latest = (
        TotalsCache(),
        replace(HEAD, sequence=2, mac=b"m2"),
        replace(HEAD, sequence=4, mac=b"m4"),
    )
    known.keep(HEAD, {ANN.own: total(3), PEOPLE.own: total(3)})
    known.keep(later, {ANN.own: total(5)}, HEAD)
    assert known.at(later, [ANN.own, PEOPLE.own]) == {ANN.own: total(5), PEOPLE.own: total(3)}
    known.keep(latest, {ANN.own: total(8)}, replace(HEAD, sequence=3, mac=b"m3"))
    assert known.at(latest, [ANN.own, PEOPLE.own]) == {ANN.own: total(8)}
    known.keep(later, {PEOPLE.own: total(9)})
    assert known.at(latest, [ANN.own, PEOPLE.own]) == {ANN.own: total(8)}


def test_what_is_known_after_an_entry_has_that_entry_in_it():
    known = TotalsCache()
    assert known.after(0, [ANN.own]) == (0, {})
    known.keep(replace(HEAD, sequence=4, at=7), {ANN.own: total(3)})
    assert known.after(4, [ANN.own]) == (7, {ANN.own: total(3)})
    assert known.after(5, [ANN.own]) == (0, {})


def test_the_number_of_accounts_that_are_known_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "REMEMBERED", 2)
    known, users = TotalsCache(), [Account.user("b", str(n)).own for n in range(3)]
    for nano, own in enumerate(users):
        known.keep(HEAD, {own: total(nano)})
    assert known.at(HEAD, users) == {users[1]: total(1), users[2]: total(2)}


def test_without_a_database_what_is_not_known_is_said_so():
    with pytest.raises(UnknownTotal):
        standings(Totals(None), [Debit(ANN)], 0)


def test_what_was_published_is_never_changed():
    known, rows = TotalsCache(), {("", 0): Cost(3)}
    known.keep(HEAD, {RESEARCH.own: Total(0, 0, rows)})
    totals = Totals(None, known, HEAD)
    standings(totals, [Debit(RESEARCH)], 0)
    totals.add(RESEARCH, Cost(4))
    assert rows == {("", 0): Cost(3)}
    assert totals.found[RESEARCH.own].rows == {("", 0): Cost(7)}
    totals.publish(known, later := replace(HEAD, sequence=2))
    again = Totals(None, known, later)
    again.need([RESEARCH.own])
    again.add(RESEARCH, Cost(1))
    totals.add(RESEARCH, Cost(1))
    assert known.at(later, [RESEARCH.own])[RESEARCH.own].rows == {("", 0): Cost(7)}


def test_what_was_forgotten_is_not_known_for_the_same_head_either():
    known = TotalsCache()
    known.keep(HEAD, {RESEARCH.own: total(3)})
    totals = Totals(None, known, HEAD)
    totals.forget()
    totals.publish(known, HEAD)
    assert known.at(HEAD, [RESEARCH.own]) == {}


def test_two_intervals_of_one_account_are_told_apart_and_days_that_have_passed_dropped():
    rows = {("", day): Cost(1 << day) for day in (1, 2, 3)}
    totals = Totals(None)
    totals.found = {RESEARCH.own: Total(3, 0, rows)}
    found = standings(totals, [Debit(RESEARCH, refresh=each) for each in REFRESHED[:2]], 2 * DAY)
    assert [s.spent.nano for s in found] == [14, 8]
    standings(totals, [Debit(RESEARCH, refresh=REFRESHED[1])], 2 * DAY)
    assert totals.found[RESEARCH.own] == Total(3, 3, {("", 3): Cost(8)})


# --- against the database alone --------------------------------------------------------------------------


def debit(account: Account, limit: int, refresh: CalendarInterval | None = None) -> Debit:
    return Debit(account, limit, None, None, None if account.kind is AccountKind.CEILING else refresh)


def charge(
    debits: tuple[Debit, ...], nano: int, delta: Fraction = Fraction(0), *, concentrated: bool = False
) -> Charge:
    key = digest(random.randbytes(8))
    return Charge("ann", key, 1, 1, "staircase", nano, debits, key, "count", delta, concentrated)


@dataclass
class Process:
    """One that has the ledger open; its clock is the test's."""

    database: LedgerDatabase

    def charge(self, *charges: Charge) -> list[object]:
        """The new totals by account, or the refusals, of one commit."""

        def fill(batch: Batch) -> list[object]:
            return [tried(batch, each) for each in charges]

        return self.database.commit(fill)

    def reset(self, account: Account) -> None:
        self.database.commit(
            lambda batch: batch.reset(Reset("root", account, "a new study", "RESET", 1, 1)) and None
        )


def tried(batch: Batch, asked: Charge) -> object:
    try:
        return {debit.account: total for debit, total in batch.charge(asked).spent}
    except BudgetExceeded as error:
        return error.message


def expected(store: Store, now: int, charges: tuple[Charge, ...]) -> list[object]:
    """What ``Process.charge`` has to say, worked out from rows read for it: each alone in a transaction undone."""
    found: list[object] = []
    with closing(store.connect(writing=True)) as connection:
        store.begin(connection)
        for asked in charges:
            totals = Totals(connection)
            order = sorted(asked.debits, key=lambda d: list(AccountKind).index(d.account.kind))
            stood = standings(totals, order, now, concentrated=asked.concentrated)
            try:
                for one in stood:
                    check(one, asked.cost)
            except BudgetExceeded as error:
                found.append(error.message)
                continue
            for one in stood:
                totals.add(one.debit.account, asked.cost)
            totals.write()
            found.append({d.account: s.spent + asked.cost for d, s in zip(order, stood, strict=True)})
        connection.rollback()
    return found


@pytest.fixture
def clock() -> list[int]:
    return [DAY * 20_000 * 1000]


@pytest.fixture
def several(home: Home, clock: list[int]) -> Iterator[tuple[Store, list[Process]]]:
    place = begun(home)
    with ExitStack() as stack:
        processes = [
            Process(
                stack.enter_context(
                    closing(
                        LedgerDatabase(
                            place.store, place.seals, place.verified(), place.mark, lambda: clock[0]
                        )
                    )
                )
            )
            for _ in range(2)
        ]
        yield place.store, processes
    verify(place.store, place.seals, place.mark)


def test_who_writes_in_turn_never_overspends(several: tuple[Store, list[Process]]):
    _, processes = several
    asked = (debit(ANN, 100), debit(RESEARCH, 10), debit(PEOPLE, 100))
    paid = 0
    for turn in range(20):
        [said] = processes[turn % 2].charge(charge(asked, 1))
        paid += isinstance(said, dict)
    assert paid == 10


def test_what_others_charge_is_added_to_what_is_known(
    several: tuple[Store, list[Process]], monkeypatch: pytest.MonkeyPatch
):
    _, (one, other) = several
    asked = (debit(ANN, 100), debit(RESEARCH, 100, REFRESHED[1]), debit(PEOPLE, 100))
    for writer in (one, other):
        writer.charge(charge(asked, 1))
    with monkeypatch.context() as patch:
        patch.setattr(Totals, "_read", pytest.fail)
        for turn in range(6):
            [said] = (one, other)[turn % 2].charge(charge(asked, turn + 1))
            assert said == {own: _sum(1, 1, *range(1, turn + 2)) for own in (ANN, RESEARCH, PEOPLE)}
    # More than are looked at: read anew.
    monkeypatch.setattr(database, "RECENT", 1)
    for _ in range(2):
        one.charge(charge(asked, 1))
    assert other.charge(charge(asked, 1)) == [
        {own: _sum(*[1] * 5, *range(1, 7)) for own in (ANN, RESEARCH, PEOPLE)}
    ]


def test_a_reset_elsewhere_is_seen(several: tuple[Store, list[Process]]):
    _, (one, other) = several
    asked = (debit(ANN, 10), debit(RESEARCH, 10), debit(PEOPLE, 25))
    for writer in (one, other):
        assert isinstance(one.charge(charge(asked, 10))[0], dict)
        assert one.charge(charge(asked, 1)) == [
            'user "ann" of privacy budget "research" has 0 epsilon left, the statement asks for 0.000000001'
        ]
        writer.reset(RESEARCH)
        assert ANN.own not in writer.database.known.after(0, [ANN.own])[1]
    [refused] = one.charge(charge(asked, 10))
    assert "ceiling" in str(refused)
    assert one.charge(charge(asked, 5)) == [{ANN: Cost.of(5), RESEARCH: Cost.of(5), PEOPLE: _sum(10, 10, 5)}]


def _sum(*nanos: int) -> Cost:
    return sum((Cost.of(nano) for nano in nanos), Cost())


def test_a_day_that_ends_refills_and_a_longer_interval_counts_the_days_before(
    several: tuple[Store, list[Process]], clock: list[int]
):
    _, (one, _) = several
    daily, monthly = (debit(RESEARCH, 10, refresh) for refresh in (REFRESHED[1], REFRESHED[3]))
    for _ in range(3):
        assert one.charge(charge((daily,), 10)) == [{RESEARCH: Cost.of(10)}]
        assert isinstance(one.charge(charge((daily,), 1))[0], str)
        clock[0] += DAY * 1000
    [refused] = one.charge(charge((replace(monthly, limit=30),), 1))
    assert isinstance(refused, str)
    assert one.charge(charge((replace(monthly, limit=31),), 1)) == [{RESEARCH: _sum(10, 10, 10, 1)}]


@pytest.mark.parametrize("stands", [False, True])
def test_nothing_is_known_after_a_commit_that_failed(
    several: tuple[Store, list[Process]], monkeypatch: pytest.MonkeyPatch, *, stands: bool
):
    """Whether it is on the disk or not: what it would have cost is neither remembered nor forgotten."""
    store, (one, _) = several
    asked = (debit(RESEARCH, 10),)
    one.charge(charge(asked, 4))
    begin = type(store).begin

    class Failing:
        def __init__(self, connection: object) -> None:
            self.connection = connection

        def __getattr__(self, name: str) -> object:
            return getattr(self.connection, name)

        def commit(self) -> None:
            if stands:
                self.connection.commit()  # type: ignore[attr-defined]
            raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(one.database, "_begin", lambda _: _begun(one.database, store, begin, Failing))
    with pytest.raises(Unwritten):
        one.charge(charge(asked, 4))
    monkeypatch.undo()
    assert one.database.known.after(0, [RESEARCH.own]) == (0, {})
    [said] = one.charge(charge(asked, 4))
    assert isinstance(said, str) is stands


def _begun(
    database: LedgerDatabase, store: Store, begin: Callable[..., object], wrap: Callable[[object], object]
) -> tuple[object, object]:
    connection = database._connect()
    return wrap(connection), begin(store, connection)


def test_a_fill_that_fails_is_not_remembered(several: tuple[Store, list[Process]]):
    _, (one, _) = several
    asked = (debit(RESEARCH, 10),)
    one.charge(charge(asked, 4))

    def fail(batch: Batch) -> None:
        batch.charge(charge(asked, 4))
        raise OSError("disk I/O error")

    with pytest.raises(Unwritten):
        one.database.commit(fail)
    assert one.charge(charge(asked, 6)) == [{RESEARCH: _sum(4, 6)}]


@pytest.mark.parametrize("seed", range(6))
def test_random_sequences_are_charged_as_the_database_alone_says(
    several: tuple[Store, list[Process]], clock: list[int], seed: int
):
    """Two processes, resets, other intervals, blocks, ZCDP, days that pass and commits that fail."""
    store, processes = several
    rng = random.Random(seed)
    users = [Account.user("research", name) for name in ("ann", "bob")]
    sessions = [Account.session(name, "research") for name in ("s1", "s2")]
    ceilings = [
        (PEOPLE,),
        (Account.ceiling("people", "1:a"),),
        (Account.ceiling("people", "1:b"), Account.ceiling("people", "1:c")),
        (Account.ceiling("people", "2:a"),),
    ]
    refresh = rng.choice(REFRESHED)
    said = {True: 0, False: 0}
    for _ in range(60):
        process = rng.choice(processes)
        step = rng.random()
        if step < 0.06:
            process.reset(rng.choice([RESEARCH, *users]))
        elif step < 0.12:
            clock[0] += rng.choice([1, 3, 20]) * DAY * 1000
        elif step < 0.16:
            refresh = rng.choice(REFRESHED)
        elif step < 0.22:
            with pytest.raises(Unwritten):
                process.database.commit(lambda batch: _failing(batch, charge((debit(RESEARCH, 1000),), 3)))
        else:
            charges = tuple(
                _random(
                    rng,
                    rng.choice([refresh, refresh, *REFRESHED]),
                    rng.choice(users),
                    rng.choice(sessions),
                    rng.choice(ceilings),
                )
                for _ in range(rng.choice([1, 1, 2, 5]))
            )
            wanted = expected(store, clock[0] // 1000, charges)
            assert process.charge(*charges) == wanted
            for each in wanted:
                said[isinstance(each, dict)] += 1
    assert min(said.values()) > 5


def _random(
    rng: random.Random,
    refresh: CalendarInterval | None,
    user: Account,
    session: Account,
    ceilings: tuple[Account, ...],
) -> Charge:
    limits = {
        AccountKind.SESSION: 40,
        AccountKind.USER: 60,
        AccountKind.BUDGET: 100,
        AccountKind.CEILING: 150,
    }
    own = tuple(debit(a, limits[a.kind], refresh) for a in (session, user, RESEARCH))
    rho = Cost.of(150).rho if rng.random() < 0.3 else None
    people = tuple(replace(debit(a, limits[a.kind]), rho_limit=rho) for a in ceilings)
    delta = rng.choice([Fraction(0), Fraction(1, 10**7)])
    concentrated = rho is not None and rng.random() < 0.2
    return charge(own + people, rng.randrange(1, 12), delta, concentrated=concentrated)


def _failing(batch: Batch, asked: Charge) -> None:
    batch.charge(asked)
    raise OSError("disk I/O error")


# --- readers ---------------------------------------------------------------------------------------------


def test_what_is_read_is_what_the_database_says_whoever_wrote(home: Home, make: Make):
    accounts = [Debit(a) for a in (RESEARCH, ANN, Account.user("research", "bob"), PEOPLE)]
    with home.open() as one, home.open() as other:
        for turn in range(12):
            writer = (one, other, one)[turn % 3]
            reserved = writer.reserve(make(("ann", "bob")[turn % 2]))
            if turn == 7:
                other.reset(Reset("root", RESEARCH, "a new study", "RESET", 1, 1))
            assert spent(one.standings(*accounts)) == spent(other.standings(*accounts)) == read(one, accounts)
            stood = writer.stood(reserved, *accounts)
            assert turn == 7 or spent(stood) == read(one, accounts)


def spent(found: list[Standing]) -> list[Cost]:
    return [one.spent for one in found]


def read(ledger: Ledger, accounts: list[Debit]) -> list[Cost]:
    return ledger.read(lambda connection: spent(standings(Totals(connection), accounts, 0)))


def test_after_a_charge_nothing_is_read_for_what_is_known(
    home: Home, make: Make, monkeypatch: pytest.MonkeyPatch
):
    accounts = [Debit(RESEARCH, 10), Debit(ANN, 8), Debit(Account.budget("another"), 5)]
    with home.open() as ledger:
        ledger.stood(ledger.reserve(make("ann", 2)), *accounts)
        reserved = ledger.reserve(make("ann", 3))
        monkeypatch.setattr(ledger, "read", None)
        assert [s.debit.left(s.spent) for s in ledger.stood(reserved, *accounts)] == [5, 3, 5]
