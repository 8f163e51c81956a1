"""A copy of a ledger in a file, made while others write to it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.sqlite import SQLite
from dpproxy.accounting.store import Store
from dpproxy.accounting.verifier import parallel
from dpproxy.accounting.verify import verify
from dpproxy.accounting.walk import Reach, unheard
from dpproxy.system import disk
from dpproxy.values.errors import StartupError


def write(
    store: Store,
    seals: Seals,
    target: Path,
    reach: Reach = unheard,
    edit: Callable[[sqlite3.Connection], None] = lambda _: None,
) -> Head:
    """Copy the ledger as it is at one moment into the single file ``target``, which appears once it is verified.

    ``reach`` is told which part of it is verified; ``edit`` may change the copy before.

    Errors: StartupError if ``target`` exists or the copy does not verify; ``faults()``.
    """
    if target.exists():
        raise StartupError(f"{target}: expected a file that does not exist yet")
    draft = target.with_name(f"{target.name}.new")
    draft.unlink(missing_ok=True)
    disk.write(draft, b"")
    try:
        with (
            closing(store.connect(writing=False)) as source,
            closing(sqlite3.connect(draft, isolation_level=None)) as copy,
        ):
            store.copy(source, copy)
            edit(copy)
        head = verify(SQLite(draft), seals, None, walking=parallel(SQLite(draft), seals, reach)).head
        disk.sync(draft)
        draft.rename(target)
        disk.sync(target.parent)
    except Mismatch as error:
        raise StartupError(f"{target}: the copy does not verify ({error})") from error
    finally:
        draft.unlink(missing_ok=True)
    return head
