"""Whether a ledger is what its key wrote: tables, chain, totals, stored releases, and not less than its mark.

From a checkpoint on only what was written since is verified, with the totals that limits are checked against. Then an
entry of before it is verified when it is used (`authentic`), and all of them in the background (`background`).
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Final

from msgspec import Struct

from dpproxy.accounting import book, schema
from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.checkpoint import Checkpoint, beginning
from dpproxy.accounting.mark import Mark, Missing
from dpproxy.accounting.model import AccountKind, Key
from dpproxy.accounting.store import Store
from dpproxy.accounting.walk import ChainPlace, Paid, Segment, Sums, check_releases, walk

Walking = Callable[[book.StoreConnection, ChainPlace, int], Segment]
"""Checks the pages of the store, all entries from a place on up to a number, and all stored releases."""

_FIRST: Final = -(2**63)
"""No row has a lower number."""
_KEY: Final = 'kind, name, member, block, "window"'
_TOTALS: Final = f"SELECT {_KEY}, nano, delta, rho FROM account"  # noqa: S608 - our own text
_LASTING: Final = f"{_TOTALS} WHERE kind IN (?, ?, ?)"
_KINDS: Final = tuple(kind.column for kind in AccountKind if kind is not AccountKind.SESSION)


class Verification(Struct, frozen=True):
    """What was found in a ledger that verifies.

    Attributes:
        begin: the number of the entry after which everything was verified; 0 for all of it.
        walked: what was walked along, with what accounts have paid, but for sessions where ``begin`` is not 0.
    """

    head: Head
    begin: int
    walked: Segment

    @property
    def sums(self) -> Sums:
        """What accounts have paid, but for sessions, as a checkpoint has it."""
        return {key: paid.cost for key, paid in self.walked.paid.items() if key[0] in _KINDS}


def verify(
    store: Store,
    seals: Seals,
    mark: Mark | None,
    since: Checkpoint | None = None,
    walking: Walking | None = None,
) -> Verification:
    """Check every row, or every row after a checkpoint that fits; and that the ledger goes as far as its mark.

    A ledger without an entry may be without its mark. ``since`` must have been read before this is called.

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
        store.look(connection, whole=True)
        try:
            head = _head(store, connection, seals)
            if since is not None and _fits(connection, since, head if mark is None else marked, head):
                found = _since(connection, seals, head, since)
            else:
                begin = beginning(store, connection, seals, head)
                found = _whole(connection, head, begin, walking or _alone(store, seals))
        except (TypeError, ValueError) as error:
            raise Mismatch("a row holds what no ledger writes") from error
        if marked is not None:
            _check_mark(connection, head, marked)
    if missing is not None and head.sequence:
        raise missing
    return found


def _head(store: Store, connection: book.StoreConnection, seals: Seals) -> Head:
    store.check(connection)
    head = book.read_head(connection, seals)
    if head.format != schema.FORMAT:
        raise Mismatch(f"its format is {head.format}, this version reads {schema.FORMAT}")
    return head


def _check_mark(connection: book.StoreConnection, head: Head, marked: Head) -> None:
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


def _fits(connection: book.StoreConnection, since: Checkpoint, marked: Head | None, head: Head) -> bool:
    """Whether the checkpoint is of this chain, and not beyond what the mark vouches for."""
    place = since.place
    return (
        since.ledger == head.ledger
        and 0 < place.sequence <= head.sequence
        and (marked is not None and place.sequence <= marked.sequence)
        and book.read_mac(connection, place.sequence) == place.mac
    )


def _alone(store: Store, seals: Seals) -> Walking:
    """A walk along the whole chain by this process."""

    def walking(connection: book.StoreConnection, begin: ChainPlace, until: int) -> Segment:
        store.check_pages(connection)
        check_releases(connection, seals, _FIRST, 2**63 - 1)
        return walk(connection, seals, begin, until)

    return walking


def _whole(connection: book.StoreConnection, head: Head, begin: Checkpoint, walking: Walking) -> Verification:
    walked = walking(connection, begin.place, head.sequence)
    _check_end(connection, head, walked, _FIRST, walked.debits)
    walked.include(begin.sums)
    _check_totals(connection, _TOTALS, (), walked.paid)
    return Verification(head, 0, walked)


def _since(connection: book.StoreConnection, seals: Seals, head: Head, since: Checkpoint) -> Verification:
    begin = since.place
    walked = walk(connection, seals, begin, head.sequence)
    _check_end(connection, head, walked, begin.sequence + 1, walked.debits - walked.late)
    walked.include(since.sums)
    lasting = {key: paid for key, paid in walked.paid.items() if key[0] in _KINDS}
    _check_totals(connection, _LASTING, _KINDS, lasting)
    return Verification(head, begin.sequence, walked)


def _check_end(
    connection: book.StoreConnection, head: Head, walked: Segment, first: int, debits: int
) -> None:
    """That the chain ends at the head, and that there is nothing else from ``first`` on."""
    end = walked.end
    if (end.sequence, end.mac, end.at) != (head.sequence, head.mac, head.at):
        raise Mismatch("entries are missing at its end", end.sequence + 1)
    if (
        _count(connection, "SELECT count(*) FROM entry WHERE sequence >= ?", first)
        != end.sequence - walked.begin
    ):
        raise Mismatch("entries stand beyond its end", end.sequence + 1)
    if _count(connection, "SELECT count(*) FROM debit WHERE origin >= ?", first) != debits:
        raise Mismatch("a debit belongs to no entry")


def _count(connection: book.StoreConnection, sql: str, first: int) -> int:
    return int(connection.execute(sql, (first,)).fetchone()[0])


def _check_totals(
    connection: book.StoreConnection, sql: str, values: Sequence[str], paid: Mapping[Key, Paid]
) -> None:
    if {row[:5]: Paid.told(*row[5:]) for row in connection.execute(sql, values)} != paid:
        raise Mismatch("the accounts are not the sums of their debits")
