"""One open transaction of the ledger: limits are checked and entries appended here, and nowhere else."""

from collections.abc import Sequence, Set
from fractions import Fraction

from msgspec.structs import replace

from dpproxy.accounting import book
from dpproxy.accounting.canonical import digest
from dpproxy.accounting.chain import Head, Seals
from dpproxy.accounting.limits import check
from dpproxy.accounting.model import (
    Account,
    AccountKind,
    Charge,
    Cost,
    Debit,
    Drawing,
    EntryKind,
    LedgerEntry,
    Posting,
    Reservation,
    Reset,
)
from dpproxy.accounting.totals import Totals, TotalsCache
from dpproxy.accounting.windows import Standing, anew, standings

PATIENCE = 30
"""Seconds after a charge for which its release is waited for."""
Charged = dict[tuple[bytes, int], tuple[int, int]]
"""Sequence and time of the last charges, by the keys of their releases and their losses."""
_ORDER = {kind.column: place for place, kind in enumerate(AccountKind)}


class Batch:
    """The open transaction of the writer: nothing in it takes effect until it is committed.

    Entries are collected and inserted by ``write``, many in one statement.

    Attributes:
        head: the end of the chain, this batch included.
        totals: what accounts have paid, this batch included.
        now: time of this batch in microseconds since 1970, never before the head's.
        kept: size in bytes of the released answers that this batch stores.
        charged: the charges of this batch.
    """

    def __init__(
        self,
        connection: book.StoreConnection,
        seals: Seals,
        head: Head,
        now: int,
        known: TotalsCache | None = None,
        before: Charged | None = None,
    ) -> None:
        self.connection = connection
        self.totals = Totals(connection, known, head)
        self.seals = seals
        self.head = head
        self.now = max(now, head.at)
        self.kept = 0
        self.charged: Charged = {}
        self._before = before or {}
        self._entries: list[tuple[LedgerEntry, bytes]] = []
        self._releases: list[tuple[int, bytes, int, bytes, bytes]] = []

    def charge(self, charge: Charge) -> Reservation:
        """Debit every account of the charge, or none. Raises BudgetExceeded, which names the first limit exceeded."""
        return self._append(EntryKind.CHARGE, charge, charge.cost, self.head.sequence + 1, charge.debits)

    def charge_once(self, charge: Charge, lost: int = 0, *, shares: bool = False) -> Reservation | Drawing:
        """As ``charge``; where any process has just charged for the same release, it is told instead.

        But not of the charge ``lost``, whose answer did not come. Who could not pay for the answer is refused now: a
        wait would tell them that it is asked for. Where the budget ``shares`` its releases they need not pay.
        """
        key = charge.release, charge.nano
        origin, at = self.charged.get(key) or self._before.get(key) or (0, 0)
        left = PATIENCE - (self.now - at) / 1e6
        if origin in (0, lost) or left <= 0:
            return self.charge(charge)
        self.write()
        owed = [] if shares else self._owed(origin, charge)
        for found in standings(self.totals, owed, self.now, concentrated=charge.concentrated):
            check(found, charge.cost)
        return Drawing(origin, left)

    def adopt(self, origin: int, charge: Charge) -> Reservation | None:
        """Debit the full cost of the release of ``origin`` to those accounts of ``charge`` that have not paid for it.

        None, and no entry, where the user's own account has paid before or no account remains to be debited.
        """
        source, _ = self._paid_for(origin)
        if source.release != charge.release:
            raise ValueError("no such release to adopt")
        debits = self._owed(origin, charge)
        if not debits:
            return None
        cost = Cost.of(source.nano, Fraction(source.delta))
        return self._append(EntryKind.ADOPT, charge, cost, origin, debits)

    def read(self, origins: Sequence[int], charge: Charge) -> None:
        """Record that the user of ``charge`` reads the releases of ``origins``, for which their budget has paid.

        No entry where the user's own account has paid for it or read it before. No limit is checked: it costs nothing.
        """
        user = _user(charge)
        for origin in origins:
            source, payers = self._paid_for(origin)
            if Account.budget(user.account.name) not in payers:
                raise ValueError("a release that the budget has not paid for")
            if user.account not in payers:
                standing = standings(self.totals, [user], self.now)
                read = replace(charge, release=source.release, data_version=source.data_version)
                self._enter(EntryKind.READ, read, Cost(), origin, standing)

    def _owed(self, origin: int, charge: Charge) -> list[Debit]:
        """What is to be debited for the release of ``origin`` yet: none where the user's account has paid for it."""
        payers = book.read_payers(self.connection, [origin])[origin]
        # The ceiling, or its blocks, paid at the release: it bounds what is released, however many users see it.
        ceilings = {payer.name for payer in payers if payer.kind is AccountKind.CEILING}
        debits = [
            debit
            for debit in charge.debits
            if debit.account not in payers
            and not (debit.account.kind is AccountKind.CEILING and debit.account.name in ceilings)
        ]
        return [] if _user(charge).account in payers else debits

    def _paid_for(self, origin: int) -> tuple[LedgerEntry, Set[Account]]:
        """The charge ``origin``, and every account that was debited for its release."""
        self.write()
        source = book.read_entry(self.connection, origin)
        if source is None or source.kind != EntryKind.CHARGE.value:
            raise ValueError("no such release")
        return source, book.read_payers(self.connection, [origin])[origin]

    def reset(self, reset: Reset) -> LedgerEntry:
        """Start the account of a budget, or of one of its users, at 0 again; its earlier debits stay in the ledger."""
        self.write()
        self.totals.forget()
        sequence = self.head.sequence + 1
        entry = LedgerEntry(
            sequence=sequence,
            kind=EntryKind.RESET.value,
            at=self.now,
            who=reset.who,
            statement=digest("reset", 1, reset.account.name, reset.account.member),
            policy_version=reset.policy_version,
            data_version=reset.data_version,
            mechanism="",
            nano=0,
            delta="0",
            rho="0",
            release=bytes(32),
            origin=sequence,
            label=reset.label,
            note=reset.reason,
            postings=(Posting(anew(self.connection, reset.account), None, 0),),
        )
        self._add(entry, Cost())
        return entry

    def has(self, origin: int) -> bool:
        """Whether the charge ``origin`` is in the ledger, and not in an archive."""
        return book.read_mac(self.connection, origin) is not None

    def keep(self, origin: int, key: bytes, nano: int, payload: bytes) -> None:
        """Store the answer released under the charge ``origin``; where one is stored already, that one stays."""
        mac = self.seals.release(origin, key, nano, payload)
        self._releases.append((origin, key, nano, payload, mac))
        self.kept += len(payload)

    def write(self) -> None:
        """Insert the pending entries and totals. Must run before the tables are read, and before the commit."""
        entries, self._entries = self._entries, []
        releases, self._releases = self._releases, []
        book.write_entries(self.connection, entries)
        self.totals.write()
        book.write_releases(self.connection, releases)

    def _append(
        self, kind: EntryKind, charge: Charge, cost: Cost, origin: int, debits: Sequence[Debit]
    ) -> Reservation:
        debits = sorted(debits, key=lambda debit: _ORDER[debit.account.kind.column])
        before = standings(self.totals, debits, self.now, concentrated=charge.concentrated)
        for found in before:
            check(found, cost)
        entry = self._enter(kind, charge, cost, origin, before)
        return Reservation(entry, tuple((d, found.spent) for d, found in zip(debits, before, strict=True)))

    def _enter(
        self, kind: EntryKind, charge: Charge, cost: Cost, origin: int, standing: Sequence[Standing]
    ) -> LedgerEntry:
        nano, delta, rho = cost.nano, str(cost.delta), str(cost.rho)
        entry = LedgerEntry(
            sequence=self.head.sequence + 1,
            kind=kind.value,
            at=self.now,
            who=charge.who,
            statement=charge.statement,
            policy_version=charge.policy_version,
            data_version=charge.data_version,
            mechanism=charge.mechanism,
            nano=nano,
            delta=delta,
            rho=rho,
            release=charge.release,
            origin=origin,
            label=charge.label,
            note="",
            postings=tuple(
                Posting(found.debit.account, found.debit.limit, nano, delta, rho) for found in standing
            ),
        )
        self._add(entry, cost)
        return entry

    def _add(self, entry: LedgerEntry, cost: Cost) -> None:
        """Append an entry and debit ``cost`` to each of its accounts."""
        mac = self.seals.entry(self.head.mac, entry)
        for posting in entry.postings:
            self.totals.add(posting.account, cost)
        self._entries.append((entry, mac))
        if entry.kind == EntryKind.CHARGE.value:
            self.charged[entry.release, entry.nano] = entry.sequence, entry.at
        self.head = Head(self.head.format, self.head.ledger, entry.sequence, entry.at, mac)


def _user(charge: Charge) -> Debit:
    found = [debit for debit in charge.debits if debit.account.kind is AccountKind.USER]
    if len(found) != 1:
        raise ValueError("a release is read by one user")
    return found[0]
