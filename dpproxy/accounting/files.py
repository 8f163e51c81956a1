"""The ledger's files in the state directory: the lock, the key, and the database at the first start.

``ledger.key`` is the witness that a ledger was begun: a missing ``ledger.sqlite`` beside it is never replaced
silently.
"""

import fcntl
import hashlib
import os
import secrets
import sqlite3
from pathlib import Path

from dpproxy.accounting import book, schema
from dpproxy.accounting.chain import Seals
from dpproxy.errors import StartupError

DATABASE = "ledger.sqlite"
KEY = "ledger.key"
LOCK = "ledger.lock"

_OWN = "key "
_GIVEN = "fingerprint "


def lock(directory: Path) -> int:
    """Take the state directory for this process; returns the descriptor that holds it until closed.

    Errors: StartupError where another process has it.
    """
    descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(descriptor)
        raise StartupError(
            f"another proxy (process {holder}) already uses the state directory {directory}"
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
    return descriptor


def prepare(directory: Path, secret: bytes | None) -> Seals:
    """The key of the ledger in ``directory``; at the first start both are made.

    ``secret``, where given, is the key, and only its fingerprint is kept on the disk.

    Errors: StartupError where one of the two files is missing, or the key is not the ledger's.
    """
    database, key, new = directory / DATABASE, directory / KEY, directory / f"{DATABASE}.new"
    if not key.exists():
        if database.exists():
            raise StartupError(f"ledger {database} has lost its key {key}: refusing to serve; {_ANEW}")
        return _begin(directory, secret)
    seals = _read_key(key, secret)
    if not database.exists():
        # The database is finished before the key gets its name, and gets its own name after it: here the
        # machine stopped between the two.
        if not new.exists():
            raise StartupError(f"ledger {database} is missing beside {key}: refusing to serve; {_ANEW}")
        new.rename(database)
        _sync(directory)
    return seals


_ANEW = "restore it, or to start anew deliberately, forgetting all that was spent, move both files away"


def _begin(directory: Path, secret: bytes | None) -> Seals:
    database, key = directory / DATABASE, directory / KEY
    own = secrets.token_bytes(32)
    seals = Seals(own if secret is None else secret)
    line = f"{_OWN}{own.hex()}\n" if secret is None else f"{_GIVEN}{_fingerprint(secret)}\n"
    new_database, new_key = database.with_name(f"{DATABASE}.new"), key.with_name(f"{KEY}.new")
    new_database.unlink(missing_ok=True)
    _write(new_key, line.encode())
    _write(new_database, b"")
    connection = sqlite3.connect(new_database, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in schema.DDL:
            connection.execute(statement)
        book.write_head(connection, seals, seals.genesis(secrets.token_bytes(16), schema.FORMAT))
        connection.execute("COMMIT")
    finally:
        connection.close()
    new_key.rename(key)
    _sync(directory)
    new_database.rename(database)
    _sync(directory)
    return seals


def _read_key(path: Path, secret: bytes | None) -> Seals:
    line = path.read_bytes().decode("ascii", "replace").strip()
    if secret is not None and line == f"{_GIVEN}{_fingerprint(secret)}":
        return Seals(secret)
    if secret is None and line.startswith(_OWN):
        try:
            return Seals(bytes.fromhex(line.removeprefix(_OWN)))
        except ValueError as error:
            raise StartupError(f"ledger key {path} cannot be read: refusing to serve") from error
    raise StartupError(f"ledger key {path} is not the one configured: refusing to serve")


def _fingerprint(secret: bytes) -> str:
    return hashlib.sha256(b"ledger key fingerprint\0" + secret).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """A file only its owner may read, on the disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(directory: Path) -> None:
    """Make renames in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
