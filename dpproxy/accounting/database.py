"""The writing connection: transactions that are on the disk when they return, or did not happen."""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from dpproxy.accounting import book
from dpproxy.accounting.batch import Batch
from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.mark import Mark, Missing
from dpproxy.accounting.store import Store, faults
from dpproxy.accounting.totals import Known
from dpproxy.values.errors import StartupError

T = TypeVar("T")

CHECKPOINT_BYTES = 4 * 2**20
"""Estimated size at which a log is moved into the file."""
COMMIT_BYTES = 32 * 2**10
"""What a commit adds to the log, payloads aside: some eight pages."""


class Unwritten(Exception):
    """The transaction failed, or what shall follow it did; it may still turn up: charged, never answered.

    Attributes:
        again: whether it may be tried once more without the danger of charging twice.
    """

    def __init__(self, *, again: bool = True) -> None:
        super().__init__()
        self.again = again


class Database:
    """Owns the writing connection; for one thread at a time.

    Other processes may write the same ledger: the head is read anew inside each transaction, and what is known of
    accounts is used where it is the head that it was known for. Nothing of it outlives a transaction that failed.

    Args:
        head: where the chain stood when it was verified.
        mark: the high-water mark, where there is one; it follows each commit before anybody is told.
        clock: nanoseconds since 1970.

    Errors: ``faults()`` where the ledger cannot be written, before anybody is served.
    """

    def __init__(
        self, store: Store, seals: Seals, head: Head, mark: Mark | None, clock: Callable[[], int]
    ) -> None:
        self._store = store
        self._seals = seals
        self._head = head
        self._mark = mark
        self._clock = clock
        self.known = Known()
        self._connection: book.Connection | None = None
        self._is_marked = True
        self._logged = 0
        self._check_writable()

    @property
    def largest(self) -> int:
        """Charges in one transaction at most."""
        return self._store.largest

    def commit(self, fill: Callable[[Batch], T]) -> T:
        """One transaction around ``fill``; its result once that is on the disk, and the mark behind it.

        Errors: Unwritten; what ``fill`` raised, nothing of it written.
        """
        if not self._is_marked:  # charging what then cannot be answered helps nobody
            self._follow(self._head, again=True)
        ending = False
        try:
            connection = self._begin()
            before = self._read_head(connection)
            self._check_mark(connection, before)
            batch = Batch(connection, self._seals, before, self._clock() // 1000, self.known)
            result = fill(batch)
            batch.write()
            if batch.head != before:
                book.write_head(connection, self._seals, batch.head)
            ending = True
            connection.commit()
        except faults(Mismatch) as error:
            self.known.forget()
            self.close()
            # A file that could not be written holds nothing; a server may have committed before it was lost.
            raise Unwritten(again=not ending or isinstance(error, sqlite3.Error)) from error
        self._head = batch.head
        batch.totals.publish(self.known, batch.head)
        self._logged += COMMIT_BYTES + batch.kept
        if batch.head != before:
            self._follow(batch.head, again=False)
        return result

    def checkpoint(self) -> None:
        """Tidy up now and then; to be called when nobody waits for an answer."""
        if self._connection is not None and self._logged >= CHECKPOINT_BYTES:
            self._logged = 0
            self._store.checkpoint(self._connection)

    def close(self) -> None:
        """Drop the connection and whatever it had not committed; the next transaction opens another."""
        if self._connection is not None:
            with suppress(*faults()):
                self._connection.rollback()
            with suppress(*faults()):
                self._connection.close()
            self._connection = None

    def _follow(self, head: Head, *, again: bool) -> None:
        """Move the mark up to the head. Errors: Unwritten; until it can be moved nothing more is charged."""
        if self._mark is None:
            return
        self._is_marked = False
        try:
            self._mark.advance(head)
        except (StartupError, Mismatch) as error:
            raise Unwritten(again=again) from error
        self._is_marked = True

    def _read_head(self, connection: book.Connection) -> Head:
        """The head in the database: the one last committed here, or one that extends it."""
        head = book.read_head(connection, self._seals)
        if head != self._head:
            known = self._head
            reached = book.read_mac(connection, known.sequence) if known.sequence else known.mac
            if (head.ledger, reached) != (known.ledger, known.mac) or head.sequence < known.sequence:
                raise Mismatch("it is not the ledger that was opened")
        return head

    def _check_mark(self, connection: book.Connection, head: Head) -> None:
        """See that the mark is an entry of this ledger: a copy of it that is used elsewhere has moved it on."""
        if self._mark is None:
            return
        try:
            marked = self._mark.read()
        except (StartupError, Missing):
            return  # said when it is moved
        if marked != head:
            reached = book.read_mac(connection, marked.sequence) if marked.sequence else marked.mac
            if marked.sequence > head.sequence or reached != marked.mac:
                raise Mismatch("its high-water mark is that of a copy")

    def _connect(self) -> book.Connection:
        """The connection, opened anew after a failure."""
        if self._connection is None:
            self._connection = self._store.connect(writing=True)
        return self._connection

    def _begin(self) -> book.Connection:
        """A writing transaction; over another connection where this one was lost meanwhile."""
        connection = self._connect()
        try:
            self._store.begin(connection)
        except faults():
            if self._store.is_usable(connection):
                raise
            self.close()
            connection = self._connect()
            self._store.begin(connection)
        return connection

    def _check_writable(self) -> None:
        try:
            connection = self._begin()
            connection.execute("UPDATE head SET sequence = sequence")
            connection.commit()
        except faults():
            self.close()
            raise
