"""What the ledger asks of a database, whichever it is: the rows and the rules are those of ``book`` and ``batch``."""

import sqlite3
import sys
from typing import Protocol

from dpproxy.accounting.book import Connection
from dpproxy.accounting.chain import Seals


def faults(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """What a database that cannot be read or written raises, and ``more``.

    A server's faults are among them once its driver is loaded, which is when the first server is used.
    """
    driver = sys.modules.get("psycopg")
    return (
        (sqlite3.Error, OSError, *more) if driver is None else (sqlite3.Error, OSError, driver.Error, *more)
    )


Address = tuple[str, str]
"""A kind of store, and where it is, with what is needed to reach it: not for messages."""


class Store(Protocol):
    """A place for one ledger; several processes may have it open.

    Its methods raise ``faults()`` where the database fails, and ``Mismatch`` where it is not the ledger it was.
    """

    @property
    def name(self) -> str:
        """The name of the store in messages; never with a password."""

    @property
    def address(self) -> Address:
        """What another process opens it by; see ``stores``."""

    @property
    def largest(self) -> int:
        """Charges in one transaction at most: how long other processes wait for it."""

    @property
    def is_near(self) -> bool:
        """Whether it is read from this machine's own memory or disk, which nobody waits for."""

    @property
    def exists(self) -> bool:
        """Whether a ledger was begun here."""

    def create(self, seals: Seals) -> None:
        """Create an empty ledger, atomically."""

    def connect(self, *, writing: bool) -> Connection:
        """A connection outside a transaction; for writing, with the settings durability needs."""

    def is_usable(self, connection: Connection) -> bool:
        """After a failure: False where the connection was lost, and another may do better; ends its transaction."""

    def begin(self, connection: Connection) -> None:
        """Open a writing transaction; no other process writes, nor moves the head, until it ends."""

    def look(self, connection: Connection) -> None:
        """Open a reading transaction: all of it sees one state."""

    def check(self, connection: Connection) -> None:
        """Raise ``Mismatch`` where its tables are not those of a ledger."""

    def check_pages(self, connection: Connection) -> None:
        """Raise ``Mismatch`` where the database is damaged; takes as long as reading all of it."""

    def checkpoint(self, connection: Connection) -> None:
        """Checkpoint after many commits; called when nobody waits for an answer."""


def told(error: BaseException) -> str:
    """The text of a fault on one line, for the operator."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
