"""Spark as a data source, over Spark Connect: Parquet files that its workers read, one session of a server of theirs.

The session is opened anew when the server has forgotten it. What was running then has failed, in one of our own
sentences; a worker that is lost fails nothing, for the server has its tasks run elsewhere.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from itertools import count
from typing import Any

import pyarrow as pa
from msgspec import Struct

from dpproxy.backends.failures import failure
from dpproxy.backends.servers.dialect import Unanswered, Value
from dpproxy.backends.servers.source import KNOWN, Order
from dpproxy.backends.servers.underway import Running, Underway
from dpproxy.backends.spark.client import RETRIES, at_most, end, is_analysed, module, quiet
from dpproxy.backends.spark.dialect import PROBES, dialect
from dpproxy.backends.spark.schema import ParquetFolder, columns_of, place, readers, types_asked
from dpproxy.backends.spark.texts import ENGINE, filled
from dpproxy.values.errors import Internal, Refusal, StartupError
from dpproxy.values.pgtypes import Column, Schema
from dpproxy.values.recent import Recent

_LOG = logging.getLogger(__name__)

IDLE = 20.0
"""Seconds from which an unused session is looked at before the next statement: it may be gone."""
SETTINGS = {
    "spark.sql.ansi.enabled": "true",  # what overflows fails; without, it would be NULL
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",  # what cannot be read is no table without rows
    "spark.sql.files.ignoreMissingFiles": "false",
}


class Prepared(Struct, frozen=True):
    """Where a prepared table is, and its columns in the server's words."""

    where: str
    columns: str


class _Session(Struct):
    """One session of the server, with a view for each table."""

    spark: Any
    tables: Mapping[str, tuple[Column, ...]]
    left_out: Mapping[str, tuple[str, ...]]
    declared: Mapping[str, str]
    """The columns of each table's files, as the server says them, by its name in small letters."""
    used: float

    def frame(self, sql: str) -> Any:  # noqa: ANN401 - of an optional package
        """A statement, not run."""
        plan = module("pyspark.sql.connect.plan").SQL(sql)
        return module("pyspark.sql.connect.dataframe").DataFrame(plan, self.spark)

    def is_alive(self) -> bool:
        """Whether the server still knows the session and its views."""
        try:
            with at_most(self.spark):
                self.frame(f"SELECT 1 AS a FROM source_{len(self.tables) - 1}").schema  # noqa: B018, S608
        except Exception:  # noqa: BLE001 - whatever it is
            return False
        self.used = time.monotonic()
        return True

    def close(self) -> None:
        """Give it back; what runs in it fails."""
        with suppress(Exception):
            self.spark.client.close()


class _Statement(Underway):
    """One under way, with the tag that the server knows it by."""

    def __init__(self, session: _Session, tag: str, limit: float) -> None:
        super().__init__(limit, lambda: session.spark.client.interrupt_tag(tag), session.close)
        self.tag = tag

    def check(self) -> None:
        """Raise once it was stopped."""
        if self.is_stopped:
            raise InterruptedError


class Spark:
    """Sessions of one server, one at a time; its methods may be called from any thread.

    Errors: ``StartupError`` where the server or a table cannot be reached, or computes otherwise than DuckDB.
    """

    def __init__(self, url: str, name: str, limit: float) -> None:
        self._place: ParquetFolder = place(url, name)
        self._lock = threading.Lock()
        self._running = Running()
        self._numbers = count(1)
        self._is_closed = False
        self.limit = limit
        quiet(name)
        self._current: _Session | None = _opened(self._place)
        self._tables, self._left_out = self._current.tables, self._current.left_out
        self._readers = {table.lower(): readers(found) for table, found in self._tables.items()}
        self._views = {table.lower(): f"source_{n}" for n, table in enumerate(self._tables)}
        self._prepared: dict[str, Prepared] = {}
        self._taken = Recent[bool](KNOWN)
        """Statements that were analysed: again only their tables are looked at."""
        self._log: tuple[frozenset[str], list[dict[str, str]]] = (frozenset(), [])
        self.is_whole: Callable[[str], bool] = lambda _: False
        """Whether the rows of a prepared table, by where it is, are all there as they were written."""
        self.dialect = dialect(self._view)

    def schema(self) -> Schema:
        """Tables and columns, from the metadata of their files alone."""
        left_out = {table: names for table, names in self._left_out.items() if names}
        return Schema(dict(self._tables), (), {}, left_out)

    def tables(self, database: str, name: str) -> Mapping[str, Value] | None:
        """How the columns of a table are read; None where there is none."""
        return None if database else self._readers.get(name.lower())

    def check(self, sql: str, parameters: int, tables: frozenset[str] = frozenset()) -> None:
        """Have the statement analysed and not run: what the server would not take is refused before it costs anything.

        Raises ``Unsupported``, and ``Internal`` where the server cannot be reached.
        """
        session = self._session()
        is_taken = self._taken.get(sql) or self._is_analysed(session, sql, parameters)
        self._check_declared(session, tables, charged=False)
        if not is_taken:
            raise Unanswered("a statement that the server takes so long to read", ENGINE)
        self._taken.put(sql, value=True)

    def _is_analysed(self, session: _Session, sql: str, parameters: int) -> bool:
        plan = session.frame(filled(sql, [None] * parameters))._plan  # noqa: SLF001
        try:
            return is_analysed(session.spark, plan)
        except Exception:  # noqa: BLE001 - the server's words stay here
            if session.is_alive():
                raise Unanswered("this statement", ENGINE) from None
            self._forget(session)
            raise failure("unavailable") from None

    def batches(self, order: Order) -> Generator[pa.Table]:
        """The rows of one statement, as they are taken.

        With facts, all rows are read before the first is given: there are no snapshots, so that the facts are looked
        at before and again afterwards.
        """
        session = self._session()
        statement: _Statement | None = None
        try:
            made = _Statement(session, f"dpproxy-{next(self._numbers)}", order.limit)
            with self._running.of(order.session, made) as statement:
                if order.cancelled():  # and not ``|=``, which would take back a stop of meanwhile
                    statement.is_stopped = True
                self._check_declared(session, order.tables, charged=order.charged, lists=True)
                read = self._prepared_of(order)
                self._look(session, statement, order)
                rows = self._rows(session, statement, filled(order.sql, order.values), order.types)
                if order.facts:
                    kept = list(rows)
                    self._look(session, statement, order)
                    yield from kept
                else:
                    yield from rows
                self._check_declared(session, order.tables, charged=order.charged)
                self._prepared_of(order, read)
        except Refusal:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, it may quote a row
            raise failure(self._code(session, statement, order)) from None
        session.used = time.monotonic()

    def _rows(
        self, session: _Session, statement: _Statement, sql: str, types: pa.Schema
    ) -> Generator[pa.Table]:
        statement.check()
        client = session.spark.client
        plan = session.frame(sql)._plan.to_proto(client)  # noqa: SLF001
        client.add_tag(statement.tag)
        try:
            parts = client.to_table_as_iterator(plan, {})
            part = next(parts, None)  # here it is sent, with the tag of this thread
        finally:
            client.remove_tag(statement.tag)
        while part is not None:
            statement.check()
            if isinstance(part, pa.Table):
                yield part.rename_columns(types.names).cast(types)
            part = next(parts, None)
        statement.check()

    def _check_declared(
        self, session: _Session, tables: frozenset[str], *, charged: bool, lists: bool = False
    ) -> None:
        """Raise where files have other columns than at the start, for what is gone would be read as NULL.

        Asked before a statement and after it: nothing that was read in between is used where they differ. ``lists``
        has it read the files that are there now: a view is of those that were there when it was made.
        """
        for table in tables:
            name = table.lower()
            try:
                with at_most(session.spark):
                    frame = _read(session.spark, self._place, table)
                    found = frame.schema.json()
                    if lists and found == session.declared[name]:
                        frame.createOrReplaceTempView(self._views[name])
            except Exception:
                if not session.is_alive():
                    raise
                found = ""
            if found != session.declared[name]:
                _LOG.error("data source %s has changed: table %s has other columns", self._place.name, table)
                raise failure("altered, charged" if charged else "altered")

    def _prepared_of(self, order: Order, before: list[Prepared] | None = None) -> list[Prepared]:
        """The prepared tables that a statement reads. Raises ``TableGone`` where one is dropped, or not there yet.

        Asked before a statement and after it: what is emptied was noted as dropped before.
        """
        found = [self._prepared.get(name) for name in sorted(order.prepared)]
        there = [table for table in found if table is not None]
        try:
            are_whole = all(self.is_whole(table.where) for table in there)
        except Internal:
            raise failure("lost") from None
        if len(there) < len(found) or not are_whole or before not in (None, there):
            raise failure("gone")
        return there

    def _look(self, session: _Session, statement: _Statement, order: Order) -> None:
        """Raise where a public table is not any more what the statement was planned with."""
        for sql, told in order.facts:
            found = list(self._rows(session, statement, sql, told.schema))
            if pa.concat_tables([told.schema.empty_table(), *found]) != told:
                raise failure("changed")

    def renewed(self, between: Callable[[], None]) -> str:
        """Have the files listed anew, as the next session does it: its views are of the files that were there."""
        with self._lock:
            current = self._current
        if current is not None:
            self._forget(current)
        between()
        return ""

    # --- prepared tables --------------------------------------------------------------------------

    @property
    def prepared_folder(self) -> str:
        """Where they are; empty where there are none."""
        return self._place.prepared

    def described(self) -> tuple[str, list[tuple[str, str]]]:
        """The folder of the data, and the columns of all tables, as the server says them."""
        return self._place.folder, sorted(self._session().declared.items())

    def prepared_view(self, name: str) -> str:
        """The text of a prepared table."""
        return f"prepared_{name}"

    def show(self, name: str, table: Prepared) -> None:
        """Have a view of a prepared table, in this session and in later ones. Raises ``Internal``."""
        if self._prepared.get(name) != table:
            try:
                _show(self._session(), self.prepared_view(name), table)
            except Exception:  # noqa: BLE001 - the server's words stay here
                raise failure("exact") from None
            self._prepared[name] = table

    def _show_all(self, session: _Session) -> None:
        for name, table in tuple(self._prepared.items()):
            with suppress(Exception):  # a statement that reads it fails
                _show(session, self.prepared_view(name), table)

    def read_log(self, where: str, types: pa.Schema) -> list[dict[str, str]]:
        """The lines of a log of ours, whose files never change; none where it is not there. Raises ``Internal``."""
        session = self._session()
        declared = ", ".join(f"{name} STRING" for name in types.names)
        try:
            with at_most(session.spark):
                reader = session.spark.read.schema(declared).option("recursiveFileLookup", "true")
                frame = reader.parquet(where)
                files = frozenset(frame.inputFiles())
                known, lines = self._log
                if files != known:
                    lines = frame.toArrow().to_pylist()
                    self._log = (files, lines)
        except Exception:  # noqa: BLE001 - the server's words stay here
            if session.is_alive():
                return []
            self._forget(session)
            raise failure("unavailable") from None
        return lines

    def write(self, sql: str, where: str, order: Order, *, by: str | None = None, mode: str = "error") -> str:
        """Have the workers write the rows of a statement, in a folder for each value of ``by``; what columns they have.

        Beside what is there with the mode ``append``. With ``overwrite`` a text instead of it, which fails whoever
        reads it as a table. Raises as ``batches`` does.
        """
        session = self._session()
        statement: _Statement | None = None
        try:
            made = _Statement(session, f"dpproxy-{next(self._numbers)}", order.limit)
            with self._running.of(order.session, made) as statement:
                if order.cancelled():  # as in ``batches``
                    statement.is_stopped = True
                statement.check()
                self._check_declared(session, order.tables, charged=order.charged, lists=True)
                frame = session.frame(sql)
                columns: str = frame.schema.json()
                client = session.spark.client
                client.add_tag(statement.tag)
                try:
                    writer = (frame if by is None else frame.repartition(by)).write
                    writer = writer.mode(mode).format("text" if mode == "overwrite" else "parquet")
                    (writer if by is None else writer.partitionBy(by)).save(where)
                finally:
                    client.remove_tag(statement.tag)
                statement.check()
                self._check_declared(session, order.tables, charged=order.charged)
        except Refusal:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, it may quote a row
            raise failure(self._code(session, statement, order)) from None
        session.used = time.monotonic()
        return columns

    # --- what runs --------------------------------------------------------------------------------

    def interrupt(self, session: str) -> None:
        """Stop what a session runs, from any thread; does not wait."""
        self._running.interrupt(session)

    def close(self) -> None:
        """Stop what runs and leave the server."""
        with self._lock:
            self._is_closed = True
            session, self._current = self._current, None
        self._running.close()
        if session is not None:
            with suppress(Exception):
                session.spark.client.release_session()
            session.close()

    # --- sessions ---------------------------------------------------------------------------------

    def _session(self) -> _Session:
        """The session, opened anew where the server has forgotten it. Raises ``Internal``."""
        with self._lock:
            current = self._current
        if current is not None and time.monotonic() - current.used > IDLE and not current.is_alive():
            self._forget(current)
            current = None
        if current is not None:
            return current
        if self._is_closed:
            raise failure("stopping")
        try:
            opened = _opened(self._place)
        except StartupError:
            raise failure("unavailable") from None
        if opened.tables != self._tables:  # other columns than the policy was read with
            opened.close()
            raise failure("unavailable")
        self._show_all(opened)
        with self._lock:
            if self._current is None and not self._is_closed:
                self._current = opened
                return opened
            current = self._current
        opened.close()
        if current is None:
            raise failure("stopping")
        return current

    def _forget(self, session: _Session) -> None:
        with self._lock:
            if self._current is session:
                self._current = None
        session.close()

    def _code(self, session: _Session, statement: _Statement | None, order: Order) -> str:
        """The entry of ``failures``: over protected rows no error tells what they did."""
        if not session.is_alive():
            self._forget(session)
            if statement is None or not statement.is_stopped:
                return "lost" if order.charged else "public lost"
        reason = None if statement is None else statement.reason(charged=order.charged)
        return reason or ("exact" if order.charged else "public")

    def _view(self, database: str, name: str) -> str:
        view = None if database else self._views.get(name.lower())
        if view is None:
            raise Unanswered("this table", ENGINE)
        return view


def _opened(where: ParquetFolder) -> _Session:
    """A session with a view for each table. Raises ``StartupError`` without a word of the server's."""
    spark = None
    try:
        policy = module("pyspark.sql.connect.client.retries").DefaultPolicy(**RETRIES)
        spark = module("pyspark.sql.connect.session").SparkSession(connection=where.connection)
        spark.client.set_retry_policies([policy])
        with at_most(spark):
            for key, value in SETTINGS.items():
                spark.conf.set(key, value)
            [answers] = spark.sql(PROBES).toArrow().to_pylist()
    except Exception:  # noqa: BLE001 - the server's words stay here
        end(spark)
        raise StartupError(f"data.{where.name}.url: no Spark Connect server can be reached with it") from None
    wrong = [name for name, answer in answers.items() if answer is not True]
    if wrong:
        end(spark)
        raise StartupError(f"data.{where.name}.url: the server computes otherwise: {', '.join(wrong)}")
    try:
        tables: dict[str, tuple[Column, ...]] = {}
        left_out: dict[str, tuple[str, ...]] = {}
        declared: dict[str, str] = {}
        with at_most(spark):
            for number, table in enumerate(where.tables):
                types, declared[table.lower()] = _view(spark, where, table, f"source_{number}")
                tables[table] = columns_of(types)
                left_out[table] = tuple(n for n in types if all(n != c.name for c in tables[table]))
    except BaseException:
        end(spark)
        raise
    return _Session(spark, tables, left_out, declared, time.monotonic())


def _show(session: _Session, view: str, table: Prepared) -> None:
    """Make a view of a prepared table, whose columns are not guessed from names of folders."""
    types = module("pyspark.sql.types").StructType.fromJson(json.loads(table.columns))
    with at_most(session.spark):
        session.spark.read.schema(types).parquet(table.where).createOrReplaceTempView(view)


def _view(spark: Any, where: ParquetFolder, table: str, name: str) -> tuple[Mapping[str, str], str]:  # noqa: ANN401
    """Make a view of a table; the type of each column, by name, and all of them in the server's words."""
    try:
        frame = _read(spark, where, table)
        declared: str = frame.schema.json()
        frame.createOrReplaceTempView(name)
        types: Mapping[str, str]
        [types] = spark.sql(types_asked(name, frame.columns, where, table)).toArrow().to_pylist()
    except StartupError:
        raise
    except Exception:  # noqa: BLE001 - the server's words stay here
        raise StartupError(
            f'data.{where.name}.url: expected Parquet files that the server can read for table "{table}"'
        ) from None
    return types, declared


def _read(spark: Any, where: ParquetFolder, table: str) -> Any:  # noqa: ANN401 - of an optional package
    """The Parquet files of a table; no column is made of the names of folders."""
    path = f"{where.folder}/{next(name for name in where.tables if name.lower() == table.lower())}"
    reader = spark.read.option("recursiveFileLookup", "true")
    with suppress(Exception):
        frame = reader.parquet(f"{path}.parquet")
        if frame.columns:  # a server may take what is not there for a table without columns
            return frame
    frame = reader.parquet(path)
    if not frame.columns:
        raise FileNotFoundError
    return frame
