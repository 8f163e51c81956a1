"""One open transaction of the ledger: limits are checked and entries appended here, and nowhere else."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import assert_never

from dpproxy.accounting import book
from dpproxy.accounting.chain import Head, Seals
from dpproxy.accounting.model import (
    MAX_NANO,
    NANO,
    NO_DELTA,
    Charge,
    Cost,
    Debit,
    Entry,
    EntryKind,
    Kind,
    Posting,
    Reservation,
    format_delta,
    format_epsilon,
)
from dpproxy.errors import BudgetExceeded, Refusal

_ORDER = {kind: place for place, kind in enumerate(Kind)}
_LEAST = NANO // 1000


class Batch:
    """What the writer has open: nothing in it counts until it is committed.

    Attributes:
        head: where the chain stands, this batch included.
        now: microseconds, never before the head's.
        kept: bytes of released answers stored.
    """

    def __init__(self, connection: book.Connection, seals: Seals, head: Head, now: int) -> None:
        self.connection = connection
        self.seals = seals
        self.head = head
        self.now = max(now, head.at)
        self.kept = 0

    def charge(self, charge: Charge) -> Reservation:
        """Debit every account of the charge, or none: BudgetExceeded names the first limit it passes."""
        cost = Cost(charge.nano, charge.delta)
        return self._append(EntryKind.CHARGE, charge, cost, self.head.sequence + 1, charge.debits)

    def adopt(self, origin: int, charge: Charge) -> Reservation | None:
        """Debit what the release of ``origin`` costs in full to the accounts of ``charge`` it has not cost yet.

        None where the user's own account has paid, or nothing is left to debit.
        """
        source = book.read_entry(self.connection, origin)
        if source is None or source.kind != EntryKind.CHARGE.value or source.release != charge.release:
            raise ValueError("no such release to adopt")
        users = [debit.account for debit in charge.debits if debit.account.kind is Kind.USER]
        if len(users) != 1:
            raise ValueError("a release is adopted by one user")
        payers = book.read_payers(self.connection, origin)
        debits = [debit for debit in charge.debits if debit.account not in payers]
        if users[0] in payers or not debits:
            return None
        cost = Cost(source.nano, Fraction(source.delta))
        return self._append(EntryKind.ADOPT, charge, cost, origin, debits)

    def keep(self, origin: int, key: bytes, nano: int, payload: bytes) -> None:
        """Store what was released under the charge ``origin``; the first of two stays."""
        mac = self.seals.release(origin, key, nano, payload)
        self.connection.execute(
            "INSERT INTO release (origin, key, nano, payload, mac) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (origin, key, nano, payload, mac),
        )
        self.kept += len(payload)

    def _append(
        self, kind: EntryKind, charge: Charge, cost: Cost, origin: int, debits: Sequence[Debit]
    ) -> Reservation:
        debits = sorted(debits, key=lambda debit: _ORDER[debit.account.kind])
        before = [(debit, book.read_spent(self.connection, debit.account)) for debit in debits]
        for debit, spent in before:
            check(debit, spent, cost)
        entry = Entry(
            sequence=self.head.sequence + 1,
            kind=kind.value,
            at=self.now,
            who=charge.who,
            statement=charge.statement,
            policy_version=charge.policy_version,
            data_version=charge.data_version,
            mechanism=charge.mechanism,
            nano=cost.nano,
            delta=str(cost.delta),
            rho="0",
            release=charge.release,
            origin=origin,
            label=charge.label,
            note="",
            postings=tuple(
                Posting(debit.account, debit.limit, cost.nano, str(cost.delta)) for debit in debits
            ),
        )
        mac = self.seals.entry(self.head.mac, entry)
        book.append(self.connection, entry, mac)
        self.head = replace(self.head, sequence=entry.sequence, at=entry.at, mac=mac)
        return Reservation(entry, tuple((debit, spent.nano + cost.nano) for debit, spent in before))


def check(debit: Debit, spent: Cost, asked: Cost) -> None:
    """Raise ``BudgetExceeded`` where an account that paid ``spent`` cannot pay ``asked``."""
    if spent.nano + asked.nano > (MAX_NANO if debit.limit is None else debit.limit):
        raise _exceeded(debit, spent.nano, asked.nano)
    if asked.delta and debit.delta_limit is not None and spent.delta + asked.delta > debit.delta_limit:
        raise _exceeded_delta(debit, max(NO_DELTA, debit.delta_limit - spent.delta), asked.delta)


def _exceeded_delta(debit: Debit, left: Fraction, asked: Fraction) -> Refusal:
    hint = "An administrator declares it with LIMIT EPSILON ... DELTA ... and CEILING EPSILON ... DELTA ..."
    if left:
        hint = f"ask for less: SET dp.delta = {format_delta(left, ROUND_FLOOR)}"
    return BudgetExceeded(
        f"{_limit_name(debit)} has delta {format_delta(left, ROUND_FLOOR)} left, "
        f"the statement asks for {format_delta(asked)}",
        detail="Keys that are not public cost delta." if debit.delta_limit else "It has no DELTA.",
        hint=hint,
    )


def _exceeded(debit: Debit, spent: int, asked: int) -> Refusal:
    """The refusal that names a limit, what is left of it and what was asked."""
    limit = MAX_NANO if debit.limit is None else debit.limit
    left = max(0, limit - spent)
    return BudgetExceeded(
        f"{_limit_name(debit)} has {format_epsilon(left)} epsilon left, "
        f"the statement asks for {format_epsilon(asked)}",
        detail=f"Its limit is {format_epsilon(limit)} epsilon.",
        hint=f"ask for less: SET dp.epsilon = {format_epsilon(left)}" if left >= _LEAST else None,
    )


def _limit_name(debit: Debit) -> str:
    account = debit.account
    match account.kind:
        case Kind.SESSION:
            return "this session"
        case Kind.USER:
            return f'user "{account.member}" of privacy budget "{account.name}"'
        case Kind.BUDGET:
            return f'privacy budget "{account.name}"'
        case Kind.CEILING:
            return f'the privacy ceiling of "{account.name}"'
        case _:
            assert_never(account.kind)
