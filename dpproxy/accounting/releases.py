"""The release store: released answers that were paid for answer again without reading data."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from dpproxy.accounting import book, tally
from dpproxy.accounting.chain import Mismatch
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Account, AccountKind, Charge, EntryKind, Reservation, StoredRelease
from dpproxy.accounting.schema import FAMILY, PAYERS
from dpproxy.accounting.writer import PendingRelease

KEY: Final = 32
"""Bytes of a key."""
MOST_PAID: Final = 200
"""The most stored releases of the same rows that are searched for an answer, which bounds the time."""
MOST_PAYMENTS: Final = 10_000
"""The most payments of an account among which those for releases of the same rows are looked for, likewise."""

MOST_LESS: Final = 3
"""The most less accurate releases of the same key that are looked at, the most accurate first."""


class ReleaseStore:
    """Released answers in the ledger's own database, found by the exact stage they came from.

    The rule of payment: an account is debited at most once for a release.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def store(self, reservation: Reservation, payload: bytes, seen_from: float = 0.0) -> None:
        """Store the answer released under a charge; returns at once, and ``find`` sees it from then on.

        Other processes see it from ``seen_from`` on, on the clock of ``time.monotonic``.

        If a crash loses it before it is written, its charge stays, and the same release is charged again.
        """
        entry = reservation.entry
        if entry.kind != EntryKind.CHARGE.value:
            raise ValueError("only a charge releases something new")
        payers = frozenset(replace(posting.account, window=0) for posting in entry.postings)
        self._ledger.writer.keep(
            PendingRelease(entry.sequence, entry.release, entry.nano, payload, seen_from, payers)
        )

    def give_up(self, reservation: Reservation, seen_from: float = 0.0) -> None:
        """Tell who waits that nothing is released under a charge: an empty answer is stored, under no key."""
        self._ledger.writer.keep(PendingRelease(reservation.sequence, b"", 0, b"", seen_from))

    def is_settled(self, origin: int) -> bool:
        """Whether it is written down what became of a charge: an answer, or none."""
        found = self._ledger.read(lambda connection: connection.execute(_SETTLED, (origin,)).fetchone())
        return found is not None

    def find(self, release: bytes, at_least_nano: int, payer: Account | None = None) -> StoredRelease | None:
        """A stored release of this key that is at least as accurate as ``at_least_nano``, or None.

        Without ``payer`` the most accurate one. With it the most accurate one this account has paid for, and
        whatever other ones, else the cheapest, since adopting costs its full loss.

        Errors: LedgerUnavailable where the database cannot be read.
        """
        # Pending answers first: one that is written in between is then read from the database.
        waiting = {a.origin: a for a in self._ledger.writer.waiting() if a.key == release}
        found = {origin: answered.nano for origin, answered in waiting.items()}
        found |= self._ledger.read(
            lambda connection: dict(
                connection.execute("SELECT origin, nano FROM release WHERE key = ?", (release,)).fetchall()
            )
        )
        # Most accurate first; the older of equals, so that everybody is shown the same one.
        ranked = sorted(found, key=lambda origin: (-found[origin], origin))
        enough = [origin for origin in ranked if found[origin] >= at_least_nano]
        searched = ranked[: len(enough) + MOST_LESS] if enough else []
        payers = self._payers(searched)
        paid = [origin for origin in ranked if payer is not None and payer in payers.get(origin, ())]
        if payer is not None:
            mine = [origin for origin in enough if origin in paid]
            enough = mine or sorted(enough, key=lambda origin: (found[origin], origin))
        for origin in enough:
            payload = waiting[origin].payload if origin in waiting else self._payload(origin)
            if payload is not None:
                also = tuple(other for other in paid if other != origin) if origin in paid else ()
                return StoredRelease(origin, found[origin], payload, frozenset(payers[origin]), also)
        return None

    def paid(self, beginnings: Sequence[bytes], payer: Account) -> list[tuple[int, int]]:
        """(charge, nano-epsilon) of the stored releases whose keys begin so and that an account has paid for.

        The latest ``MOST_PAID`` of each beginning, the oldest first. Errors: LedgerUnavailable.
        """
        asked = tuple(beginnings)
        waiting = [a for a in self._ledger.writer.waiting() if a.key.startswith(asked)]
        found = self._ledger.read(lambda connection: dict(_paid(connection, asked, payer)))
        adopted = self._payers([a.origin for a in waiting if payer not in a.payers])
        found |= {a.origin: a.nano for a in waiting if payer in adopted.get(a.origin, a.payers)}
        return sorted(found.items())

    def load(self, origin: int) -> bytes | None:
        """The answer released under a charge; None if it is no longer stored."""
        waiting = {a.origin: a.payload for a in self._ledger.writer.waiting()}
        return waiting.get(origin) or self._payload(origin)

    def adopt(self, stored: StoredRelease, charge: Charge) -> Reservation | None:
        """Charge another caller for a stored release: its full loss to every account that has not paid for it.

        ``charge`` is the one a new release would have needed; its own loss does not matter. The ceiling and
        any account already debited for this release are left out. None, and no entry, where the user's own
        account has paid before.

        Errors: BudgetExceeded; ValueError where the charge is for another release.
        """
        reservation = self._ledger.writer.submit(lambda batch: batch.adopt(stored.id, charge))
        if reservation is not None:
            tally.add(reservation)
        return reservation

    def read(self, origins: Sequence[int], charge: Charge) -> None:
        """Record that the user of ``charge`` reads releases of their budget for nothing: durable when this returns.

        ``charge`` is the one a new release would have needed. Each user is recorded once for each release.
        """
        account = next(debit.account for debit in charge.debits if debit.account.kind is AccountKind.USER)
        new = [origin for origin, payers in self._payers(origins).items() if account not in payers]
        if new:
            self._ledger.writer.submit(lambda batch: batch.read(new, charge))

    def _payers(self, origins: Sequence[int]) -> dict[int, set[Account]]:
        def query(connection: book.StoreConnection) -> dict[int, set[Account]]:
            self._ledger.authentic.require(connection, origins)
            return book.read_payers(connection, origins)

        return self._ledger.read(query) if origins else {}

    def _payload(self, origin: int) -> bytes | None:
        """The stored bytes, authenticated; None where they were dropped meanwhile."""

        def query(connection: book.StoreConnection) -> bytes | None:
            row = connection.execute(
                "SELECT origin, key, nano, payload, mac FROM release WHERE origin = ?", (origin,)
            ).fetchone()
            if row is None:
                return None
            *fields, mac = row
            if self._ledger.seals.release(*fields) != mac:
                raise Mismatch("a stored release was altered", origin)
            self._ledger.authentic.require(connection, [origin])
            payload: bytes = row[3]
            return payload

        return self._ledger.read(query)


def _paid(
    connection: book.StoreConnection, beginnings: Sequence[bytes], payer: Account
) -> list[tuple[int, int]]:
    found = list[tuple[int, int]]()
    for each in sorted(set(beginnings), key=len):
        if _is_wide(each) and each in beginnings:
            rows = connection.execute(_FEW, (*payer.own, *_between(each), MOST_PAID + 1)).fetchall()
            if len(rows) <= MOST_PAID:
                found += [(origin, nano) for origin, nano, is_paid in rows if is_paid]
                beginnings = [b for b in beginnings if not b.startswith(each)]
    if not beginnings:
        return found
    values: list[object] = []
    for each in beginnings:
        values += (*_between(each), *payer.own, *((MOST_PAYMENTS,) if _is_wide(each) else ()), MOST_PAID)
    return found + connection.execute(paid(beginnings), values).fetchall()


def _between(beginning: bytes) -> tuple[bytes, bytes]:
    return beginning, beginning + b"\xff" * (KEY - len(beginning))


def paid(beginnings: Sequence[bytes]) -> str:
    """The releases of each beginning that an account has paid for, the latest of each.

    Others may have asked very many questions about the same rows. So those of all releases of the same rows, or of all
    that have keys, are found among the account's latest payments.
    """
    return " UNION ALL ".join(
        f"SELECT origin, nano FROM ({_LATEST if _is_wide(each) else _PAID}) AS p"  # noqa: S608 - our own text
        for each in beginnings
    )


def _is_wide(beginning: bytes) -> bool:
    return len(beginning) < KEY and not beginning[FAMILY:].strip(b"\0")


_FEW: Final = (
    "SELECT r.origin, r.nano, EXISTS "
    "(SELECT 1 FROM debit d WHERE d.origin = r.origin AND d.kind = ? AND d.name = ? AND d.member = ?) "
    "FROM release r WHERE r.key >= ? AND r.key <= ? LIMIT ?"
)
_SETTLED: Final = "SELECT 1 FROM release WHERE origin = ?"
# Not a join: with the values bound, SQLite would read every debit there ever was.
_PAID: Final = (
    "SELECT r.origin, r.nano FROM release r WHERE r.key >= ? AND r.key <= ? AND EXISTS "
    "(SELECT 1 FROM debit d WHERE d.origin = r.origin AND d.kind = ? AND d.name = ? AND d.member = ?) "
    "ORDER BY r.origin DESC LIMIT ?"
)
# Not a join either: PostgreSQL might read all releases. Looked up again in the table, which is verified, not the index.
_LATEST: Final = (
    "SELECT origin, nano FROM (SELECT d.origin AS origin, "  # noqa: S608 - our own text
    "(SELECT r.nano FROM release r WHERE r.origin = d.origin AND r.key >= ? AND r.key <= ? AND EXISTS "
    "(SELECT 1 FROM debit p WHERE p.origin = d.origin AND p.kind = d.kind AND p.name = d.name "
    "AND p.member = d.member)) AS nano "
    f"FROM debit d WHERE {PAYERS} AND d.kind = ? AND d.name = ? AND d.member = ? "
    "ORDER BY d.origin DESC LIMIT ?) AS found WHERE nano IS NOT NULL LIMIT ?"
)
