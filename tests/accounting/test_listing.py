from collections.abc import Callable

import pytest

from dpproxy.accounting import listing
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.listing import EntryFilter, pages
from dpproxy.accounting.model import Account, Charge, Reset
from tests.accounting.conftest import Home


@pytest.fixture
def ledger(home: Home, make: Callable[..., Charge], monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Nine charges by ann and bob in turn, and a reset."""
    monkeypatch.setattr(listing, "FIRST", 2)
    monkeypatch.setattr(listing, "LARGEST", 4)
    with home.open() as opened:
        for number in range(9):
            opened.reserve(make("bob" if number % 2 else "ann", number + 1, question=str(number)))
        opened.reset(Reset("root", Account.user("research", "ann"), "why", "what", 1, 1))
    return home.open()


def numbers(ledger: Ledger, listed: EntryFilter) -> list[int]:
    with ledger:
        return [line[0] for page in pages(ledger, listed) for line in page]


def test_all_are_listed_in_either_order(ledger: Ledger):
    assert numbers(ledger, EntryFilter()) == list(range(1, 11))


def test_the_last_comes_first_where_it_is_asked_for(ledger: Ledger):
    assert numbers(ledger, EntryFilter(is_descending=True)) == list(range(10, 0, -1))


@pytest.mark.parametrize(
    ("listed", "expected"),
    [(EntryFilter("bob"), [1, 2, 3, 4]), (EntryFilter("bob", is_descending=True), [4, 3, 2, 1])],
)
def test_those_of_one_user_are_numbered_without_gaps(
    ledger: Ledger, listed: EntryFilter, expected: list[int]
):
    assert numbers(ledger, listed) == expected


def test_conditions_are_the_ledgers(ledger: Ledger):
    assert numbers(ledger, EntryFilter(None, (("who = ?", "bob"), ("sequence >= ?", 4)))) == [4, 6, 8]


def test_a_line_has_what_the_entry_says(ledger: Ledger):
    with ledger:
        *_, reset = (line for page in pages(ledger, EntryFilter()) for line in page)
        [entry] = [entry for entry in ledger.entries() if entry.kind == "reset"]
        first = next(pages(ledger, EntryFilter()))[0]
        charge = ledger.entries()[0]
    assert reset[:4] == (10, entry.at, "root", "reset")
    assert reset[9:] == ("research", None, 1, 1, "why")
    assert first == (
        1, charge.at, "ann", "charge", "count on people", 1, "0", charge.rho, "staircase", "research", "people", 3, 1,
        "",
    )  # fmt: skip


def test_only_as_many_pages_are_read_as_are_wanted(ledger: Ledger):
    with ledger:
        found = pages(ledger, EntryFilter())
        assert len(next(found)) == 2
        assert len(next(found)) == 4


def test_what_is_written_meanwhile_is_not_listed(ledger: Ledger, make: Callable[..., Charge]):
    with ledger:
        found = pages(ledger, EntryFilter())
        next(found)
        ledger.reserve(make(question="more"))
        assert [line[0] for page in found for line in page] == list(range(3, 11))
