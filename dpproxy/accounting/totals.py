"""What accounts have paid: read from the ledger once, then updated with each entry that this process writes.

Totals are valid for one head of the ledger. Remembered totals are used only after that head was read from the database,
for a writer inside its transaction; if the head differs, another process wrote and the remembered totals are ignored.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from msgspec import Struct

from dpproxy.accounting import book
from dpproxy.accounting.book import StoreConnection
from dpproxy.accounting.chain import Head
from dpproxy.accounting.model import (
    Account,
    AccountKind,
    Cost,
    EntryKind,
    Key,
    LedgerEntry,
    Own,
    key_of,
)

MOST = 100
"""The most accounts in one statement: databases limit a UNION to some hundred parts."""
REMEMBERED = 4096
"""The most accounts whose totals are remembered, each with all its blocks and windows."""
_NEVER = 2**63
"""After every window."""
_NOTHING = Cost()
_CEILING = AccountKind.CEILING.column
_OWN = "kind = ? AND name = ? AND member = ?"
_LAST, _ROW = 'kind, name, member, max("window")', 'kind, name, member, block, "window", nano, delta, rho'
_LATEST = f"SELECT {_LAST} FROM account WHERE {_OWN} AND block = '' GROUP BY 1, 2, 3"  # noqa: S608 - our own text
_PAID = f'SELECT {_ROW} FROM account WHERE {_OWN} AND "window" >= ?'  # noqa: S608 - our own text

Rows = dict[tuple[str, int], Cost]
"""What was paid, by block and window."""


class Total(Struct, frozen=True):
    """What an account has paid.

    Attributes:
        latest: its last window, 0 if it has none; not used for a ceiling.
        since: ``rows`` is complete from this window on.
    """

    latest: int
    since: int
    rows: Rows


class UnknownTotal(LookupError):
    """A total that is not remembered, where there is no database to read."""


class TotalsCache:
    """The totals that this process remembers, all of them for one head. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._head: Head | None = None
        self._totals: dict[Own, Total] = {}

    def at(self, head: Head, owns: Iterable[Own]) -> dict[Own, Total]:
        """The remembered totals of these accounts; none unless ``head`` is the one they are valid for."""
        with self._lock:
            return self._of(owns) if self._head == head else {}

    def after(self, sequence: int, owns: Iterable[Own]) -> tuple[int, dict[Own, Total]]:
        """The remembered totals if they include the entry ``sequence``, and the time of their head; else 0 and none."""
        with self._lock:
            if self._head is None or self._head.sequence < sequence:
                return 0, {}
            return self._head.at, self._of(owns)

    def keep(self, head: Head, found: Mapping[Own, Total], before: Head | None = None) -> None:
        """Remember totals of a committed head; what is known ``before`` stays, all that changed being in ``found``."""
        with self._lock:
            if self._head is not None and self._head.sequence > head.sequence:
                return
            if self._head not in (head, before):
                self._totals.clear()
            self._head = head
            for own, total in found.items():
                self._totals.pop(own, None)
                self._totals[own] = total
            while len(self._totals) > REMEMBERED:
                del self._totals[next(iter(self._totals))]

    def follow(self, before: Head, head: Head, entries: Iterable[LedgerEntry]) -> None:
        """Add what other processes have charged, in all ``entries`` between the head ``before`` and ``head``."""
        with self._lock:
            if self._head != before:
                return
            if any(entry.kind == EntryKind.RESET.value for entry in entries):
                self._totals.clear()
            self._head = head
            for posting in (posting for entry in entries for posting in entry.postings):
                account, cost = posting.account, _cost(posting.nano, posting.delta, posting.rho)
                total = self._totals.get(account.own)
                if total is not None:
                    self._totals[account.own] = _with(total, account, cost)

    def forget(self) -> None:
        """Discard all totals."""
        with self._lock:
            self._head = None
            self._totals.clear()

    def _of(self, owns: Iterable[Own]) -> dict[Own, Total]:
        return {own: total for own in owns if (total := self._totals.get(own)) is not None}


class Totals:
    """Totals as they are in one transaction, or beside one: remembered, read, or changed in it.

    Args:
        connection: for reading and writing totals; with None, a total that is not remembered raises ``UnknownTotal``.
        known: what is remembered, used for this ``head`` alone.
    """

    def __init__(
        self, connection: StoreConnection | None, known: TotalsCache | None = None, head: Head | None = None
    ) -> None:
        self._connection = connection
        self._known = known
        self._head = head
        self._changed: dict[Key, Cost] = {}
        self._copied: set[Own] = set()
        self.found: dict[Own, Total] = {}
        """All that was needed so far; the rows of one that was published are never changed."""
        self.has_read = False

    def need(self, owns: Iterable[Own]) -> None:
        """Load these accounts, with their last windows, into ``found``."""
        lacking = {own for own in owns if own not in self.found}
        if lacking and self._known is not None and self._head is not None:
            self.found |= self._known.at(self._head, lacking)
            lacking -= self.found.keys()
        if lacking:
            timed = [own for own in lacking if own[0] != _CEILING]
            latest = {(kind, name, member): w for kind, name, member, w in self._read(_LATEST, timed)}
            self.found |= {own: Total(latest.get(own, 0), _NEVER, {}) for own in lacking}

    def have(self, since: Mapping[Own, int]) -> None:
        """Load into ``found`` what each account has paid from a window on."""
        self.need(since)
        lacking: dict[Own, int] = {}
        for own, first in since.items():
            total = self.found[own]
            if total.since > first:
                lacking[own] = first
            elif total.since < first:  # a period has ended: its days count no more
                rest = {place: cost for place, cost in total.rows.items() if place[1] >= first}
                self.found[own] = Total(total.latest, first, rest)
                self._copied.add(own)
        if lacking:
            rows: dict[Own, Rows] = {own: {} for own in lacking}
            for kind, name, member, block, window, *cost in self._read(_PAID, lacking, lacking):
                rows[kind, name, member][block, window] = _cost(*cost)
            for own, first in lacking.items():
                self.found[own] = Total(self.found[own].latest, first, rows[own])
                self._copied.add(own)

    def add(self, account: Account, cost: Cost) -> None:
        """Debit an account in its window; written by ``write``."""
        own, place = account.own, (account.block, account.window)
        total = self.found.get(own)
        if total is None or total.since > account.window:
            self.have({own: account.window})
            total = self.found[own]
        rows = total.rows
        if own not in self._copied:
            rows = dict(rows)
            self._copied.add(own)
        rows[place] = paid = rows.get(place, _NOTHING) + cost
        self.found[own] = Total(max(total.latest, account.window), total.since, rows)
        self._changed[key_of(account)] = paid

    def write(self) -> None:
        """Write the totals that were changed: before anybody reads them from the database, and before the commit."""
        if self._changed and self._connection is not None:
            changed, self._changed = self._changed, {}
            book.write_totals(self._connection, changed)

    def forget(self) -> None:
        """From here on everything is read anew; what was known before is not remembered beyond the commit."""
        self.write()
        self.found = {}
        self._copied = set()
        self._known = self._head = None

    def publish(self, known: TotalsCache, head: Head) -> None:
        """Remember these totals for ``head``; to be called once it is committed."""
        self._copied = set()
        if self._known is None:
            known.forget()
        known.keep(head, self.found, self._head)

    def _read(
        self, sql: str, owns: Iterable[Own], since: Mapping[Own, int] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        asked = sorted(owns)
        if not asked:
            return
        if self._connection is None:
            raise UnknownTotal
        self.write()
        self.has_read = True
        for at in range(0, len(asked), MOST):
            some = asked[at : at + MOST]
            values = [v for own in some for v in (own if since is None else (*own, since[own]))]
            yield from self._connection.execute(" UNION ALL ".join([sql] * len(some)), values)


def _with(total: Total, account: Account, cost: Cost) -> Total:
    """The total with one more debit."""
    rows, place = total.rows, (account.block, account.window)
    if account.window >= total.since:
        rows = {**rows, place: rows.get(place, _NOTHING) + cost}
    return Total(max(total.latest, account.window), total.since, rows)


def _cost(nano: int, delta: str, rho: str) -> Cost:
    return Cost(nano, Fraction(delta), Fraction(rho))
