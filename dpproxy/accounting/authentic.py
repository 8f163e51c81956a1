"""An entry of before the checkpoint is verified when a stored release of it is used: who paid for it, and how much.

Its mac is of the entry, its debits and the mac before, so that nobody without the key can have made it, nor moved it
to another place. What this cannot show is an entry that was dropped: who is missing among the payers pays again.
"""

import threading
from collections.abc import Sequence
from typing import Final

from dpproxy.accounting import book
from dpproxy.accounting.chain import Mismatch, Seals
from dpproxy.accounting.checkpoint import beginning
from dpproxy.accounting.store import Store

_OF: Final = "WHERE e.sequence IN (SELECT sequence FROM debit WHERE origin = ?)"


class Authentic:
    """Entries that were verified, of those up to ``until``; all others were when the ledger was opened."""

    def __init__(self, store: Store, seals: Seals, until: int) -> None:
        self._store = store
        self._seals = seals
        self._until = until
        self._lock = threading.Lock()
        self._verified: set[int] = set()

    def all(self) -> None:
        """The whole ledger was verified."""
        with self._lock:
            self._until = 0
            self._verified.clear()

    def require(self, connection: book.StoreConnection, origins: Sequence[int]) -> None:
        """Have the charges of these numbers verified, and every entry that pays for what they released.

        Errors: Mismatch.
        """
        for origin in origins:
            if origin > self._until or origin in self._verified:
                continue
            self._store.look(connection)
            try:
                self._check(connection, origin)
            except ValueError as error:
                raise Mismatch("a row holds what no ledger writes", origin) from error
            finally:
                connection.rollback()
            with self._lock:
                self._verified.add(origin)

    def _check(self, connection: book.StoreConnection, origin: int) -> None:
        found = list(book.read_entries(connection, _OF, (origin,)))
        if all(entry.sequence != origin for entry, _ in found):
            found += book.read_entries(connection, "WHERE e.sequence = ?", (origin,))
        for entry, mac in found:
            before = self._before(connection, entry.sequence)
            if entry.origin != origin or before is None or self._seals.entry(before, entry) != mac:
                raise Mismatch("an entry was altered", entry.sequence)
        debits = connection.execute("SELECT count(*) FROM debit WHERE origin = ?", (origin,)).fetchone()[0]
        if not found or debits != sum(len(entry.postings) for entry, _ in found):
            raise Mismatch("a debit belongs to no entry", origin)

    def _before(self, connection: book.StoreConnection, sequence: int) -> bytes | None:
        found = book.read_mac(connection, sequence - 1)
        if found is not None:
            return found
        head = book.read_head(connection, self._seals)
        begin = beginning(self._store, connection, self._seals, head).place
        return begin.mac if begin.sequence == sequence - 1 else None
