"""The ledger's rows, read and written through a connection that somebody else opened and will commit.

Every statement here is read alike by SQLite and by PostgreSQL: ``?`` for a value, "only" and "window" in quotes, the
columns of a conflict named.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any, Protocol

from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.model import Account, Cost, Entry, Key, Posting, account_of, key_of

_ENTRY = (
    "sequence, kind, at, who, statement, policy_version, data_version, mechanism, nano, delta, rho, release, "
    "origin, label, note, mac"
)
_DEBIT = 'kind, name, member, block, "window", limit_nano, nano, delta, rho'
_ACCOUNT = 'kind, name, member, block, "window"'


class Result(Iterable[tuple[Any, ...]], Protocol):
    """Rows of one statement."""

    def fetchone(self) -> Any: ...  # noqa: ANN401 - a tuple or None

    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    """What is used of a connection to either database."""

    def execute(self, sql: str, values: Sequence[object] = (), /) -> Result: ...

    def executemany(self, sql: str, values: Iterable[Sequence[object]], /) -> object: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...


def read_head(connection: Connection, seals: Seals) -> Head:
    """The head, its seal checked."""
    row = connection.execute("SELECT format, ledger, sequence, at, mac, seal FROM head").fetchone()
    if row is None:
        raise Mismatch("its head is missing")
    *fields, seal = row
    head = Head(*fields)
    if seals.head(head) != seal:
        raise Mismatch("its head is not sealed by this key", head.sequence)
    return head


def write_head(connection: Connection, seals: Seals, head: Head) -> None:
    """Move the head, sealed anew."""
    connection.execute(
        'INSERT INTO head ("only", format, ledger, sequence, at, mac, seal) VALUES (1, ?, ?, ?, ?, ?, ?) '
        'ON CONFLICT ("only") DO UPDATE SET format = excluded.format, ledger = excluded.ledger, '
        "sequence = excluded.sequence, at = excluded.at, mac = excluded.mac, seal = excluded.seal",
        (head.format, head.ledger, head.sequence, head.at, head.mac, seals.head(head)),
    )


def read_mac(connection: Connection, sequence: int) -> bytes | None:
    """The mac of one entry."""
    row = connection.execute("SELECT mac FROM entry WHERE sequence = ?", (sequence,)).fetchone()
    return None if row is None else bytes(row[0])


def read_spent(connection: Connection, accounts: Sequence[Account]) -> dict[Key, Cost]:
    """What accounts have paid so far, each in its own window alone; those that never paid are left out."""
    if not accounts:
        return {}
    asked = ", ".join(["(?, ?, ?, ?, ?)"] * len(accounts))
    rows = connection.execute(
        f"SELECT {_ACCOUNT}, nano, delta, rho FROM account WHERE ({_ACCOUNT}) IN (VALUES {asked})",  # noqa: S608
        [value for account in accounts for value in key_of(account)],
    )
    return {
        (kind, name, member, block, window): Cost(int(nano), Fraction(delta), Fraction(rho))
        for kind, name, member, block, window, nano, delta, rho in rows
    }


def read_payers(connection: Connection, origin: int) -> frozenset[Account]:
    """The accounts debited for the release of the charge ``origin``, whenever that was: who has paid once has paid."""
    rows = connection.execute(f"SELECT {_ACCOUNT} FROM debit WHERE origin = ?", (origin,))  # noqa: S608
    return frozenset(account_of((*row[:4], 0)) for row in rows)


def append(connection: Connection, entry: Entry, mac: bytes) -> None:
    """Add an entry with its debits, and the debits to their accounts."""
    connection.execute(
        f"INSERT INTO entry ({_ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (
            *(entry.sequence, entry.kind, entry.at, entry.who, entry.statement),
            *(entry.policy_version, entry.data_version, entry.mechanism, entry.nano, entry.delta, entry.rho),
            *(entry.release, entry.origin, entry.label, entry.note, mac),
        ),
    )
    connection.executemany(
        f"INSERT INTO debit (origin, sequence, position, {_DEBIT}) "  # noqa: S608
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (entry.origin, entry.sequence, at, *key_of(p.account), p.limit, p.nano, p.delta, p.rho)
            for at, p in enumerate(entry.postings)
        ],
    )
    before = read_spent(connection, [p.account for p in entry.postings])
    totals = [
        before.get(key_of(p.account), Cost()) + Cost(p.nano, Fraction(p.delta), Fraction(p.rho))
        for p in entry.postings
    ]
    connection.executemany(
        f"INSERT INTO account ({_ACCOUNT}, nano, delta, rho) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608
        f"ON CONFLICT ({_ACCOUNT}) DO UPDATE SET nano = excluded.nano, delta = excluded.delta, rho = excluded.rho",
        [
            (*key_of(p.account), total.nano, str(total.delta), str(total.rho))
            for p, total in zip(entry.postings, totals, strict=True)
        ],
    )


def read_entry(connection: Connection, sequence: int) -> Entry | None:
    """One entry."""
    return next((entry for entry, _ in read_entries(connection, "WHERE e.sequence = ?", (sequence,))), None)


def read_entries(
    connection: Connection, where: str = "", values: tuple[object, ...] = ()
) -> Iterator[tuple[Entry, bytes]]:
    """Entries in order, each with its mac; ``where`` is a clause over the entry ``e``, of our own making."""
    columns = ", ".join(f"e.{name}" for name in _ENTRY.split(", "))
    debits = ", ".join(f"d.{name}" for name in ("position", *_DEBIT.split(", ")))
    rows = connection.execute(
        f"SELECT {columns}, {debits} FROM entry e "  # noqa: S608
        "LEFT JOIN debit d ON d.origin = e.origin AND d.sequence = e.sequence "
        f"{where} ORDER BY e.sequence, d.position",
        values,
    )
    for _, group in groupby(rows, key=lambda row: row[0]):
        lines = list(group)
        *fields, mac = lines[0][:16]
        # The outer join gives one line of NULLs where an entry has no debit.
        postings = tuple(_posting(line[17:]) for line in lines if line[16] is not None)
        if postings and [line[16] for line in lines] != list(range(len(lines))):
            raise ValueError("debits are not numbered from 0")
        yield Entry(*(*fields, postings)), mac


def _posting(row: tuple[object, ...]) -> Posting:
    return Posting(account_of(row[:5]), *row[5:])  # type: ignore[arg-type]
