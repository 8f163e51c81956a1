"""Whether a ledger is what its key wrote: tables, chain, totals, stored releases, and not less than its mark."""

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction

from dpproxy.accounting import book, older, schema
from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.mark import Mark, Missing
from dpproxy.accounting.model import Entry, Key, key_of
from dpproxy.accounting.store import Store

Sums = dict[Key, tuple[int, Fraction, Fraction]]
"""Nano-epsilon, delta and rho by account."""

PAGE = 10_000
"""Entries read at a time."""


def verify(store: Store, seals: Seals, mark: Mark | None) -> Head:
    """The head, after every row was checked, and that the ledger goes as far as its mark.

    A ledger without an entry may be without its mark.

    Errors: Mismatch for the first thing that is wrong; ``faults()`` where it cannot be read.
    """
    marked, missing = None, None
    if mark is not None:
        try:
            # Read first: another process may move both on meanwhile, the ledger before the mark.
            marked = mark.read()
        except Missing as error:
            missing = error
    with closing(store.connect(writing=False)) as connection:
        store.look(connection)
        head = _verify(store, connection, seals)
        if marked is not None:
            _check_mark(connection, head, marked)
    if missing is not None and head.sequence:
        raise missing
    return head


def _verify(store: Store, connection: book.Connection, seals: Seals) -> Head:
    try:
        store.check(connection)
        head = book.read_head(connection, seals)
        if head.format != schema.FORMAT:
            raise Mismatch(f"its format is {head.format}, this version reads {schema.FORMAT}")
        _check_totals(connection, *_check_chain(connection, seals, head))
        _check_releases(connection, seals)
    except ValueError as error:
        raise Mismatch("a row holds what no ledger writes") from error
    return head


def _check_mark(connection: book.Connection, head: Head, marked: Head) -> None:
    if marked.ledger != head.ledger:
        raise Mismatch("its high-water mark is of another ledger")
    if marked.sequence > head.sequence:
        raise Mismatch(
            f"it was rolled back: it ends at entry {head.sequence}, its high-water mark stands at {marked.sequence}"
        )
    if marked.sequence and book.read_mac(connection, marked.sequence) != marked.mac:
        raise Mismatch(
            "it was rolled back and continued: its high-water mark knows another entry", marked.sequence
        )


def entries(connection: book.Connection) -> Iterator[tuple[Entry, bytes]]:
    """All entries in order, not all of them in memory; a gap longer than a page ends them."""
    after = 0
    while True:
        page = list(
            book.read_entries(connection, "WHERE e.sequence > ? AND e.sequence <= ?", (after, after + PAGE))
        )
        if not page:
            return
        yield from page
        after = page[-1][0].sequence


def _check_chain(connection: book.Connection, seals: Seals, head: Head) -> tuple[Sums, dict[Key, Fraction]]:
    """Walk the chain from the first entry to the head; returns the sums by account, and what they lack of rho."""
    mac, sequence, at, debits = seals.genesis(head.ledger, head.format).mac, 0, 0, 0
    sums: Sums = {}
    lacking: dict[Key, Fraction] = {}
    for entry, stored in entries(connection):
        sequence += 1
        mac = seals.entry(mac, entry)
        if entry.sequence != sequence or mac != stored or entry.at < at:
            raise Mismatch("the chain is broken", sequence)
        at = entry.at
        debits += len(entry.postings)
        for posting in entry.postings:
            key = key_of(posting.account)
            nano, delta, rho = sums.get(key, (0, _ZERO, _ZERO))
            sums[key] = nano + posting.nano, _plus(delta, posting.delta), _plus(rho, posting.rho)
            if more := older.missing(posting.nano, posting.rho):
                lacking[key] = lacking.get(key, _ZERO) + more
    if (sequence, mac, at) != (head.sequence, head.mac, head.at):
        raise Mismatch("entries are missing at its end", sequence + 1)
    if connection.execute("SELECT count(*) FROM entry").fetchone() != (sequence,):
        raise Mismatch("entries stand beyond its end", sequence + 1)
    if connection.execute("SELECT count(*) FROM debit").fetchone() != (debits,):
        raise Mismatch("a debit belongs to no entry")
    return sums, lacking


_ZERO = Fraction(0)


def _plus(total: Fraction, text: str) -> Fraction:
    return total if text == "0" else total + Fraction(text)


def _check_totals(connection: book.Connection, sums: Sums, lacking: dict[Key, Fraction]) -> None:
    """A ledger with entries of before rho was recorded has its totals completed when it is opened to be written."""
    rows = connection.execute('SELECT kind, name, member, block, "window", nano, delta, rho FROM account')
    totals = {row[:5]: (row[5], _plus(_ZERO, row[6]), _plus(_ZERO, row[7])) for row in rows}
    completed = sums | {key: (*sums[key][:2], sums[key][2] + rho) for key, rho in lacking.items()}
    if totals not in (completed, sums):
        raise Mismatch("the accounts are not the sums of their debits")


def _check_releases(connection: book.Connection, seals: Seals) -> None:
    for origin, key, nano, payload, mac in connection.execute(
        "SELECT origin, key, nano, payload, mac FROM release"
    ):
        if seals.release(origin, key, nano, payload) != mac:
            raise Mismatch("a stored release was altered", origin)
