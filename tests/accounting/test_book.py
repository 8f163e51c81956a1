import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from dpproxy.accounting import book, schema
from dpproxy.accounting.chain import Mismatch, Seals
from dpproxy.accounting.model import Account, Cost, LedgerEntry, Posting, key_of
from tests.accounting.conftest import spent_of

SEALS = Seals(b"k")


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    for statement in schema.DDL:
        connection.execute(statement)
    yield connection
    connection.close()


@pytest.fixture
def entry() -> Callable[..., LedgerEntry]:
    def build(sequence: int, origin: int, *postings: Posting) -> LedgerEntry:
        fields = (sequence, "charge", 7, "ann", b"s" * 32, 1, 2, "staircase", 3, "0", "0", b"r" * 32)
        return LedgerEntry(*fields, origin, "count", "", postings)

    return build


def test_an_entry_reads_back_as_written(connection: sqlite3.Connection, entry: Callable[..., LedgerEntry]):
    # Debits in an order that is not the table's, and an entry without any.
    first = entry(1, 1, Posting(Account.session("z"), 9, 3), Posting(Account.budget("a"), None, 3))
    second = entry(2, 2)
    book.write_entries(connection, [(first, b"m1")])
    book.write_entries(connection, [(second, b"m2")])
    assert list(book.read_entries(connection)) == [(first, b"m1"), (second, b"m2")]
    assert book.read_entry(connection, 2) == second
    assert book.read_entry(connection, 3) is None
    assert (book.read_mac(connection, 1), book.read_mac(connection, 3)) == (b"m1", None)


def test_many_entries_are_written_in_their_order(
    connection: sqlite3.Connection, entry: Callable[..., LedgerEntry]
):
    """Also a number that makes several statements, the last of one row."""
    accounts = [Account.user("a", str(place)) for place in range(7)]
    entries = [
        (entry(sequence, sequence, *(Posting(a, sequence, 3) for a in accounts[: sequence % 8])), b"m")
        for sequence in range(1, 3 * book._PORTION)
    ]
    book.write_entries(connection, entries)
    assert list(book.read_entries(connection)) == entries


def test_totals_are_told_apart_and_written_over(connection: sqlite3.Connection):
    shared = Account.user("a", "b")
    for nano in (5, 12):
        book.write_totals(connection, {key_of(shared): Cost(nano, Fraction(1, 3), Fraction(2, 7))})
    assert spent_of(connection, shared) == Cost(12, Fraction(1, 3), Fraction(2, 7))
    assert spent_of(connection, Account.budget("a")) == Cost()
    assert spent_of(connection, Account(shared.kind, "a", "b", window=1)) == Cost()


def test_an_account_pays_once_for_a_release(
    connection: sqlite3.Connection, entry: Callable[..., LedgerEntry]
):
    ann, bob = Account.user("b", "ann"), Account.user("b", "bob")
    book.write_entries(connection, [(entry(1, 1, Posting(ann, None, 3)), b"")])
    book.write_entries(connection, [(entry(2, 1, Posting(bob, None, 3)), b"")])
    assert book.read_payers(connection, [1, 2]) == {1: {ann, bob}, 2: set()}
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        book.write_entries(connection, [(entry(3, 1, Posting(ann, None, 3)), b"")])


def test_the_head_must_be_there_and_sealed(connection: sqlite3.Connection):
    with pytest.raises(Mismatch, match="missing"):
        book.read_head(connection, SEALS)
    head = SEALS.genesis(b"name", 1)
    book.write_head(connection, SEALS, head)
    assert book.read_head(connection, SEALS) == head
    with pytest.raises(Mismatch, match="not sealed"):
        book.read_head(connection, Seals(b"other"))
