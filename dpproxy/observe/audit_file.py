"""The audit log's file: entries in a chain of macs, which several processes may extend in turn.

``first`` and ``last`` mark the ends of the chain: entries before the first were dropped for their age. Without the key
nobody can alter, drop, reorder or add an entry unnoticed by ``verify``; restoring an older file is not noticed.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dpproxy.accounting.book import insert
from dpproxy.observe.audit_entry import AuditEntry, AuditOutcome, Seal
from dpproxy.values.errors import StartupError

FILE = "audit.sqlite"
FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS entry (
    sequence   INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    user       TEXT NOT NULL,
    roles      TEXT NOT NULL,
    outcome    TEXT NOT NULL,
    statement  TEXT NOT NULL,
    nano       INTEGER NOT NULL,
    sqlstate   TEXT NOT NULL,
    reason     TEXT NOT NULL,
    mac        BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS mark (
    name      TEXT PRIMARY KEY,
    sequence  INTEGER NOT NULL,
    mac       BLOB NOT NULL,
    seal      BLOB NOT NULL
) STRICT;
CREATE TRIGGER IF NOT EXISTS entry_no_update BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""
_COLUMNS = "sequence, at, user, roles, outcome, statement, nano, sqlstate, reason, mac"
Row = tuple[int, AuditEntry]


class AlteredLog(Exception):
    """The log is not what this key wrote; ``sequence`` is the first wrong entry, if known."""

    def __init__(self, what: str, sequence: int | None = None) -> None:
        super().__init__(what)
        self.sequence = sequence


class AuditFile:
    """One connection to the log; for one thread at a time.

    Errors of its methods: sqlite3.Error, OSError, ``Altered``.
    """

    def __init__(self, directory: Path, seal: Seal) -> None:
        self._path = directory / FILE
        self._seal = seal
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        """Make the file at the first start, and check the ends of the chain. Raises ``StartupError``."""
        try:
            with self._transaction() as connection:
                self._mark(connection, "first")
                self._mark(connection, "last")
        except AlteredLog as error:
            raise StartupError(
                f"audit log {self._path}: {error}; move it away to begin another, and keep it"
            ) from error
        except (sqlite3.Error, OSError, ValueError) as error:  # ValueError: what SQLite says of it is no text
            raise StartupError(f"audit log {self._path}: cannot be read or written") from error

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Append entries, durably."""
        with self._transaction() as connection:
            sequence, mac = self._mark(connection, "last")
            rows: list[tuple[object, ...]] = []
            for entry in entries:
                sequence += 1
                mac = self._seal.entry(mac, sequence, entry)
                rows.append((sequence, *entry.values(), mac))
            insert(connection, "entry", _COLUMNS, rows)
            self._set(connection, "last", sequence, mac)

    def drop_before(self, at: int) -> int:
        """Drop the entries before a time in microseconds; returns their number."""
        with self._transaction() as connection:
            found = connection.execute(
                "SELECT max(sequence), count(*) FROM entry WHERE at < ? AND sequence < "
                "coalesce((SELECT min(sequence) FROM entry WHERE at >= ?), 9223372036854775807)",
                (at, at),
            ).fetchone()
            if not found[1]:
                return 0
            [mac] = connection.execute("SELECT mac FROM entry WHERE sequence = ?", (found[0],)).fetchone()
            connection.execute("DELETE FROM entry WHERE sequence <= ?", (found[0],))
            self._set(connection, "first", found[0], mac)
            return int(found[1])

    def last(self, limit: int, before: int | None = None) -> list[Row]:
        """The latest entries, or those before a number, the latest first."""
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM entry WHERE sequence < ? ORDER BY sequence DESC LIMIT ?",  # noqa: S608 - constants
                (2**63 - 1 if before is None else before, limit),
            ).fetchall()
        return [(row[0], _entry(row)) for row in rows]

    def of_user(
        self, user: str, since: int, outcomes: Sequence[AuditOutcome], limit: int
    ) -> list[AuditEntry]:
        """The latest entries of a user with these outcomes, since a time in microseconds, the latest first."""
        marks = ", ".join("?" * len(outcomes))
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM entry WHERE user = ? AND at >= ? AND outcome IN ({marks}) "  # noqa: S608 - constants
                "ORDER BY sequence DESC LIMIT ?",
                (user, since, *(one.value for one in outcomes), limit),
            ).fetchall()
        return [_entry(row) for row in rows]

    def verify(self) -> int:
        """Check every entry; how many there are. Raises ``Altered``."""
        with self._transaction("DEFERRED") as connection:
            sequence, mac = self._mark(connection, "first")
            last = self._mark(connection, "last")
            count = 0
            for row in connection.execute(f"SELECT {_COLUMNS} FROM entry ORDER BY sequence"):  # noqa: S608 - constants
                count, sequence = count + 1, sequence + 1
                if row[0] != sequence:
                    raise AlteredLog(f"entry {sequence} is missing", sequence)
                mac = self._seal.entry(mac, sequence, _entry(row))
                if mac != row[-1]:
                    raise AlteredLog(f"entry {sequence} was altered", sequence)
            if (sequence, mac) != last:
                raise AlteredLog(f"entries after {sequence} are missing", sequence + 1)
        return count

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """One transaction; after a failure the file is opened anew."""
        try:
            if self._connection is None:
                self._connection = _connect(self._path)
            self._connection.execute(f"BEGIN {kind}")
            yield self._connection
            self._connection.execute("COMMIT")
        except BaseException:
            self.close()
            raise

    def _mark(self, connection: sqlite3.Connection, name: str) -> tuple[int, bytes]:
        """The sequence number and mac at an end of the chain, which is written when the log is created."""
        row = connection.execute("SELECT sequence, mac, seal FROM mark WHERE name = ?", (name,)).fetchone()
        if row is None:
            if connection.execute("SELECT 1 FROM entry").fetchone() is not None:
                raise AlteredLog("it has lost the marks of its ends")
            self._set(connection, name, 0, b"")
            return 0, b""
        sequence, mac, seal = row
        if seal != self._seal.mark(name, sequence, mac):
            raise AlteredLog("it was written with another key, or altered")
        return int(sequence), bytes(mac)

    def _set(self, connection: sqlite3.Connection, name: str, sequence: int, mac: bytes) -> None:
        connection.execute(
            "INSERT OR REPLACE INTO mark VALUES (?, ?, ?, ?)",
            (name, sequence, mac, self._seal.mark(name, sequence, mac)),
        )


def _connect(path: Path) -> sqlite3.Connection:
    """WAL and FULL: a commit returns after it is on the disk."""
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        _make(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make(connection: sqlite3.Connection) -> None:
    """The tables, where there are none yet."""
    [found] = connection.execute("PRAGMA user_version").fetchone()
    if found not in (0, FORMAT):
        raise AlteredLog(f"it is of format {found}, this program reads {FORMAT}")
    if not found:
        connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {FORMAT}; COMMIT;")
    connection.execute("CREATE INDEX IF NOT EXISTS entry_of_user ON entry (user, sequence)")


def _entry(row: Sequence[Any]) -> AuditEntry:
    _, at, user, roles, outcome, *rest, _ = row
    return AuditEntry(at, user, roles, AuditOutcome(outcome), *rest)
