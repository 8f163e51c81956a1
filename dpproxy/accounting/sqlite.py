"""The ledger in a SQLite file of the state directory: processes of one host share it."""

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from dpproxy.accounting import book, schema
from dpproxy.accounting.chain import Mismatch, Seals
from dpproxy.system import disk

WAIT = 5
"""Seconds to wait for another process that writes."""
TURN = 0.0005
"""Seconds between two attempts to write; the library itself would wait ten times as long, and all that wait for it."""

MAPPED = 2**34
"""The most bytes of a file that are mapped into memory."""


class _File(sqlite3.Connection):
    """A connection with the identity (device and inode) of its file."""

    identity = (0, 0)


class SQLite:
    """One file, in WAL mode; see ``Store``."""

    is_near = True
    largest = 256

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self.address = "file", str(path.absolute())

    @property
    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.exists()

    def create(self, seals: Seals) -> None:
        """Create the file under another name, and rename it."""
        draft = self.path.with_name(f"{self.path.name}.new")
        draft.unlink(missing_ok=True)
        disk.write(draft, b"")
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in schema.DDL:
                connection.execute(statement)
            book.write_head(connection, seals, seals.genesis(os.urandom(16), schema.FORMAT))
            connection.execute("COMMIT")
        draft.rename(self.path)
        disk.sync(self.path.parent)

    def connect(self, *, writing: bool) -> sqlite3.Connection:
        """Open the file; a missing one is an error. With synchronous FULL a commit returns once the log is on the disk.

        In a directory that cannot be written, SQLite cannot make the log's index, and can read only files without a
        log.
        """
        identity = self._identity()
        mode = "rw" if writing or os.access(self.path.parent, os.W_OK) else self._frozen()
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=WAIT,
            isolation_level=None,
            check_same_thread=False,
            factory=_File,
        )
        try:
            for setting in (*_ALWAYS, *(_WRITING if writing else _READING)):
                connection.execute(f"PRAGMA {setting}").fetchall()
            if writing:
                with suppress(sqlite3.OperationalError):  # the next one tries again
                    for statement in schema.RENEWED:
                        connection.execute(statement)
                connection.execute("PRAGMA busy_timeout = 0")  # see ``begin``
        except sqlite3.Error:
            connection.close()
            raise
        connection.identity = identity
        return connection

    def is_usable(self, connection: book.StoreConnection) -> bool:
        """Always True: a new connection to a file would fail in the same way."""
        connection.rollback()
        return True

    def is_undone(self, error: Exception) -> bool:
        """Always where SQLite reports it."""
        return isinstance(error, sqlite3.Error)

    def begin(self, connection: book.StoreConnection, expected: book.Row | None = None) -> book.Row | None:  # noqa: ARG002
        """Wait at most ``WAIT`` seconds for another process. Raises ``Mismatch`` where the file was replaced."""
        if not isinstance(connection, _File) or connection.identity != self._identity():
            raise Mismatch("the file was replaced")
        until = time.monotonic() + WAIT
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(TURN)
        row: book.Row | None = connection.execute(book.HEAD).fetchone()
        return row

    def look(self, connection: book.StoreConnection, *, whole: bool = False) -> None:
        """Open a transaction that sees the state at its first read; a mapped file is read in half the time.

        A fault of the disk then ends the process: so only where a verification reads all of it.
        """
        if whole:
            connection.execute(f"PRAGMA mmap_size = {MAPPED}").fetchall()
        connection.execute("BEGIN")

    def check(self, connection: book.StoreConnection) -> None:
        """Compare every table, index and trigger with those of a new ledger."""
        if not schema.is_ledger(schema.describe(connection)):
            raise Mismatch("its tables are not those of a ledger")

    def archived(self, connection: book.StoreConnection) -> tuple[bytes, bytes] | None:
        """The row of ``archived``."""
        if _ARCHIVED not in schema.describe(connection):
            return None
        row: tuple[bytes, bytes] = connection.execute("SELECT body, seal FROM archived").fetchone()
        return row

    def translated(self, ddl: str) -> str:
        """Definitions are written for SQLite."""
        return ddl

    @property
    def guards(self) -> tuple[Sequence[str], Sequence[str]]:
        """The triggers."""
        triggers = {name: sql for name, sql in schema.GUARDS.items() if sql.startswith("CREATE TRIGGER")}
        return [f"DROP TRIGGER {name}" for name in triggers], list(triggers.values())

    checks = ()

    def copy(self, connection: book.StoreConnection, target: sqlite3.Connection) -> None:
        """Copy its pages."""
        if not isinstance(connection, sqlite3.Connection):
            raise TypeError("a connection to a file")
        connection.backup(target)
        target.execute("PRAGMA journal_mode = DELETE").fetchall()  # else a -wal file lies beside it

    def check_pages(self, connection: book.StoreConnection) -> None:
        """Check every page of the file."""
        if connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
            raise Mismatch("the file is damaged")

    def checkpoint(self, connection: book.StoreConnection) -> None:
        """Move the log into the file; PASSIVE does not wait for readers, and the log's blocks are reused."""
        with suppress(sqlite3.Error):
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _frozen(self) -> str:
        """The mode for a file in a directory that this process cannot write: it can be read if it has no log.

        Where the disk is mounted read-only, another host may write: then there is a log, or the file seems damaged.
        """
        log, index = (self.path.with_name(f"{self.path.name}-{kind}") for kind in ("wal", "shm"))
        if index.exists():
            return "ro"
        is_whole = not (log.exists() and log.stat().st_size)
        if is_whole and os.statvfs(self.path).f_flag & os.ST_RDONLY:
            return "ro&immutable=1"
        raise sqlite3.OperationalError(_COPY.format(name=self.path.name))

    def _identity(self) -> tuple[int, int]:
        stat = os.stat(self.path)
        return stat.st_dev, stat.st_ino


_ARCHIVED = "table", "archived", schema.ARCHIVED
_COPY = (
    "its directory cannot be written, as SQLite needs it: copy {name}, with {name}-wal where there is one, to a "
    "directory that can, and verify it there by --file, or run this as its owner"
)
_ALWAYS = ("trusted_schema = OFF", "cell_size_check = ON", "temp_store = MEMORY")
_READING = ("query_only = ON",)
# Checkpoints are the writer's own business, after the callers have their answer.
_WRITING = ("journal_mode = WAL", "synchronous = FULL", "fullfsync = ON", "wal_autocheckpoint = 0")
