"""The writing connection: transactions that are on the disk when they return, or did not happen."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from dpproxy.accounting import book, schema
from dpproxy.accounting.batch import Batch
from dpproxy.accounting.chain import Head, Mismatch, Seals

T = TypeVar("T")

CHECKPOINT_BYTES = 4 * 2**20
"""Estimated size at which the log is moved into the file."""
COMMIT_BYTES = 32 * 2**10
"""What a commit adds to the log, payloads aside: some eight pages."""


class Unwritten(Exception):
    """The transaction failed; after a fault of the disk it may still turn up: charged, never answered."""


class Database:
    """Owns the writing connection; for one thread at a time.

    Nothing it knows outlives a transaction that failed: it opens the file anew and reads the head from it.

    Args:
        head: where the chain stood when it was verified.
        clock: nanoseconds since 1970.

    Errors: sqlite3.Error or OSError where the file cannot be written, before anybody is served.
    """

    def __init__(self, path: Path, seals: Seals, head: Head, clock: Callable[[], int]) -> None:
        self._path = path
        self._seals = seals
        self._head = head
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)
        self._logged = 0
        self._check_writable()

    def commit(self, fill: Callable[[Batch], T]) -> T:
        """One transaction around ``fill``; its result once that is on the disk.

        Errors: Unwritten; what ``fill`` raised, nothing of it written.
        """
        try:
            connection = self._connect()
            connection.execute("BEGIN IMMEDIATE")
            before = self._read_head(connection)
            batch = Batch(connection, self._seals, before, self._clock() // 1000)
            result = fill(batch)
            if batch.head != before:
                book.write_head(connection, self._seals, batch.head)
            connection.execute("COMMIT")
        except (sqlite3.Error, OSError, Mismatch) as error:
            self.close()
            raise Unwritten from error
        self._head = batch.head
        self._logged += COMMIT_BYTES + batch.kept
        return result

    def checkpoint(self) -> None:
        """Move the log into the file when it is long; to be called when nobody waits for an answer."""
        if self._connection is not None and self._logged >= CHECKPOINT_BYTES:
            self._logged = 0
            # PASSIVE waits for no reader and keeps the log's blocks, which the next commits write over.
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        """Drop the connection and whatever it had not committed; the next transaction opens another."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.rollback()
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _read_head(self, connection: sqlite3.Connection) -> Head:
        """The head in the file: the one last committed here, or one that extends it."""
        head = book.read_head(connection, self._seals)
        if head != self._head:
            known = self._head
            reached = book.read_mac(connection, known.sequence) if known.sequence else known.mac
            if (head.ledger, reached) != (known.ledger, known.mac) or head.sequence < known.sequence:
                raise Mismatch("it is not the ledger that was opened")
        return head

    def _connect(self) -> sqlite3.Connection:
        """The connection, opened anew after a failure; the file must still be there under its name."""
        stat = os.stat(self._path)
        if self._connection is None:
            self._connection = schema.connect(self._path, writing=True)
            self._identity = (stat.st_dev, stat.st_ino)
        elif self._identity != (stat.st_dev, stat.st_ino):
            raise Mismatch("the file was replaced")
        return self._connection

    def _check_writable(self) -> None:
        connection = self._connect()
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE head SET sequence = sequence")
            connection.execute("COMMIT")
        except sqlite3.Error:
            self.close()
            raise
