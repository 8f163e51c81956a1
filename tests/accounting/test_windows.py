"""Windows of budgets, resets and blocks, at the level of one open transaction."""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpproxy.accounting import schema
from dpproxy.accounting.batch import Batch
from dpproxy.accounting.canonical import digest
from dpproxy.accounting.chain import Seals
from dpproxy.accounting.model import Account, Charge, Cost, Debit, Reset
from dpproxy.accounting.totals import Totals
from dpproxy.accounting.windows import DAY, generation, standings
from dpproxy.policy.interval import CalendarInterval, Step
from dpproxy.values.errors import BudgetExceeded

MONTH = CalendarInterval(1, Step.MONTH)
BUDGET, ANN, BOB = (
    Account.budget("research"),
    Account.user("research", "ann"),
    Account.user("research", "bob"),
)
SESSION = Account.session("s", "research")
CEILING = Account.ceiling("people")


def at(text: str) -> int:
    """Microseconds of a moment in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


class World:
    """A ledger's tables and a clock that goes where it is told; limits are 10 for whatever is debited."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.seals = Seals(b"k")
        self.head = self.seals.genesis(b"name", 1)
        self.asked = 0

    def batch(self, clock: str) -> Batch:
        return Batch(self.connection, self.seals, self.head, at(clock))

    def pay(
        self,
        clock: str,
        nano: int,
        *accounts: Account,
        refresh: CalendarInterval | None = MONTH,
        question: object = None,
    ) -> int:
        """Charge the accounts; the entry's number."""
        self.asked += 1
        debits = tuple(Debit(a, 10, refresh=None if a.kind is CEILING.kind else refresh) for a in accounts)
        question = self.asked if question is None else question
        key = digest(str(question))
        charge = Charge("ann", key, 1, 1, "staircase", nano, debits, key, "count on people")
        batch = self.batch(clock)
        found = batch.charge(charge)
        batch.write()
        self.head = batch.head
        return found.sequence

    def reset(self, clock: str, account: Account) -> None:
        batch = self.batch(clock)
        batch.reset(Reset("root", account, "a new study", "RESET", 1, 1))
        batch.write()
        self.head = batch.head

    def spent(self, clock: str, account: Account, refresh: CalendarInterval | None = MONTH) -> int:
        [found] = standings(Totals(self.connection), [Debit(account, refresh=refresh)], self.batch(clock).now)
        return found.spent.nano


@pytest.fixture
def world() -> Iterator[World]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for statement in schema.DDL:
        connection.execute(statement)
    yield World(connection)
    connection.close()


@pytest.mark.parametrize("account", [BUDGET, ANN, SESSION], ids=["budget", "user", "session"])
def test_an_account_refills_on_the_first_of_the_month(world: World, account: Account):
    world.pay("2026-01-05", 6, account)
    world.pay("2026-01-31T23:59:59", 4, account)
    with pytest.raises(BudgetExceeded) as caught:
        world.pay("2026-01-31T23:59:59", 1, account)
    assert str(caught.value.detail).endswith("It refills at 2026-02-01 00:00 UTC.")
    world.pay("2026-02-01", 10, account)
    assert world.spent("2026-02-01", account) == 10
    assert world.spent("2026-03-01", account) == 0


def test_an_account_that_never_refills_says_no_time(world: World):
    world.pay("2026-01-05", 10, BUDGET, refresh=None)
    with pytest.raises(BudgetExceeded) as caught:
        world.pay("2036-01-05", 1, BUDGET, refresh=None)
    assert "refills" not in str(caught.value.detail)


def test_a_clock_set_forward_and_back_gives_nothing_back_and_nothing_twice(world: World):
    world.pay("2026-01-05", 10, BUDGET)
    world.pay("2026-02-05", 10, BUDGET)  # the clock was a month ahead
    for clock in ("2026-01-06", "2025-12-31", "1970-01-01", "2026-02-28"):
        with pytest.raises(BudgetExceeded):
            world.pay(clock, 1, BUDGET)
        assert world.spent(clock, BUDGET) == 10
    world.pay("2026-03-01", 10, BUDGET)


def test_a_refused_charge_does_not_move_the_clock(world: World):
    world.pay("2026-01-05", 10, BUDGET, CEILING)
    with pytest.raises(BudgetExceeded, match="ceiling"):
        world.pay("2030-01-05", 1, BUDGET, CEILING)
    assert world.spent("2026-01-06", BUDGET) == 10


def test_a_ceiling_never_refills(world: World):
    world.pay("2026-01-05", 10, BUDGET, CEILING)
    with pytest.raises(BudgetExceeded, match='the privacy ceiling of "people" has 0 epsilon left'):
        world.pay("2026-02-05", 1, BUDGET, CEILING)


@pytest.mark.parametrize(
    "other",
    [CalendarInterval(1, Step.WEEK), CalendarInterval(3, Step.MONTH), CalendarInterval(40, Step.DAY), None],
)
def test_another_interval_counts_what_was_spent_in_its_own_period(
    world: World, other: CalendarInterval | None
):
    """Whatever the days: the sum is that of the debits since the period began."""
    days = ["2026-01-01", "2026-01-14", "2026-02-02", "2026-02-10", "2026-02-11"]
    for day in days:
        world.pay(day, 1, BUDGET)
    now = at("2026-02-11") // DAY
    first = 0 if other is None else other.period(now)[0]
    assert world.spent("2026-02-11", BUDGET, other) == sum(at(d) // DAY >= first for d in days)
    assert world.spent("2026-02-11", BUDGET, MONTH) == 3


def test_what_was_spent_before_there_was_an_interval_counts_in_none(world: World):
    world.pay("2026-01-05", 7, BUDGET, refresh=None)
    assert world.spent("2026-01-06", BUDGET, MONTH) == 0
    world.pay("2026-01-06", 2, BUDGET, refresh=MONTH)
    assert world.spent("2026-01-07", BUDGET, None) == 9


def test_a_reset_lets_a_budget_with_its_users_and_sessions_begin_anew_and_no_ceiling(world: World):
    world.pay("2026-01-05", 8, BUDGET, ANN, SESSION, CEILING)
    world.reset("2026-01-05", BUDGET)
    assert [world.spent("2026-01-05", a) for a in (BUDGET, ANN, SESSION, CEILING)] == [0, 0, 0, 8]
    world.pay("2026-01-05", 1, BUDGET, ANN, SESSION, CEILING)
    assert [world.spent("2026-01-05", a) for a in (BUDGET, ANN, SESSION, CEILING)] == [1, 1, 1, 9]


def test_a_reset_of_a_user_is_that_users_alone(world: World):
    world.pay("2026-01-05", 3, BUDGET, ANN)
    world.pay("2026-01-05", 3, BUDGET, BOB)
    world.reset("2026-01-05", ANN)
    assert [world.spent("2026-01-05", a) for a in (BUDGET, ANN, BOB)] == [6, 0, 3]


def test_resets_in_any_order_never_bring_an_old_window_back(world: World):
    """After each reset its accounts are empty, whatever was reset and spent before."""
    for target in (ANN, BUDGET, ANN, ANN, BOB, BUDGET, BUDGET, ANN):
        world.pay("2026-01-05", 1, BUDGET, ANN, SESSION)
        world.pay("2026-01-05", 1, BUDGET, BOB)
        before = {a: world.spent("2026-01-05", a) for a in (BUDGET, ANN, BOB, SESSION)}
        world.reset("2026-01-05", target)
        emptied = {BUDGET, ANN, BOB, SESSION} if target is BUDGET else {target}
        for account, spent in before.items():
            assert world.spent("2026-01-05", account) == (0 if account in emptied else spent)


def test_a_reset_and_a_refill_go_together(world: World):
    world.pay("2026-01-05", 5, BUDGET)
    world.reset("2026-01-06", BUDGET)
    world.pay("2026-01-07", 4, BUDGET)
    assert world.spent("2026-01-31", BUDGET) == 4
    assert world.spent("2026-02-01", BUDGET) == 0
    assert world.spent("2026-02-01", BUDGET, None) == 4


def test_who_paid_in_an_earlier_window_has_paid(world: World):
    accounts = (BUDGET, ANN, SESSION, CEILING)
    origin = world.pay("2026-01-05", 4, *accounts, question="q")
    world.reset("2026-01-05", BUDGET)
    key = digest("q")
    again = Charge(
        "ann", key, 1, 1, "staircase", 4, tuple(Debit(a, 10, refresh=MONTH) for a in accounts), key, "x"
    )
    batch = world.batch("2026-02-05")
    assert batch.adopt(origin, again) is None
    theirs = replace(
        again, who="bob", debits=(*again.debits[:1], Debit(BOB, 10, refresh=MONTH), *again.debits[3:])
    )
    adopted = batch.adopt(origin, theirs)
    assert adopted is not None
    assert [p.account.kind for p in adopted.entry.postings] == [BOB.kind]


# --- blocks -----------------------------------------------------------------------------------------


def block(name: str) -> Account:
    return Account.ceiling("people", name)


def test_blocks_of_one_generation_are_paid_by_different_people(world: World):
    for name in ("1:north", "1:south", "1:west"):
        world.pay("2026-01-05", 10, block(name))
    for full in (block("1:north"), CEILING):
        with pytest.raises(BudgetExceeded, match="has 0 epsilon left"):
            world.pay("2026-01-05", 1, full)
    world.pay("2026-01-05", 10, block("1:east"))


def test_what_everybody_paid_every_block_paid(world: World):
    world.pay("2026-01-05", 4, CEILING)
    world.pay("2026-01-05", 3, block("1:north"))
    assert [world.spent("2026-01-05", a) for a in (block("1:north"), block("1:south"), CEILING)] == [7, 4, 7]


def test_a_new_generation_divides_people_anew_so_the_dearest_old_block_counts_for_all(world: World):
    world.pay("2026-01-05", 3, block("1:north"))
    world.pay("2026-01-05", 5, block("1:south"))
    world.pay("2026-01-05", 2, block("2:north"))
    found = [
        world.spent("2026-01-05", a) for a in (block("2:north"), block("2:south"), block("1:north"), CEILING)
    ]
    assert found == [7, 5, 5, 7]


def test_no_person_pays_more_than_the_ceiling_whatever_block_they_are_in(world: World):
    """Every way of being in one block, or none, of each generation, against what the ledger let through."""
    script = [
        ("", 1), ("1:a", 3), ("1:b", 4), ("1:a", 4), ("2:a", 4), ("1:b", 9), ("2:b", 2), ("", 1), ("2:b", 9),
        ("1:a", 2), ("2:a", 1), ("", 2), ("3:c", 1), ("1:c", 7), ("2:c", 3), ("", 1),
    ]  # fmt: skip
    paid: dict[str, int] = {}
    for name, nano in script:
        try:
            world.pay("2026-01-05", nano, block(name))
        except BudgetExceeded:
            continue
        paid[name] = paid.get(name, 0) + nano
    persons = [
        (a, b, c) for a in ("", "1:a", "1:b", "1:c") for b in ("", "2:a", "2:b", "2:c") for c in ("", "3:c")
    ]
    most = max(paid[""] + sum(paid.get(name, 0) for name in person if name) for person in persons)
    assert most <= 10
    assert most == world.spent("2026-01-05", CEILING)
    assert sum(paid.values()) > 10


def test_the_generation_of_a_block():
    assert [generation(b) for b in ("", "3.ab:'north'", "1:a:b")] == ["", "3.ab", "1"]


def test_epsilon_delta_and_rho_are_each_the_dearest(world: World):
    for name, nano, delta in (("1:a", 5, Fraction(1, 9)), ("1:b", 3, Fraction(1, 7))):
        key = digest(name)
        charge = Charge("ann", key, 1, 1, "", nano, (Debit(block(name), 10),), key, "x", delta)
        batch = world.batch("2026-01-05")
        batch.charge(charge)
        batch.write()
        world.head = batch.head
    [everybody] = standings(Totals(world.connection), [Debit(CEILING)], 0)
    assert everybody.spent == Cost(5, Fraction(1, 7), Cost.of(5).rho)
