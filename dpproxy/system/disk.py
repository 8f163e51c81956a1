"""Small files that are written atomically, and locks for their writers."""

import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, durably."""
    _write(path, content, os.O_TRUNC)


def replace(path: Path, content: bytes) -> None:
    """As ``write``, by renaming a temporary file, so that the file is never incomplete."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.partial")
    try:
        _write(draft, content, os.O_EXCL)
        draft.replace(path)
        sync(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def _write(path: Path, content: bytes, flag: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Flush a file, or the renames in a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def lock(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold an exclusive lock on a folder or file, so that processes take turns; ``waiting`` is called before a wait."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child forked meanwhile has the descriptor too
        os.close(descriptor)


def in_use(path: Path) -> bool:
    """True where another process has the database in a file open; SQLite and DuckDB both keep a lock of POSIX."""
    try:
        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return path.exists()
    return False


_SQLITE = b"SQLite format 3\0"


def is_sqlite(path: Path) -> bool:
    """Whether a file is a SQLite database, by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False
