"""Reads and writes the ledger's rows; the caller opens the connection and commits.

Every statement here is valid in both SQLite and PostgreSQL: ``?`` stands for a value, "only" and "window" are quoted,
ON CONFLICT names its columns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, Protocol

from msgspec.structs import astuple

from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.model import Account, Cost, Key, LedgerEntry, Posting, account_of, key_of

_ENTRY = (
    "sequence, kind, at, who, statement, policy_version, data_version, mechanism, nano, delta, rho, release, "
    "origin, label, note, mac"
)
_DEBIT = 'kind, name, member, block, "window", limit_nano, nano, delta, rho'
_ACCOUNT = 'kind, name, member, block, "window"'
_PAGE = 10_000
"""Entries read at a time."""
_PORTION = 64
"""Most rows in one statement, a power of 2: some builds of SQLite take no more than 999 values."""

Row = tuple[object, ...]


class Result(Iterable[tuple[Any, ...]], Protocol):
    """Rows of one statement."""

    def fetchone(self) -> Any: ...  # noqa: ANN401 - a tuple or None

    def fetchall(self) -> list[Any]: ...


class StoreConnection(Protocol):
    """The part of a database connection that the ledger uses, the same for SQLite and PostgreSQL."""

    def execute(self, sql: str, values: Sequence[object] = (), /) -> Result: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...


HEAD: Final = "SELECT format, ledger, sequence, at, mac, seal FROM head"


def read_head(connection: StoreConnection, seals: Seals) -> Head:
    """The head. Raises ``Mismatch`` if it is missing, or its seal is wrong."""
    return head_of(connection.execute(HEAD).fetchone(), seals)


def head_of(row: Row | None, seals: Seals) -> Head:
    """The head that is in the row of ``HEAD``. Raises ``Mismatch``."""
    if row is None:
        raise Mismatch("its head is missing")
    *fields, seal = row
    head = Head(*fields)  # type: ignore[arg-type]
    if seals.head(head) != seal:
        raise Mismatch("its head is not sealed by this key", head.sequence)
    return head


def row_of(head: Head, seals: Seals) -> Row:
    """The row in which a head is stored."""
    return *astuple(head), seals.head(head)


def write_head(connection: StoreConnection, seals: Seals, head: Head) -> None:
    """Replace the stored head and its seal."""
    connection.execute(
        'INSERT INTO head ("only", format, ledger, sequence, at, mac, seal) VALUES (1, ?, ?, ?, ?, ?, ?) '
        'ON CONFLICT ("only") DO UPDATE SET format = excluded.format, ledger = excluded.ledger, '
        "sequence = excluded.sequence, at = excluded.at, mac = excluded.mac, seal = excluded.seal",
        row_of(head, seals),
    )


def read_mac(connection: StoreConnection, sequence: int) -> bytes | None:
    """The mac of one entry."""
    row = connection.execute("SELECT mac FROM entry WHERE sequence = ?", (sequence,)).fetchone()
    return None if row is None else bytes(row[0])


def read_payers(connection: StoreConnection, origins: Sequence[int]) -> dict[int, set[Account]]:
    """The accounts debited for what each of the charges released, in any window (0 here): each pays only once."""
    found: dict[int, set[Account]] = {origin: set() for origin in origins}
    for start in range(0, len(origins), _PORTION):
        several = origins[start : start + _PORTION]
        sql = f"SELECT origin, {_ACCOUNT} FROM debit WHERE origin IN ({', '.join('?' * len(several))})"  # noqa: S608
        for origin, *account, _ in connection.execute(sql, several):
            found[origin].add(account_of((*account, 0)))
    return found


def write_entries(connection: StoreConnection, entries: Sequence[tuple[LedgerEntry, bytes]]) -> None:
    """Insert entries, each with its mac, and their debits."""
    lines: list[Row] = []
    debits: list[Row] = []
    for e, mac in entries:
        lines.append((*astuple(e)[:-1], mac))
        debits += [
            (e.origin, e.sequence, place, *key_of(p.account), p.limit, p.nano, p.delta, p.rho)
            for place, p in enumerate(e.postings)
        ]
    insert(connection, "entry", _ENTRY, lines)
    insert(connection, "debit", f"origin, sequence, position, {_DEBIT}", debits)


def write_totals(connection: StoreConnection, totals: Mapping[Key, Cost]) -> None:
    """Set the totals of accounts."""
    rows = [(*key, total.nano, str(total.delta), str(total.rho)) for key, total in totals.items()]
    ending = f"ON CONFLICT ({_ACCOUNT}) DO UPDATE SET nano = excluded.nano, delta = excluded.delta, rho = excluded.rho"
    insert(connection, "account", f"{_ACCOUNT}, nano, delta, rho", rows, ending)


def write_releases(connection: StoreConnection, rows: Sequence[tuple[int, bytes, int, bytes, bytes]]) -> None:
    """Store releases as (origin, key, nano, payload, mac); the first release of an origin is never replaced."""
    insert(connection, "release", "origin, key, nano, payload, mac", rows, "ON CONFLICT DO NOTHING")


def insert(
    connection: StoreConnection, table: str, columns: str, rows: Sequence[Row], ending: str = ""
) -> None:
    """Insert rows in chunks whose sizes are powers of 2.

    Few statements, because each one hands the interpreter to another thread; few different texts, so that a connection
    keeps them prepared.
    """
    at = 0
    while at < len(rows):
        portion = min(_PORTION, 1 << (len(rows) - at).bit_length() - 1)
        some = rows[at : at + portion]
        connection.execute(_inserting(table, columns, portion, ending), [v for row in some for v in row])
        at += portion


@lru_cache(maxsize=64)
def _inserting(table: str, columns: str, rows: int, ending: str) -> str:
    row = f"({', '.join('?' * (columns.count(',') + 1))})"
    return f"INSERT INTO {table} ({columns}) VALUES {', '.join([row] * rows)} {ending}"  # noqa: S608


def read_entry(connection: StoreConnection, sequence: int) -> LedgerEntry | None:
    """The entry of a sequence number, without its mac; None if there is none."""
    return next((entry for entry, _ in read_entries(connection, "WHERE e.sequence = ?", (sequence,))), None)


def read_entries(
    connection: StoreConnection, where: str = "", values: tuple[object, ...] = ()
) -> Iterator[tuple[LedgerEntry, bytes]]:
    """Entries in order, each with its mac; ``where`` is a trusted SQL clause over the entry ``e``."""
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
        yield LedgerEntry(*(*fields, postings)), mac


def entries(connection: StoreConnection) -> Iterator[LedgerEntry]:
    """All entries in order, not all of them in memory; a gap longer than a page ends them."""
    after = 0
    while page := list(
        read_entries(connection, "WHERE e.sequence > ? AND e.sequence <= ?", (after, after + _PAGE))
    ):
        yield from (entry for entry, _ in page)
        after = page[-1][0].sequence


def _posting(row: tuple[object, ...]) -> Posting:
    return Posting(account_of(row[:5]), *row[5:])  # type: ignore[arg-type]
