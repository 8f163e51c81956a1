"""The policy on disk: every version, who made it, and the statements that make it again.

One SQLite file, held by one process. A version is one row of ``history``: what was applied, and the whole policy as
statements, so that a stored version can be read without this program.
"""

import shutil
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from dpproxy.errors import CatalogueUnavailable, Refusal, StartupError, SyntaxRefused
from dpproxy.pgtypes import Schema
from dpproxy.policy.apply import apply
from dpproxy.policy.dump import dump
from dpproxy.policy.model import Policy
from dpproxy.policy.parser import parse
from dpproxy.policy.statements import Change, RefreshView, ResetBudget, Show, Suggest, VerifyViews
from dpproxy.policy.tokens import split_statements

FILE = "policy.sqlite"
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
_ALL = "SELECT version, at, by, statements FROM history ORDER BY version"
_ADD = "INSERT INTO history (version, at, by, statements, policy, data_version) VALUES (?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Version:
    """One change of the policy; ``at`` is ISO 8601 in UTC, ``statements`` what was applied."""

    version: int
    at: str
    by: str
    statements: str


def change_of(sql: str) -> Change:
    """A statement that changes the policy.

    Raises:
        SyntaxRefused: does not parse, only shows, or builds.
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
    """The policy in force and its history. Safe to use from several threads."""

    def __init__(self, connection: sqlite3.Connection, current: Policy) -> None:
        self._connection = connection
        self._current = current
        self._lock = threading.Lock()

    @classmethod
    def open(cls, directory: Path) -> Self:
        """The store in ``directory``, made where there is none.

        Raises:
            StartupError: not readable, damaged, of a newer format, or open in another process.
        """
        path = directory / FILE
        try:
            directory.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise StartupError(f"policy catalogue {path}: cannot be opened") from error
        try:
            return cls(connection, _load(connection, path))
        except BaseException:
            connection.close()
            raise

    @property
    def current(self) -> Policy:
        """The policy in force."""
        return self._current

    def change(self, statements: Sequence[str], schema: Schema, by: str) -> Policy:
        """Apply all the statements, or none; the policy in force afterwards.

        The version grows by one where the policy changed, and stays where it did not.

        Raises:
            Refusal: a statement does not parse or fit, at its position there; nothing changed.
        """

        def apply_all(policy: Policy) -> Policy:
            for sql in statements:
                policy = apply(policy, change_of(sql), schema)
            return policy

        return self.update(apply_all, ";\n".join(statements), by)

    def update(self, function: Callable[[Policy], Policy], statements: str, by: str) -> Policy:
        """Put ``function`` of the policy in force; ``statements`` is what the history keeps of it.

        Raises:
            CatalogueUnavailable: it cannot be written; nothing changed.
        """
        with self._lock:
            changed = replace(function(self._current), version=self._current.version)
            if changed != self._current:
                self._current = self._write(replace(changed, version=changed.version + 1), statements, by)
            return self._current

    def history(self) -> list[Version]:
        """Every version, the oldest first."""
        with self._lock:
            return [Version(*row) for row in self._connection.execute(_ALL)]

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def _write(self, policy: Policy, statements: str, by: str) -> Policy:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        text = ";\n".join(dump(policy))
        try:
            # One statement is one transaction; synchronous=FULL makes it durable before execute returns.
            self._connection.execute(_ADD, (policy.version, at, by, statements, text, policy.data_version))
        except sqlite3.Error as error:
            raise CatalogueUnavailable("the policy catalogue cannot be written") from error
        return policy


def _load(connection: sqlite3.Connection, path: Path) -> Policy:
    """Take the file for this process, check it, read the latest version."""
    try:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
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
        locked = error.sqlite_errorcode in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
        cause = "in use by another process" if locked else f"cannot be read or written ({error})"
        if not shutil.disk_usage(path.parent).free:
            cause = "cannot be written: the disk is full"
        raise StartupError(f"policy catalogue {path}: {cause}") from error
    except sqlite3.DatabaseError as error:
        raise StartupError(f"policy catalogue {path}: damaged; restore it from a backup") from error
    if health != "ok":
        raise StartupError(f"policy catalogue {path}: damaged; restore it from a backup")
    return Policy() if row is None else _replay(*row, path=path)


def _replay(version: int, text: str, data_version: int, *, path: Path) -> Policy:
    policy = Policy(version=version, data_version=data_version)
    try:
        for piece in split_statements(text):
            policy = apply(policy, change_of(piece.text), None)
    except Refusal as error:
        raise StartupError(f"policy catalogue {path}: version {version} does not read back") from error
    return policy
