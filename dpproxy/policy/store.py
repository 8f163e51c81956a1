"""The policy on disk: every version, who made it, and the statements that recreate it.

One SQLite file, which several processes of a host may have open. A version is one row of ``history``: the statements
applied, and the whole policy as statements, so that it can be read without this program.
"""

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from dpproxy.policy.apply import apply
from dpproxy.policy.dump import dump
from dpproxy.policy.fitting import Clock, of_utc
from dpproxy.policy.model import Policy
from dpproxy.policy.parser import parse
from dpproxy.policy.statements import Change, RefreshView, ResetBudget, Show, Suggest, VerifyViews
from dpproxy.sql.lexer import pieces
from dpproxy.values.errors import CatalogueUnavailable, StartupError, SyntaxRefused
from dpproxy.values.pgtypes import Schema

FILE = "policy.sqlite"
POLL = 0.02
"""Seconds between two checks for changes by other processes; each statement needs the policy several times."""
WAIT = 5
"""Seconds to wait for another process that changes the policy."""
_FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS history (
  version INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  by TEXT NOT NULL,
  statements TEXT NOT NULL,
  policy TEXT NOT NULL,
  data_version INTEGER NOT NULL
) STRICT
"""
_LATEST = "SELECT version, policy, data_version FROM history ORDER BY version DESC LIMIT 1"
_ADD = "INSERT INTO history (version, at, by, statements, policy, data_version) VALUES (?, ?, ?, ?, ?, ?)"


def change_of(sql: str) -> Change:
    """A statement that changes the policy.

    Raises:
        SyntaxRefused: does not parse, only lists, or builds a view.
    """
    statement = parse(sql)
    match statement:
        case Show() | Suggest():
            word, position = type(statement).__name__.upper(), statement.position
        case RefreshView():
            word, position = "REFRESH", statement.name.position
        case VerifyViews():
            word, position = "VERIFY", statement.names[0].position
        case ResetBudget():
            word, position = "RESET", statement.position
        case _:
            return statement
    raise SyntaxRefused(f"{word} changes nothing of the policy and has no place here", position=position)


class PolicyStore:
    """The policy in force and its history. Safe to use from several threads and processes."""

    def __init__(self, connection: sqlite3.Connection, path: Path, current: Policy) -> None:
        self._connection = connection
        self._path = path
        self._current = current
        self._seen: int | None = None
        self._known_until = 0.0
        self._lock = threading.Lock()
        self.files: tuple[Path, ...] = ()
        """The policy files of the start."""

    @classmethod
    def open(cls, directory: Path) -> Self:
        """The store in ``directory``, made where there is none.

        Raises:
            StartupError: not readable, damaged, of a newer format, or locked by another process.
        """
        path = directory / FILE
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise StartupError(f"policy catalogue {path}: cannot be opened") from error
        try:
            return cls(connection, path, _load(connection, path))
        except BaseException:
            connection.close()
            raise

    @property
    def directory(self) -> Path:
        """Where the store is."""
        return self._path.parent

    @property
    def current(self) -> Policy:
        """The policy in force, whichever process changed it last; the same object until one does.

        A change by another process is seen at most ``POLL`` seconds later.

        Raises:
            CatalogueUnavailable: it cannot be read.
        """
        if time.monotonic() < self._known_until:
            return self._current
        with self._lock:
            return self._refreshed()

    def change(self, statement: Change, sql: str, schema: Schema, by: str, clock: Clock = of_utc) -> Policy:
        """Apply a statement; returns the policy in force afterwards. The history stores ``sql``.

        The version grows by one where the policy changed, and stays where it did not. Timestamps
        without a zone are converted by ``clock``.

        Raises:
            Refusal: the statement does not fit, at its position there; nothing changed.
        """
        return self.update(lambda policy: apply(policy, statement, schema, clock), sql, by)

    def update(self, function: Callable[[Policy], Policy], statements: str, by: str) -> Policy:
        """Replace the policy in force by ``function`` of it; the history stores ``statements``.

        Raises:
            CatalogueUnavailable: it cannot be written; nothing changed.
        """
        with self._lock:
            with self._transaction():
                current = self._refreshed()
                changed = replace(function(current), version=current.version)
                if changed == current:
                    return current
                changed = replace(changed, version=changed.version + 1)
                self._write(changed, statements, by)
            self._current = changed
        return changed

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _refreshed(self) -> Policy:
        """Read again where another connection has committed since."""
        try:
            (seen,) = self._connection.execute("PRAGMA data_version").fetchone()
            if seen != self._seen:
                row = self._connection.execute(_LATEST).fetchone()
                if row is not None and row[0] != self._current.version:
                    self._current = _replay(*row, path=self._path)
                self._seen = seen
            self._known_until = time.monotonic() + POLL
        except (sqlite3.Error, StartupError) as error:
            raise CatalogueUnavailable("the policy catalogue cannot be read") from error
        return self._current

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """No other process changes the policy meanwhile; synchronous=FULL makes it durable at the end."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.rollback()
                raise
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._connection.rollback()
            raise CatalogueUnavailable("the policy catalogue cannot be written") from error

    def _write(self, policy: Policy, statements: str, by: str) -> None:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        text = ";\n".join(dump(policy))
        self._connection.execute(_ADD, (policy.version, at, by, statements, text, policy.data_version))


def _load(connection: sqlite3.Connection, path: Path) -> Policy:
    """Check the file and read the latest version."""
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("BEGIN IMMEDIATE")
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found not in {0, _FORMAT}:
            raise StartupError(f"policy catalogue {path}: of format {found}, this program reads {_FORMAT}")
        connection.execute(_SCHEMA)
        connection.execute(f"PRAGMA user_version={_FORMAT}")
        (health,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        row = connection.execute(_LATEST).fetchone()
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:  # Python's own: a text that is not UTF-8, which its message would quote
            raise StartupError(f"policy catalogue {path}: damaged; restore it from a backup") from None
        locked = code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
        cause = "in use by another process" if locked else f"cannot be read or written ({error})"
        if not shutil.disk_usage(path.parent).free:
            cause = "cannot be written: the disk is full"
        raise StartupError(f"policy catalogue {path}: {cause}") from error
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:  # what SQLite says of it may be no text
        raise StartupError(f"policy catalogue {path}: damaged; restore it from a backup") from error
    if health != "ok":
        raise StartupError(f"policy catalogue {path}: damaged; restore it from a backup")
    return Policy() if row is None else _replay(*row, path=path)


def _replay(version: int, text: str, data_version: int, *, path: Path) -> Policy:
    policy = Policy(version=version, data_version=data_version)
    try:
        for piece in pieces(text):
            policy = apply(policy, change_of(piece.text), None)
    except Exception as error:  # a refusal, or whatever a damaged text leads to
        raise StartupError(f"policy catalogue {path}: version {version} does not read back") from error
    return policy
