"""The writing connection: transactions that are on the disk when they return, or did not happen."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

from dpproxy.accounting import book
from dpproxy.accounting.batch import Batch, Charged
from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.checkpoint import beginning
from dpproxy.accounting.mark import Mark, Missing
from dpproxy.accounting.model import EntryKind
from dpproxy.accounting.store import Overtaken, Store, faults
from dpproxy.accounting.totals import TotalsCache
from dpproxy.values.errors import StartupError

T = TypeVar("T")

CHECKPOINT_BYTES = 4 * 2**20
"""Estimated bytes in the write-ahead log from which it is checkpointed."""
ALONE = 3
"""Commits without one of another process, after which the head is expected to be as this process left it."""
RECENT = 1024
"""The most charges of other processes that are looked at after each of their commits, and remembered in all."""
COMMIT_BYTES = 32 * 2**10
"""Estimated bytes that a commit adds to the log, without payloads: about eight pages."""


class Unwritten(Exception):
    """The transaction failed, or moving the high-water mark after it did.

    Its entries may be in the ledger all the same; then they stay charged although nothing was answered.

    Attributes:
        again: whether a second attempt cannot charge twice.
    """

    def __init__(self, *, again: bool = True) -> None:
        super().__init__()
        self.again = again


class Lost(Exception):
    """The connection was lost; where that was during a commit of entries, the ledger may have those of ``batch``."""

    def __init__(self, batch: Batch | None, result: object) -> None:
        super().__init__()
        self.batch = batch
        self.result = result


class LedgerDatabase:
    """Owns the writing connection; for one thread at a time.

    Other processes may write to the same ledger, so each transaction reads the head again and uses remembered totals
    only if they belong to that head. A failed transaction discards all remembered totals.

    Args:
        head: the end of the chain when it was verified.
        mark: the high-water mark, if any; it is moved after each commit, before ``commit`` returns.
        clock: returns nanoseconds since 1970.

    Errors: ``faults()`` if the ledger cannot be written; tested here, before anybody is served.
    """

    def __init__(
        self, store: Store, seals: Seals, head: Head, mark: Mark | None, clock: Callable[[], int]
    ) -> None:
        self._store = store
        self._seals = seals
        self.head = head
        """The end of the chain as it was last committed here."""
        self.altered: str | None = None
        """Why nothing is written any more."""
        self._mark = mark
        self._clock = clock
        self.known = TotalsCache()
        self._charged: Charged = {}
        self._connection: book.StoreConnection | None = None
        self._is_marked = True
        self._alone = 0
        """Commits since another process wrote."""
        self._logged = 0
        self._doubtful: list[tuple[Head, list[int]]] = []
        """Ends of batches that were refused and may be in the ledger all the same, and their charges."""
        self._check_writable()

    @property
    def owes(self) -> bool:
        """Whether the next commit may have to tell that nothing is released under a charge that was refused."""
        return bool(self._doubtful)

    @property
    def largest(self) -> int:
        """The most charges in one transaction."""
        return self._store.largest

    def commit(self, fill: Callable[[Batch], T]) -> T:
        """Run ``fill`` in one transaction; returns its result once the commit and the moved mark are on the disk.

        Errors: Unwritten; and whatever ``fill`` raises, in which case nothing is written.
        """
        if self.altered is not None:
            raise Unwritten(again=False) from Mismatch(self.altered)
        if not self._is_marked:  # else this would charge for statements that then cannot be answered
            self._follow(self.head, again=True)
        lost: Lost | None = None
        while True:
            try:
                return self._commit(fill, lost)
            except Overtaken:  # the head is not expected to be a known one again
                continue
            except Lost as found:
                if lost is not None:
                    raise Unwritten(again=False) from found.__cause__
                lost = found

    def _commit(self, fill: Callable[[Batch], T], lost: Lost | None) -> T:
        """One attempt; where the connection was ``lost`` in the last one, first see whether that was written."""
        attempt: Lost | None = None
        alone = self._alone
        self._alone = 0  # unless this goes well
        try:
            connection, row = self._begin(book.row_of(self.head, self._seals) if alone >= ALONE else None)
            before = self._head(connection, row)
            alone = alone + 1 if before == self.head else 0
            self._check_mark(connection, before)
            # No other process can have written the same entries: each names a session, by a random number.
            if lost is not None and lost.batch is not None and self._has(connection, lost.batch.head):
                batch, result = lost.batch, cast("T", lost.result)
                connection.rollback()
            else:
                batch, result = self._filled(fill, connection, before)
                attempt = Lost(batch if batch.head != before else None, result)
                connection.commit()
        except faults(Mismatch) as error:
            self.known.forget()
            is_lost = self._connection is not None and not self._store.is_usable(self._connection)
            self.close()
            if is_lost:
                raise attempt or Lost(None, None) from error
            # A server may have committed before the connection was lost.
            is_undone = attempt is None or self._store.is_undone(error)
            if is_undone and attempt is not None and attempt.batch is not None:
                self._doubtful.pop()
            again = lost is None and is_undone
            raise Unwritten(again=again) from error
        except Overtaken:  # it was rolled back
            raise
        except BaseException:  # the next transaction must not take it along
            self.known.forget()
            self.close()
            raise
        self._alone = alone
        is_further, self.head = batch.head != self.head, batch.head
        batch.totals.publish(self.known, batch.head)
        self._remember(batch.charged)
        self._logged += COMMIT_BYTES + batch.kept
        if is_further:
            self._follow(batch.head, again=False)
        self._doubtful.clear()
        return result

    def _filled(
        self, fill: Callable[[Batch], T], connection: book.StoreConnection, before: Head
    ) -> tuple[Batch, T]:
        """A batch that is written and not committed, and what ``fill`` returned."""
        now = self._clock() // 1000
        batch = Batch(connection, self._seals, before, now, self.known, self._charged)
        for end, charges in self._doubtful:
            for origin in charges if self._has(connection, end) else ():
                batch.keep(origin, b"", 0, b"")
        result = fill(batch)
        batch.write()
        if batch.head != before:
            book.write_head(connection, self._seals, batch.head)
            self._doubtful.append((batch.head, [origin for origin, _ in batch.charged.values()]))
        return batch, result

    def checkpoint(self) -> None:
        """Checkpoint the log if it has grown; call it when nobody waits for an answer."""
        if self._connection is not None and self._logged >= CHECKPOINT_BYTES:
            self._logged = 0
            self._store.checkpoint(self._connection)

    def close(self) -> None:
        """Roll back and close the connection; the next transaction opens another."""
        if self._connection is not None:
            with suppress(*faults()):
                self._connection.rollback()
            with suppress(*faults()):
                self._connection.close()
            self._connection = None

    def _follow(self, head: Head, *, again: bool) -> None:
        """Move the mark up to the head. Raises Unwritten; until a later move succeeds nothing more is charged."""
        if self._mark is None:
            return
        self._is_marked = False
        try:
            self._mark.advance(head)
        except (StartupError, Mismatch) as error:
            raise Unwritten(again=again) from error
        self._is_marked = True

    def _head(self, connection: book.StoreConnection, row: book.Row | None) -> Head:
        """The head in the database. Raises Mismatch unless its chain contains the head last committed here.

        What other processes have written since is added to what is remembered.
        """
        head, known = book.head_of(row, self._seals), self.head
        if head == known:
            return head
        after = max(known.sequence, head.sequence - RECENT)
        try:
            since = list(book.read_entries(connection, "WHERE e.sequence >= ?", (after,)))
        except ValueError as error:
            raise Mismatch("an entry cannot be read") from error
        reached = not known.sequence or any(
            mac == known.mac for entry, mac in since if entry.sequence == known.sequence
        )
        reached = reached or self._has_left(connection, known, head)
        if not reached or head.ledger != known.ledger or head.sequence < known.sequence:
            raise Mismatch("it is not the ledger that was opened")
        new = [entry for entry, _ in since if entry.sequence > known.sequence]
        if len(new) == head.sequence - known.sequence:
            self.known.follow(known, head, new)
        charged = [entry for entry in new if entry.kind == EntryKind.CHARGE.value]
        self._remember({(entry.release, entry.nano): (entry.sequence, entry.at) for entry in charged})
        return head

    def _has_left(self, connection: book.StoreConnection, known: Head, head: Head) -> bool:
        """Whether an entry that is not among the last ones is in the ledger, or was archived meanwhile."""
        if self._has(connection, known):
            return True
        # The seal of the record says so.
        return beginning(self._store, connection, self._seals, head).place.sequence >= known.sequence

    @staticmethod
    def _has(connection: book.StoreConnection, head: Head) -> bool:
        """Whether the chain in the database contains a head."""
        return not head.sequence or book.read_mac(connection, head.sequence) == head.mac

    def _remember(self, charged: Charged) -> None:
        self._charged |= charged
        while len(self._charged) > RECENT:
            del self._charged[next(iter(self._charged))]

    def _check_mark(self, connection: book.StoreConnection, head: Head) -> None:
        """Raise Mismatch if the mark is no entry of this ledger, as when a copy used elsewhere moved it."""
        if self._mark is None:
            return
        try:
            marked = self._mark.read()
        except (StartupError, Missing):
            return  # reported when the mark is moved
        # Read first: where another process wrote, so is the head.
        if marked != head and (not self._has(connection, marked) or marked.sequence > head.sequence):
            raise Mismatch("its high-water mark is that of a copy")

    def _connect(self) -> book.StoreConnection:
        """The open connection, or a new one after a failure."""
        if self._connection is None:
            self._connection = self._store.connect(writing=True)
        return self._connection

    def _begin(self, expected: book.Row | None = None) -> tuple[book.StoreConnection, book.Row | None]:
        """Begin a writing transaction."""
        connection = self._connect()
        return connection, self._store.begin(connection, expected)

    def _check_writable(self) -> None:
        try:
            connection, _ = self._begin()
            connection.execute("UPDATE head SET sequence = sequence")
            connection.commit()
        except faults():
            self.close()
            raise
