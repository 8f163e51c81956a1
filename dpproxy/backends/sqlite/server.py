"""A SQLite file as a data source: connections that can only read, one snapshot for each statement, of live rows.

The engine is a library inside this process. A statement is stopped by the library's own interrupt, which it heeds after
each few steps of its program.
"""

import logging
import sqlite3
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Context, Decimal
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from dpproxy.backends.failures import failure
from dpproxy.backends.servers.dialect import Unanswered, Value
from dpproxy.backends.servers.source import Order
from dpproxy.backends.servers.underway import Running, Underway
from dpproxy.backends.sqlite.dialect import dialect
from dpproxy.backends.sqlite.functions import register
from dpproxy.backends.sqlite.schema import Described, described
from dpproxy.backends.sqlite.values import ENGINE
from dpproxy.values.errors import Refusal, StartupError
from dpproxy.values.pgtypes import Schema

_LOG = logging.getLogger(__name__)
OLDEST = (3, 39, 0)
"""The release that joins on both sides."""
PATIENCE = 5.0
"""Seconds that a writer's lock is waited for."""
KEPT = 8
"""Connections kept open for the next statement."""
PORTION = 20_000
"""Rows that are fetched at once."""


class Sqlite:
    """Connections to one file; its methods may be called from any thread.

    Errors: ``StartupError`` where the file cannot be read, or the library is too old.
    """

    def __init__(self, path: Path, name: str, limit: float) -> None:
        self._path, self._name, self.limit = path.absolute(), name, limit
        self._lock = threading.Lock()
        self._idle: list[tuple[sqlite3.Connection, tuple[int, int]]] = []
        self._running = Running()
        if sqlite3.sqlite_version_info < OLDEST:
            raise StartupError(
                f"data.{name}.path: expected SQLite 3.39 or newer in Python, which has {_version()}"
            )
        try:
            with self._used() as connection:
                self._described: Described = described(connection)
                self._version = self._seen_version(connection)
        except (sqlite3.Error, OSError):
            raise StartupError(
                f"data source {path} cannot be opened: it is no SQLite database, or damaged"
            ) from None
        self.dialect = dialect(self._described.columns)
        self._columns = {
            table: {name: value.as_column("") for name, value in columns.items()}
            for table, columns in self._described.columns.items()
        }

    def schema(self) -> Schema:
        """Tables, columns and views, from the DDL alone."""
        return self._described.schema

    def tables(self, database: str, name: str) -> Mapping[str, Value] | None:
        """How the columns of a table are read; None where there is none."""
        return None if database else self._columns.get(name)

    def check(self, sql: str, parameters: int, tables: frozenset[str] = frozenset()) -> None:
        """Have the statement compiled and not run: what SQLite would not take is refused before it costs anything."""
        try:
            with self._used() as connection:
                self._look(connection, tables, charged=False)
                connection.execute(f"EXPLAIN {sql}", _bound([None] * parameters)).fetchall()
        except sqlite3.OperationalError as error:
            if _is_locked(error):
                raise failure("unavailable") from None
            raise Unanswered("this statement", ENGINE) from None
        except (sqlite3.Error, OSError):
            raise Unanswered("this statement", ENGINE) from None

    def batches(self, order: Order) -> Generator[pa.Table]:
        """The rows of one statement, as they are taken; all of them are of one snapshot."""
        statement: Underway | None = None
        try:
            with (
                self._used() as connection,
                self._running.of(order.session, Underway(order.limit, connection.interrupt)) as statement,
            ):
                _check_wanted(order)
                self._look(connection, order.tables, charged=order.charged)
                for sql, told in order.facts:
                    _check_fact(_table(connection.execute(sql).fetchall(), told.schema), told)
                cursor = connection.execute(order.sql, _bound(order.values))
                while rows := cursor.fetchmany(PORTION):
                    yield _table(rows, order.types)
        except Refusal:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, it may quote a row
            raise failure(_code(statement, order)) from None

    def interrupt(self, session: str) -> None:
        """Stop what a session runs, from any thread; does not wait."""
        self._running.interrupt(session)

    def close(self) -> None:
        """Stop what runs and close all connections."""
        self._running.close()
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _look(self, connection: sqlite3.Connection, tables: frozenset[str], *, charged: bool) -> None:
        """Raise ``Internal`` where a table is declared otherwise than at the start; of the statement's snapshot."""
        version = self._seen_version(connection)
        if version == self._version:
            return
        now = described(connection).schema.tables
        told = [t for t in sorted(tables) if not _holds(self.schema(), now, t)]
        if told:
            _LOG.error('data source %s has changed: table "%s" is declared otherwise', self._name, told[0])
            raise failure("altered, charged" if charged else "altered")
        if all(_holds(self.schema(), now, table) for table in self.schema().tables):
            self._version = version

    def _seen_version(self, connection: sqlite3.Connection) -> tuple[int, ...]:
        """What changes with each declaration: a counter of the file, and which file it is."""
        [number] = connection.execute("PRAGMA main.schema_version").fetchone()
        return (int(number), *self._place())

    def _place(self) -> tuple[int, int]:
        found = self._path.stat()
        return found.st_dev, found.st_ino

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a transaction that reads; a kept one only of the file that is there now."""
        place = self._place()
        connection = self._take(place)
        try:
            connection.execute("BEGIN")
            yield connection
            connection.execute("ROLLBACK")
        except BaseException:
            connection.close()
            raise
        with self._lock:
            if len(self._idle) < KEPT:
                self._idle.append((connection, place))
                return
        connection.close()

    def _take(self, place: tuple[int, int]) -> sqlite3.Connection:
        with self._lock:
            others = [c for c, of in self._idle if of != place]
            self._idle = [(c, of) for c, of in self._idle if of == place]
            found = self._idle.pop()[0] if self._idle else None
        for other in others:
            other.close()
        return found or self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(str(self._path))}?mode=ro", uri=True, isolation_level=None, timeout=PATIENCE,
            check_same_thread=False,
        )  # fmt: skip
        # No row is written anywhere, nor does a trigger, a view or a default of the file run a function of ours.
        for setting in ("query_only = 1", "trusted_schema = 0", "temp_store = 2", "mmap_size = 0"):
            connection.execute(f"PRAGMA {setting}")
        register(connection)
        return connection


def _check_wanted(order: Order) -> None:
    if order.cancelled():
        raise failure("cancelled")


def _check_fact(found: pa.Table, told: pa.Table) -> None:
    if found != told:
        raise failure("changed")


def _holds(before: Schema, now: Mapping[str, object], table: str) -> bool:
    columns = now.get(table, ())
    return all(column in columns for column in before.tables[table])  # type: ignore[operator]


def _version() -> str:
    return sqlite3.sqlite_version


def _bound(values: Sequence[object]) -> dict[str, object]:
    """Parameters by their numbers, as ``$1`` names them."""
    return {str(number): value for number, value in enumerate(values, start=1)}


def _is_locked(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorname in ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN")


def _table(rows: list[tuple[object, ...]], types: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    arrays = [_array(values, field.type) for values, field in zip(columns, types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=types)


_WIDE = Context(prec=40)
"""More digits than any number here has."""


def _array(values: tuple[object, ...], kind: pa.DataType) -> pa.Array:
    """Values as they are held in SQLite: digits of a DECIMAL, days, microseconds, 0 and 1."""
    if pa.types.is_decimal(kind):
        made = [None if v is None else Decimal(int(v)).scaleb(-kind.scale, _WIDE) for v in values]  # type: ignore[call-overload]
        return pa.array(made, kind)
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if pa.types.is_boolean(kind):
        return pa.array([None if v is None else bool(v) for v in values], kind)
    return pa.array(values, kind)


def _code(statement: Underway | None, order: Order) -> str:
    """The entry of ``failures``: over protected rows no error tells what they did."""
    reason = None if statement is None else statement.reason(charged=order.charged)
    return reason or ("exact" if order.charged else "public")
