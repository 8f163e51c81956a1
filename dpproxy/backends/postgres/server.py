"""PostgreSQL as a data source: connections that can only read, one snapshot for each statement.

A statement that is asked to stop and does not has its connection closed; the server then stops it by itself. After a
restart of the server the statements that ran have failed, and the next one finds a connection of its own.
"""

import logging
import os
import select
import socket
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import errors
from psycopg.pq import TransactionStatus

from dpproxy.backends.asker import asker, unpaid
from dpproxy.backends.failures import failure
from dpproxy.backends.postgres.casts import RELEASED
from dpproxy.backends.postgres.dialect import dialect
from dpproxy.backends.postgres.schema import (
    Declared,
    Described,
    altered,
    declared,
    described,
    described_together,
)
from dpproxy.backends.postgres.start import (
    LONGEST_CONNECT,
    check_role,
    check_server,
    check_settings,
    reason,
    schema_of,
)
from dpproxy.backends.servers.dialect import Unanswered, Value
from dpproxy.backends.servers.source import Order
from dpproxy.backends.servers.underway import GRACE, Running, Underway
from dpproxy.values.errors import StartupError
from dpproxy.values.pgtypes import Schema

_LOG = logging.getLogger(__name__)
KEPT = 8
"""Connections kept open for the next statement."""
PORTION = 20_000
"""Rows that are fetched at once."""
WRITES = {"default_transaction_read_only": "off"}
"""What is different where a prepared table is built."""
SETTINGS = {
    "search_path": "pg_catalog,pg_temp",  # no function, operator or type of a user's is ever found
    "row_security": "off",  # a policy that chooses rows fails the statement before it reads one
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "repeatable read",
    "timezone": "UTC",
    "datestyle": "ISO",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "lock_timeout": "0",  # who waits for a table has a limit, and is stopped when its session's timeout is over
    "idle_in_transaction_session_timeout": "1min",
    "client_connection_check_interval": "1s",
    "jit": "off",  # it takes longer than most statements
}


class PostgresServer:
    """Connections to one server; its methods may be called from any thread.

    Errors: ``StartupError`` where the server cannot be reached, is too old, or its role could write.
    """

    def __init__(self, url: str, name: str, limit: float, schemas: Sequence[str] = ()) -> None:
        self._url = url
        self._name = name
        self.settings = dict[str, str]()
        """What else is set on each connection from now on."""
        self._lock = threading.Lock()
        self._idle: list[psycopg.Connection[Any]] = []
        self._running = Running()
        self.limit = limit
        try:
            with self._connect() as connection:
                check_server(connection, name)
                self.schema_name = schema_of(url, name)
                self._schemas = {"": self.schema_name} if self.schema_name not in schemas else {}
                self._schemas |= {f"{schema}.": schema for schema in schemas}
                for schema in self._schemas.values():
                    check_role(connection, name, schema)
                found = {schema: described(connection, schema) for schema in self._schemas.values()}
                self._described = described_together(found, schemas)
                self._declared = self._declared_now(connection, None)
        except psycopg.Error as error:
            raise StartupError(f"data.{name}.url: {reason(error)}") from None
        self.dialect = dialect(self.schema_name, self._described.schema.places)

    def schema(self) -> Schema:
        """Tables, columns and views, from the DDL alone."""
        return self._described.schema

    def tables(self, database: str, name: str) -> Mapping[str, Value] | None:
        """How the columns of a table are read; None where there is none."""
        return None if database else self._described.columns.get(name)

    def check(self, sql: str, parameters: int, tables: frozenset[str] = frozenset()) -> None:
        """Have the statement planned and not run: what the server would not take is refused before it costs anything.

        Waits for a table that is locked. Raises ``Unsupported``, ``Cancelled`` where the session that asks is
        interrupted or the limit is over, and ``Internal`` where the server cannot be reached.
        """
        order = Order("", (), _NONE, unpaid(asker()), self.limit, charged=False)
        statement: Underway | None = None
        try:
            with (
                self._used() as connection,
                self._interruptible(connection, order) as statement,
            ):
                self.check_declared(connection, tables, charged=False)
                connection.execute(f"EXPLAIN {sql}".encode(), [None] * parameters)
        except psycopg.OperationalError as error:
            if isinstance(error, errors.QueryCanceled) or (statement and statement.is_stopped):
                raise failure(_code(error, statement, order)) from None
            raise failure("unavailable") from None
        except _ALTERED as error:
            self._log_altered(error)
            raise failure("altered") from None
        except psycopg.Error:
            raise Unanswered("this statement", "PostgreSQL") from None

    def batches(self, order: Order) -> Generator[pa.Table]:
        """The rows of one statement, as they are taken; all of them are of one snapshot."""
        statement: Underway | None = None
        try:
            _check_values(order.values)
            with (
                self._used() as connection,
                self._interruptible(connection, order) as statement,
            ):
                if order.cancelled():
                    raise errors.QueryCanceled
                self.check_declared(connection, order.tables, charged=order.charged)
                with connection.transaction() if order.facts else nullcontext():
                    for sql, told in order.facts:
                        found = connection.execute(sql.encode()).fetchall()
                        if _table(found, told.schema) != told:
                            raise failure("changed")
                    for rows in _fetched(connection, order):
                        statement.rest()
                        yield _table(rows, order.types)
                        statement.go()
                self.check_declared(connection, order.tables, charged=order.charged)
        except psycopg.Error as error:
            if isinstance(error, _ALTERED):
                self._log_altered(error)
            raise failure(_code(error, statement, order)) from None
        except (pa.ArrowException, ArithmeticError, ValueError):  # what it says may quote a row
            raise failure("exact" if order.charged else "public") from None

    def check_declared(
        self, connection: psycopg.Connection[Any], tables: frozenset[str], *, charged: bool
    ) -> None:
        """Raise ``Internal`` where a table is declared otherwise than at the start: its columns mean something else.

        Asked before a statement and after it, each time of the catalogue as it is then: nothing that was read in
        between is used where they differ.
        """
        if not tables:
            return
        found = self._declared_now(connection, tables)
        told = altered(self._declared, found, sorted(tables))
        if told is not None:
            _LOG.error("data source %s has changed: %s", self._name, told)
            raise failure("altered, charged" if charged else "altered")

    def _declared_now(self, connection: psycopg.Connection[Any], tables: frozenset[str] | None) -> Declared:
        """What the catalogue says of the tables that are named, or of all, under their names here."""
        found: dict[str, Mapping[str, tuple[object, ...]]] = {}
        for of, schema in self._schemas.items():
            own = None if tables is None else sorted(t.removeprefix(of) for t in tables if t.startswith(of))
            if own is None or own:
                rows = declared(connection, schema, own)
                found |= {of + table: columns for table, columns in rows.items()}
        return found

    def _log_altered(self, error: psycopg.Error) -> None:
        """The server's words name tables and columns: it says them before it reads a row."""
        _LOG.error("data source %s has changed: %s", self._name, error.diag.message_primary)

    def described(self) -> Described:
        """The tables of the data, and how their columns are read."""
        return self._described

    def catalogue(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """What the catalogue says; no row of a table. Raises ``Internal`` where the server cannot be reached."""
        try:
            with self._used() as connection:
                return connection.execute(sql.encode(), values).fetchall()
        except psycopg.Error:
            raise failure("unavailable") from None

    @contextmanager
    def writing(self, order: Order) -> Iterator[psycopg.Connection[Any]]:
        """A connection that may write, for a prepared table; ``order`` says who may interrupt it, and its limit."""
        statement: Underway | None = None
        try:
            with (
                self._connect(WRITES, order.limit) as connection,
                self._interruptible(connection, order) as statement,
            ):
                if order.cancelled():
                    raise errors.QueryCanceled
                yield connection
        except psycopg.Error as error:
            raise failure(_code(error, statement, order)) from None

    def interrupt(self, session: str) -> None:
        """Stop what a session runs, from any thread; does not wait."""
        self._running.interrupt(session)

    def close(self) -> None:
        """Stop what runs and close all connections."""
        self._running.close()
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _connect(
        self, settings: Mapping[str, str] = SETTINGS, limit: float | None = None
    ) -> psycopg.Connection[Any]:
        given = {**SETTINGS, **self.settings, **settings}
        options = " ".join(f"-c {k}={v.replace(' ', chr(92) + ' ')}" for k, v in given.items())
        milliseconds = int(((limit or self.limit) + GRACE) * 1000)
        connection = psycopg.connect(
            self._url,
            autocommit=True,  # each statement is a transaction that reads, of one snapshot
            options=f"{options} -c statement_timeout={milliseconds}",
            client_encoding="UTF8",
            application_name="dpproxy",
            connect_timeout=LONGEST_CONNECT,
            cursor_factory=psycopg.RawCursor,
            prepare_threshold=None,
        )
        try:
            check_settings(connection, given)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _interruptible(self, connection: psycopg.Connection[Any], order: Order) -> Iterator[Underway]:
        """A statement under way; one that was stopped closes its connection: its cancel may meet the next statement."""
        statement = Underway(
            order.limit, partial(connection.cancel_safe, timeout=GRACE), partial(_hang_up, connection)
        )
        try:
            with self._running.of(order.session, statement):
                yield statement
        finally:
            if statement.is_stopped:
                connection.close()

    @contextmanager
    def _used(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection: one that waits and is still open, or a new one. It waits again if it can."""
        connection = self._take()
        try:
            yield connection
        finally:
            if _is_usable(connection):
                self._give(connection)
            else:
                connection.close()

    def _take(self) -> psycopg.Connection[Any]:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect()
            if _is_usable(connection):
                return connection
            connection.close()

    def _give(self, connection: psycopg.Connection[Any]) -> None:
        with self._lock:
            if len(self._idle) < KEPT:
                self._idle.append(connection)
                return
        connection.close()


def _fetched(connection: psycopg.Connection[Any], order: Order) -> Iterator[list[tuple[Any, ...]]]:
    """The rows: few at once, others as they come."""
    text = order.sql.encode()
    with connection.cursor() as cursor:
        if order.few:
            yield cursor.execute(text, order.values).fetchall()
            return
        size = PORTION if psycopg.capabilities.has_stream_chunked() else 1
        rows: list[tuple[Any, ...]] = []
        for row in cursor.stream(text, order.values, size=size):
            rows.append(row)
            if len(rows) == PORTION:
                yield rows
                rows = []
        yield rows


def _table(rows: Sequence[tuple[Any, ...]], types: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=types)


def _is_usable(connection: psycopg.Connection[Any]) -> bool:
    """Open and at rest; one that the server has closed has its end to be read."""
    if connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)


def _hang_up(connection: psycopg.Connection[Any]) -> None:
    """Close it from another thread: who waits for it reads its end."""
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)


def _check_values(values: Sequence[object]) -> None:
    """Released values are what the statement was translated for: none of a size at which it could overflow."""
    for value in values:
        if isinstance(value, float) and not (value == 0 or RELEASED.least <= abs(value) <= RELEASED.high):
            raise errors.NumericValueOutOfRange


def _code(error: psycopg.Error, statement: Underway | None, order: Order) -> str:
    """The entry of ``failures``: over protected rows no error tells what they did."""
    if statement is not None and (reason := statement.reason(charged=order.charged)) is not None:
        return reason
    if isinstance(error, errors.QueryCanceled):
        return "cancelled"
    if isinstance(error, _ENDED) or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None):
        return "lost" if order.charged else "public lost"
    if isinstance(error, _ALTERED) and not isinstance(error, errors.UndefinedTable):
        return "altered, charged" if order.charged else "altered"
    if order.charged:
        return "gone" if isinstance(error, errors.UndefinedTable) else "exact"
    if isinstance(error, errors.CardinalityViolation):
        return "public several"
    return "public memory" if isinstance(error, errors.OutOfMemory) else "public"


_ALTERED = (
    errors.InsufficientPrivilege, errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction,
    errors.DatatypeMismatch, errors.InvalidSchemaName,
)  # fmt: skip
"""What the server says of a statement over tables or columns that are no longer there, or no longer for us to read."""
_NONE = pa.schema([])
_ENDED = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)
