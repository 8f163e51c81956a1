"""Prepared tables: derived once, kept in a DuckDB file of our own that is attached beside the data.

A table is built by the first statement that reads it, in one transaction: a crash leaves the whole table or nothing.
Where files were added to the data it follows (``growth``).
The file's name tells what all of them rest on, the state of the data and the truncation secret; a table's name tells
the rest. Each process that serves the data has a file of its own.
"""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb

from dpproxy.algebra.plan import PreparedTable
from dpproxy.backends.duckdb.growth import EARLIER, importer, noted_files
from dpproxy.backends.duckdb.snapshot import SETTINGS, log_of
from dpproxy.backends.failures import Altered, WorkerLost, failure
from dpproxy.backends.source import Source
from dpproxy.sql.quoting import identifier, literal
from dpproxy.system.disk import in_use, lock
from dpproxy.values.errors import Cancelled, Internal
from dpproxy.values.grid import instant
from dpproxy.values.jobs import Jobs

MOST_LOADS = 7
"""So often a table is taken over that nobody has asked for in between."""
SLOW = 1.0
"""Seconds from which a build is told."""
POLL = 0.05
"""Seconds between two looks at whether who waits has changed their mind."""
MOST_LOST = 2
"""Builds during which the engine's process may end before there are no more."""
SESSION = "prepared tables"
"""The builder's name among the sessions."""


def prepared_file(state: Path, data: Path, secret: bytes) -> Path:
    """The file for this state of the data; those of others are removed, but not while they are open.

    Where files were added to the data it is made of the one before, whose tables then follow (``growth``).
    """
    status = data.stat()
    alike = _digest(f"{duckdb.__version__}/{importer()}/", secret)[:12]
    name = _digest(f"{duckdb.__version__}/{data.resolve()}/{status.st_size}/{status.st_mtime_ns}/", secret)
    path = state / f"prepared-{alike}-{name[:24]}.duckdb"
    with lock(state):
        for old in sorted(state.glob("prepared-*.duckdb"), key=lambda file: -file.stat().st_mtime_ns):
            if old.name.startswith(path.stem) or in_use(old):
                continue
            begins, _, number = old.stem.rpartition("-")
            later = path if len(number) > 2 else path.with_stem(f"{path.stem}-{number}")
            is_alike = begins.startswith(f"prepared-{alike}")
            if later.exists() or not is_alike or not _carry(old, later, data):
                old.unlink(missing_ok=True)
                log_of(old).unlink(missing_ok=True)
    return path


def _digest(rests_on: str, secret: bytes) -> str:
    return hashlib.sha256(rests_on.encode() + secret).hexdigest()


def _carry(old: Path, path: Path, data: Path) -> bool:
    """Take over a file of prepared tables for data that have grown; False where they are others.

    What stays in it are tables of fewer files, which no statement reads.
    """
    try:
        with duckdb.connect(old, config=SETTINGS) as connection:
            connection.execute(f"ATTACH {literal(str(data))} AS data (READ_ONLY)")
            states = "SELECT name, size, modified FROM {} ORDER BY {}"
            now = connection.execute(states.format(f"data.{noted_files()}", "rowid")).fetchall()
            known = connection.execute(states.format("notes.files", "n")).fetchall()
            if not known or known != now[: len(known)]:
                return False
            connection.execute("BEGIN")
            _set_aside(connection)
            connection.execute("DROP TABLE notes.files")
            connection.execute(
                f"CREATE TABLE notes.files AS SELECT rowid AS n, name, size, modified FROM data.{noted_files()}"  # noqa: S608
            )
            connection.execute("COMMIT")
            connection.execute("CHECKPOINT")
    except duckdb.Error:
        return False
    if log_of(old).exists():  # it would stay behind, under the old name
        return False
    old.rename(path)
    return True


def _set_aside(connection: duckdb.DuckDBPyConnection) -> None:
    """Name all tables as those of fewer files; drop the others, and what nobody has asked for in a long time."""
    notes = "SELECT name, max(loads) FROM notes.built GROUP BY name"
    loads = dict(connection.execute(notes).fetchall())
    tables = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main'"
    there = {name for (name,) in connection.execute(tables).fetchall()}
    for name in there | loads.keys():
        if name in there and loads.get(name, MOST_LOADS) < MOST_LOADS:
            later = EARLIER + name.removeprefix(EARLIER)
            if later != name:
                connection.execute(f"ALTER TABLE main.{identifier(name)} RENAME TO {identifier(later)}")
            connection.execute(
                "UPDATE notes.built SET name = ?, loads = loads + 1 WHERE name = ?", [later, name]
            )
        else:
            connection.execute(f"DROP TABLE IF EXISTS main.{identifier(name)}")
            connection.execute("DELETE FROM notes.built WHERE name = ?", [name])


class PreparedTables:
    """Builds what statements read, one at a time; its methods may be called from any thread."""

    def __init__(
        self,
        backend: Source,
        secret: bytes,
        progress: Callable[[str], None],
        padding: float = 0.0,
        jobs: Jobs | None = None,
    ) -> None:
        self._jobs = jobs or Jobs()
        self._backend = backend
        self._secret = secret
        self._progress = progress
        self._padding = padding
        self._builder = ThreadPoolExecutor(1, "prepare")
        self._lock = threading.Lock()
        self._epoch = backend.epoch
        self._present = backend.prepared_names()
        self._building: dict[str, Future[None]] = {}
        self._read = Counter[str]()
        self._closed = threading.Event()
        self._lost = 0
        self.usable = backend.prepares
        """False once a table could not be built: statements are planned without from then on."""

    @contextmanager
    def ready(self, tables: Sequence[PreparedTable], cancelled: Callable[[], bool]) -> Iterator[None]:
        """Have the tables there, and keep them until the end.

        Errors: ``Cancelled`` while others build, who go on; ``Internal`` where a table cannot be built.
        """
        self._look_again()
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
            if not self._closed.is_set() and self._present - set(names):
                self._builder.submit(self._drop, frozenset(names))

    def close(self) -> None:
        """Stop building; what was half built is not there."""
        self._closed.set()
        self._backend.interrupt(SESSION)
        self._builder.shutdown(wait=True, cancel_futures=True)

    def _await(self, table: PreparedTable, cancelled: Callable[[], bool]) -> None:
        with self._lock:
            if table.name in self._present:
                return
            if self._closed.is_set():
                raise failure("stopping")
            future = self._building.get(table.name)
            if future is None:
                future = self._building[table.name] = self._builder.submit(self._build, table)
        while True:
            try:
                error = future.exception(POLL)
            except TimeoutError:
                if cancelled():
                    raise failure("cancelled") from None
                continue
            if error is not None:
                raise failure("altered, charged" if isinstance(error, Altered) else "exact") from None
            return

    def _look_again(self) -> None:
        """Another process of the engine may have found the file damaged, and made it anew."""
        epoch = self._backend.epoch
        if epoch != self._epoch:
            present = self._backend.prepared_names()
            with self._lock:
                self._epoch, self._present = epoch, present

    def _build(self, table: PreparedTable) -> None:
        """Build one table. All who wait see it at one point of one grid: when it was finished tells of rows."""
        began, made = time.monotonic(), False
        watch = threading.Timer(SLOW, self._progress, (f'preparing table "{table.table}"',))
        watch.start()
        try:
            with self._jobs.job("table", table.table, lambda: self._backend.progress(SESSION)):
                self._make(table)
            made = True
        finally:
            is_slow = not watch.is_alive()
            watch.cancel()
            elapsed = time.monotonic() - began
            self._closed.wait(instant(elapsed, self._padding) - elapsed)
            with self._lock:
                self._building.pop(table.name, None)
                self._present |= {table.name} if made else set()
        if is_slow:
            self._progress(f'table "{table.table}" is prepared')

    def _make(self, table: PreparedTable) -> None:
        given = {"1": self._secret.hex()} if table.truncated else {}
        try:
            self._backend.build(table.name, table.query, given, SESSION, self._closed.is_set)
        except (Cancelled, Altered):
            raise
        except Internal as error:
            self._lost += isinstance(error, WorkerLost)
            if not isinstance(error, WorkerLost) or self._lost > MOST_LOST:
                self.usable = False
                self._progress(
                    f'table "{table.table}" could not be prepared: statements bound their rows one by one until the '
                    "next start; is there room for it?"
                )
            raise

    def _drop(self, names: frozenset[str]) -> None:
        with self._lock:
            stale = {n for n in self._present - names if not self._read[n]}
            self._present -= stale
        for name in sorted(stale):
            self._backend.build(name, None, {}, SESSION, self._closed.is_set)
