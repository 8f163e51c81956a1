"""Prepared tables: derived once, kept in a DuckDB file of our own that is attached beside the data.

A table is built by the first statement that reads it, in one transaction: a crash leaves the whole table or nothing.
The file's name tells what all of them rest on, the state of the data and the truncation secret; a table's name tells
the rest.
"""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb

from dpproxy.backends.duckdb import DuckDB
from dpproxy.errors import Cancelled, Internal
from dpproxy.plan import PREPARED, PreparedTable

SLOW = 1.0
"""Seconds from which a build is told."""
POLL = 0.05
"""Seconds between two looks at whether who waits has changed their mind."""
SESSION = "prepared tables"
"""The builder's name among the sessions."""


def prepared_file(state: Path, data: Path, secret: bytes) -> Path:
    """The file for this state of the data; those of others are removed."""
    status = data.stat()
    rests_on = f"{duckdb.__version__}/{data.resolve()}/{status.st_size}/{status.st_mtime_ns}/"
    name = hashlib.sha256(rests_on.encode() + secret).hexdigest()[:24]
    path = state / f"prepared-{name}.duckdb"
    for old in [*state.glob("prepared-*.duckdb"), *state.glob("prepared-*.duckdb.wal")]:
        if not old.name.startswith(path.name):
            old.unlink(missing_ok=True)
    return path


class PreparedTables:
    """Builds what statements read, one at a time; its methods may be called from any thread."""

    def __init__(self, backend: DuckDB, secret: bytes, progress: Callable[[str], None]) -> None:
        self._backend = backend
        self._secret = secret
        self._progress = progress
        self._builder = ThreadPoolExecutor(1, "prepare")
        self._lock = threading.Lock()
        self._present = backend.prepared_names()
        self._building: dict[str, Future[None]] = {}
        self._read = Counter[str]()
        self._closed = False
        self.usable = True
        """False once a table could not be built: statements are planned without from then on."""

    @contextmanager
    def ready(self, tables: Sequence[PreparedTable], cancelled: Callable[[], bool]) -> Iterator[None]:
        """Have the tables there, and keep them until the end.

        Errors: ``Cancelled`` while others build, who go on; ``Internal`` where a table cannot be built.
        """
        with self._lock:
            self._read.update(t.name for t in tables)
        try:
            for table in tables:
                self._await(table, cancelled)
            yield
        finally:
            with self._lock:
                self._read.subtract(t.name for t in tables)

    def keep(self, names: Collection[str]) -> None:
        """Drop all other tables but those that are being read; does not wait."""
        with self._lock:
            if not self._closed and self._present - set(names):
                self._builder.submit(self._drop, frozenset(names))

    def close(self) -> None:
        """Stop building; what was half built is not there."""
        with self._lock:
            self._closed = True
        self._backend.interrupt(SESSION)
        self._builder.shutdown(wait=True, cancel_futures=True)

    def _await(self, table: PreparedTable, cancelled: Callable[[], bool]) -> None:
        with self._lock:
            if table.name in self._present:
                return
            if self._closed:
                raise Internal("the server is shutting down; the statement stays charged")
            future = self._building.get(table.name)
            if future is None:
                future = self._building[table.name] = self._builder.submit(self._build, table)
        while True:
            try:
                error = future.exception(POLL)
            except TimeoutError:
                if cancelled():
                    raise Cancelled("canceling statement due to user request") from None
                continue
            if error is not None:
                raise Internal("the statement could not be computed; it stays charged") from None
            return

    def _build(self, table: PreparedTable) -> None:
        watch = threading.Timer(SLOW, self._progress, (f'preparing table "{table.table}"',))
        watch.start()
        try:
            given = {"1": self._secret.hex()} if table.truncated else {}
            self._run(f'CREATE TABLE "{PREPARED}"."main"."{table.name}" AS {table.sql}', given)
            with self._lock:
                self._present.add(table.name)
            self._run(f'CHECKPOINT "{PREPARED}"', {})
        except Cancelled:
            raise
        except Internal:
            if table.name not in self._present:
                self.usable = False
                self._progress(
                    f'table "{table.table}" could not be prepared: statements bound their rows one by one until the '
                    "next start; is there room in the state directory?"
                )
                raise
        finally:
            is_slow = not watch.is_alive()
            watch.cancel()
            with self._lock:
                self._building.pop(table.name, None)
        if is_slow:
            self._progress(f'table "{table.table}" is prepared')

    def _drop(self, names: frozenset[str]) -> None:
        with self._lock:
            stale = {n for n in self._present - names if not self._read[n]}
            self._present -= stale
        for name in sorted(stale):
            self._run(f'DROP TABLE IF EXISTS "{PREPARED}"."main"."{name}"', {})

    def _run(self, sql: str, parameters: Mapping[str, object]) -> None:
        self._backend.run(sql, parameters, SESSION, few=(), cancelled=lambda: self._closed)
