import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpproxy.accounting import book, schema
from dpproxy.accounting.batch import Batch
from dpproxy.accounting.chain import Seals
from dpproxy.accounting.model import MAX_NANO, NANO, NO_DELTA, Account, AccountKind, Charge, Cost, Debit
from dpproxy.values.errors import BudgetExceeded
from tests.accounting.conftest import spent_of

KINDS = ("session", "user", "budget", "ceiling")


@pytest.fixture
def batch() -> Iterator[Batch]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for statement in schema.DDL:
        connection.execute(statement)
    seals = Seals(b"k")
    yield Batch(connection, seals, seals.genesis(b"name", 1), 1000)
    connection.close()


def spent(batch: Batch) -> dict[AccountKind, int]:
    batch.write()
    rows = batch.connection.execute("SELECT kind, sum(nano) FROM account GROUP BY kind")
    return {AccountKind(kind): nano for kind, nano in rows}


@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_is_exact(batch: Batch, make: Callable[..., Charge], kind: str):
    limits = {kind: 10}
    assert batch.charge(make(nano=9, **limits)).remaining == 1
    with pytest.raises(BudgetExceeded):
        batch.charge(make(nano=2, **limits))
    assert batch.charge(make(nano=1, **limits)).remaining == 0
    with pytest.raises(BudgetExceeded):
        batch.charge(make(nano=1, **limits))
    assert spent(batch) == dict.fromkeys(AccountKind, 10)


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        (dict.fromkeys(KINDS, 1), "this session has"),
        (dict.fromkeys(KINDS[1:], 1), 'user "ann" of privacy budget "research" has'),
        (dict.fromkeys(KINDS[2:], 1), 'privacy budget "research" has'),
        (dict.fromkeys(KINDS[3:], 1), 'the privacy ceiling of "people" has'),
    ],
)
def test_the_first_limit_in_order_is_named(
    batch: Batch, make: Callable[..., Charge], limits: dict[str, int], named: str
):
    with pytest.raises(BudgetExceeded) as caught:
        batch.charge(make(nano=2, **limits))
    assert caught.value.message == f"{named} 0.000000001 epsilon left, the statement asks for 0.000000002"
    assert caught.value.hint is None
    assert spent(batch) == {}


def test_the_hint_is_a_statement_that_fits(batch: Batch, make: Callable[..., Charge]):
    batch.charge(make(nano=NANO // 4, budget=NANO))
    with pytest.raises(BudgetExceeded) as caught:
        batch.charge(make(nano=NANO, budget=NANO))
    assert caught.value.hint == "ask for less: SET dp.epsilon = 0.75"
    batch.charge(make(nano=3 * NANO // 4, budget=NANO))


def test_a_lowered_limit_holds_at_once(batch: Batch, make: Callable[..., Charge]):
    batch.charge(make(nano=5, session=10))
    with pytest.raises(BudgetExceeded, match="this session has 0 epsilon left"):
        batch.charge(make(nano=1, session=3))
    assert batch.charge(make(nano=1, session=6)).remaining == 0


def test_an_account_without_limit_cannot_overflow(batch: Batch, make: Callable[..., Charge]):
    assert batch.charge(make(nano=MAX_NANO)).remaining is None
    with pytest.raises(BudgetExceeded):
        batch.charge(make(nano=1))


def test_the_clock_never_runs_back(batch: Batch, make: Callable[..., Charge]):
    at = batch.charge(make()).entry.at
    batch.write()
    later = Batch(batch.connection, batch.seals, batch.head, at - 500)
    assert later.charge(make()).entry.at == at


def test_adopting_debits_each_account_once_and_the_ceiling_never(batch: Batch, make: Callable[..., Charge]):
    paid = batch.charge(make("ann", 10))
    adopted = batch.adopt(paid.sequence, make("bob", 3))
    assert adopted is not None
    accounts = [(posting.account.kind, posting.nano) for posting in adopted.entry.postings]
    assert accounts == [(AccountKind.SESSION, 10), (AccountKind.USER, 10)]
    assert batch.adopt(paid.sequence, make("bob", 3, login="another")) is None
    assert batch.adopt(paid.sequence, make("ann", 3, login="another")) is None
    assert spent(batch) == {
        AccountKind.CEILING: 10,
        AccountKind.BUDGET: 10,
        AccountKind.USER: 20,
        AccountKind.SESSION: 20,
    }
    batch.write()
    assert len(book.read_payers(batch.connection, [paid.sequence])[paid.sequence]) == 6


def test_another_budget_pays_for_an_adoption_once(batch: Batch, make: Callable[..., Charge]):
    paid = batch.charge(make("ann", 10))
    for who in ("bob", "eve"):
        charge = make(who)
        accounts = {
            AccountKind.BUDGET: Account.budget("students"),
            AccountKind.USER: Account.user("students", who),
        }
        debits = [Debit(accounts.get(d.account.kind, d.account), d.limit) for d in charge.debits]
        assert batch.adopt(paid.sequence, replace(charge, debits=tuple(debits)))
    batch.write()
    assert spent_of(batch.connection, Account.budget("students")).nano == 10
    assert spent_of(batch.connection, Account.ceiling("people")).nano == 10


def test_an_adoption_needs_room_for_the_full_loss(batch: Batch, make: Callable[..., Charge]):
    paid = batch.charge(make("ann", 10))
    with pytest.raises(BudgetExceeded, match=r"asks for 0\.00000001$"):
        batch.adopt(paid.sequence, make("bob", 3, user=9))
    assert batch.adopt(paid.sequence, make("bob", 3, user=10))


@pytest.mark.parametrize("origin", [0, 2, 7])
def test_only_a_charge_of_the_same_release_is_adopted(batch: Batch, make: Callable[..., Charge], origin: int):
    first = batch.charge(make("ann"))
    batch.adopt(first.sequence, make("bob"))
    with pytest.raises(ValueError, match="no such release"):
        batch.adopt(origin, make("eve"))
    with pytest.raises(ValueError, match="no such release"):
        batch.adopt(first.sequence, make("eve", question="another"))


def test_the_first_of_two_answers_stays(batch: Batch, make: Callable[..., Charge]):
    origin = batch.charge(make()).sequence
    for payload in (b"one", b"other"):
        batch.keep(origin, b"key", 1, payload)
    batch.write()
    assert batch.connection.execute("SELECT payload FROM release").fetchall() == [(b"one",)]
    assert batch.kept == len(b"oneother")


LIMIT = Fraction(1, 10**6)


@pytest.mark.parametrize("kind", ["budget", "ceiling"])
def test_a_limit_of_delta_is_exact(batch: Batch, make: Callable[..., Charge], kind: str):
    limits = {kind: LIMIT}
    third = Fraction(1, 3 * 10**6)
    for _ in range(3):
        batch.charge(make(delta=third, delta_limits=limits))
    with pytest.raises(BudgetExceeded):
        batch.charge(make(delta=Fraction(1, 10**30), delta_limits=limits))
    batch.charge(make(nano=7, delta_limits=limits))
    batch.write()
    rows = batch.connection.execute("SELECT DISTINCT nano, delta FROM account").fetchall()
    assert rows == [(10, "1/1000000")]


@pytest.mark.parametrize(
    ("limits", "message", "detail", "hint"),
    [
        (
            {"budget": LIMIT, "ceiling": NO_DELTA},
            'privacy budget "research" has delta 1e-6 left, the statement asks for 0.000333334',
            "Keys that are not public cost delta.",
            "ask for less: SET dp.delta = 1e-6",
        ),
        (
            {"budget": Fraction(1), "ceiling": NO_DELTA},
            'the privacy ceiling of "people" has delta 0 left, the statement asks for 0.000333334',
            "It has no DELTA.",
            "An administrator declares it with DELTA, of the budget and of the ceiling.",
        ),
    ],
)
def test_the_limit_of_delta_that_is_hit_is_named(
    batch: Batch,
    make: Callable[..., Charge],
    limits: dict[str, Fraction],
    message: str,
    detail: str,
    hint: str,
):
    with pytest.raises(BudgetExceeded) as caught:
        batch.charge(make(delta=Fraction(1, 3000), delta_limits=limits))
    assert (caught.value.message, caught.value.detail, caught.value.hint) == (message, detail, hint)
    assert spent(batch) == {}


def test_epsilon_is_named_before_delta_of_one_account(batch: Batch, make: Callable[..., Charge]):
    with pytest.raises(BudgetExceeded, match="epsilon left"):
        batch.charge(make(nano=2, delta=LIMIT, delta_limits={"budget": NO_DELTA}, budget=1))
    with pytest.raises(BudgetExceeded, match="delta 0 left"):
        batch.charge(make(nano=2, delta=LIMIT, delta_limits={"budget": NO_DELTA}, ceiling=1))


def test_a_lowered_limit_of_delta_stops_only_what_costs_delta(batch: Batch, make: Callable[..., Charge]):
    batch.charge(make(delta=LIMIT, delta_limits={"budget": LIMIT}))
    lower = {"budget": LIMIT / 2}
    batch.charge(make(delta_limits=lower))
    with pytest.raises(BudgetExceeded, match="delta 0 left"):
        batch.charge(make(delta=LIMIT / 10, delta_limits=lower))


def test_an_adoption_costs_the_delta_of_its_origin(batch: Batch, make: Callable[..., Charge]):
    first = batch.charge(make("ann", 5, delta=LIMIT))
    adopted = batch.adopt(first.sequence, make("bob", 2, delta=LIMIT / 7))
    assert adopted is not None
    assert adopted.cost == first.cost == Cost.of(5, LIMIT)
    batch.write()
    assert spent_of(batch.connection, Account.user("research", "bob")) == Cost.of(5, LIMIT)
    assert spent_of(batch.connection, Account.ceiling("people")) == Cost.of(5, LIMIT)
    assert batch.adopt(first.sequence, make("bob", 5, delta=LIMIT)) is None
