"""Files beside the ledger in the state directory: its key, and the lock held while ledger and key are created.

``ledger.key`` proves that a ledger existed: if the ledger is missing beside it, no new one is created silently.
"""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dpproxy.accounting import book
from dpproxy.accounting.chain import Mismatch, Seals
from dpproxy.accounting.store import Store
from dpproxy.system import disk
from dpproxy.values.errors import StartupError

DATABASE = "ledger.sqlite"
KEY = "ledger.key"
LOCK = "ledger.lock"
START = "start.lock"

_OWN = "key "
_GIVEN = "fingerprint "


@contextmanager
def starting(directory: Path, progress: Callable[[str], None]) -> Iterator[None]:
    """Hold the start-up lock of a state directory: the first of several processes creates the files for all."""
    with alone(directory / START, lambda: progress("waiting for another process that starts here")):
        yield


@contextmanager
def alone(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold an exclusive lock on a file, created if missing; waits for other processes that hold it.

    ``waiting`` is called once if another process holds the lock.

    Errors: StartupError if the file cannot be created.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StartupError(f"state directory {path.parent} cannot be used: {error.strerror}") from error
    with disk.lock(path, waiting):
        yield


def prepare(directory: Path, secret: bytes | None, store: Store) -> Seals:
    """The key of the ledger in ``store``, from a file in ``directory``; the first start creates ledger and key.

    If ``secret`` is passed it is the key, and the file has only its fingerprint.

    Errors: StartupError if only one of ledger and key exists, or the key is not the ledger's.
    """
    key = directory / KEY
    if key.exists():
        if not store.exists:
            raise StartupError(f"ledger {store.name} is missing beside {key}: refusing to serve; {_ANEW}")
        return read_key(key, secret)
    draft = key.with_name(f"{KEY}.new")
    if not store.exists:
        own = secrets.token_bytes(32)
        line = f"{_OWN}{own.hex()}\n" if secret is None else f"{_GIVEN}{_fingerprint(secret)}\n"
        disk.write(draft, line.encode())
        disk.sync(directory)
        store.create(Seals(own if secret is None else secret))
    elif not draft.exists() or not _seals(store, read_key(draft, secret)):
        raise StartupError(f"ledger {store.name} has lost its key {key}: refusing to serve; {_ANEW}")
    # The ledger is complete before the key is renamed: after a crash in between, the next start finishes the job.
    draft.rename(key)
    disk.sync(directory)
    return read_key(key, secret)


_ANEW = "restore it, or to start anew deliberately, forgetting all that was spent, move both away"


def _seals(store: Store, seals: Seals) -> bool:
    """Whether the ledger was made with this key."""
    with closing(store.connect(writing=False)) as connection:
        try:
            book.read_head(connection, seals)
        except Mismatch:
            return False
        return True


def read_key(path: Path, secret: bytes | None) -> Seals:
    """The key in a file, or ``secret`` if the file has its fingerprint. Raises StartupError."""
    line = path.read_bytes().decode("ascii", "replace").strip()
    if secret is not None and line == f"{_GIVEN}{_fingerprint(secret)}":
        return Seals(secret)
    if secret is None and line.startswith(_OWN):
        try:
            return Seals(bytes.fromhex(line.removeprefix(_OWN)))
        except ValueError as error:
            raise StartupError(f"ledger key {path} cannot be read: refusing to serve") from error
    what = "is not the one configured" if secret is not None or line.startswith(_GIVEN) else "cannot be read"
    raise StartupError(f"ledger key {path} {what}: refusing to serve")


def _fingerprint(secret: bytes) -> str:
    return hashlib.sha256(b"ledger key fingerprint\0" + secret).hexdigest()
