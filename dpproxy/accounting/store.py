"""The interface of the ledger to a database. Rows are read and written by ``book``, limits checked by ``batch``."""

import sqlite3
import sys
from collections.abc import Sequence
from typing import Protocol

from dpproxy.accounting.book import Row, StoreConnection
from dpproxy.accounting.chain import Seals


def faults(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """The exceptions of databases that cannot be read or written, and ``more``.

    Those of PostgreSQL are included once its driver is loaded, which is when the first server is used.
    """
    driver = sys.modules.get("psycopg")
    return (
        (sqlite3.Error, OSError, *more) if driver is None else (sqlite3.Error, OSError, driver.Error, *more)
    )


class Overtaken(Exception):
    """Another process wrote since; nothing of the transaction was written."""


Address = tuple[str, str]
"""A kind of store and its location, which may contain a password: not for messages."""


class Store(Protocol):
    """A place for one ledger; several processes may have it open.

    Its methods raise ``faults()`` where the database fails, and ``Mismatch`` where the ledger was altered or replaced.
    """

    @property
    def name(self) -> str:
        """The name of the store in messages; never with a password."""

    @property
    def address(self) -> Address:
        """The address by which another process opens it; see ``stores``."""

    @property
    def largest(self) -> int:
        """The most charges in one transaction, which bounds how long other processes wait."""

    @property
    def is_near(self) -> bool:
        """Whether it is on this machine, so that reading it does not wait for a network."""

    @property
    def exists(self) -> bool:
        """Whether there is a ledger."""

    def create(self, seals: Seals) -> None:
        """Create an empty ledger, atomically."""

    def connect(self, *, writing: bool) -> StoreConnection:
        """A connection outside a transaction; for writing, with the settings durability needs."""

    def is_usable(self, connection: StoreConnection) -> bool:
        """After a failure: roll back; returns False where the connection was lost and a new one may work."""

    def is_undone(self, error: Exception) -> bool:
        """Whether a commit that failed so has certainly written nothing."""

    def begin(self, connection: StoreConnection, expected: Row | None = None) -> Row | None:
        """Open a writing transaction; no other process can write until it ends. Returns the head's row.

        A server may return the ``expected`` row unseen: reading and committing raise ``Overtaken`` where it is another.
        """

    def look(self, connection: StoreConnection, *, whole: bool = False) -> None:
        """Open a reading transaction, which sees one state of the database; ``whole`` to read all of it."""

    def check(self, connection: StoreConnection) -> None:
        """Raise ``Mismatch`` where its tables are not those of a ledger."""

    def archived(self, connection: StoreConnection) -> tuple[bytes, bytes] | None:
        """The record of what was archived, and its seal; None where nothing was. See ``archive``."""

    def translated(self, ddl: str) -> str:
        """The definition of a table of ``schema``, for this database."""

    @property
    def guards(self) -> tuple[Sequence[str], Sequence[str]]:
        """Statements that let entries be deleted until the transaction's end, and those that put the guards back."""

    @property
    def checks(self) -> Sequence[str]:
        """Statements, each a transaction, that check what was there before ``guards`` were put back."""

    def copy(self, connection: StoreConnection, target: sqlite3.Connection) -> None:
        """Copy the ledger as it is at one moment into an empty SQLite database."""

    def check_pages(self, connection: StoreConnection) -> None:
        """Raise ``Mismatch`` where the database is damaged; takes as long as reading all of it."""

    def checkpoint(self, connection: StoreConnection) -> None:
        """Checkpoint after many commits; called while no caller waits."""


def first_line(error: BaseException) -> str:
    """The first line of a fault's text, for the operator."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
