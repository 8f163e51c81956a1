"""The data in a DuckDB file: opened once in a process, read-only, nothing reachable but its tables.

A server has it in a process of its own (``worker``), which it can end. Closing a second handle on the file would drop
the engine's lock on it, so there is one connection and every statement runs on a cursor of it.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
from msgspec.structs import replace
from numpy.typing import NDArray

from dpproxy.algebra.plan import PREPARED
from dpproxy.backends.columns import WHOLE, key_type
from dpproxy.backends.duckdb import growth
from dpproxy.backends.duckdb.schema import ENUM, column_names, column_type, constraints, labels, views
from dpproxy.backends.failures import exact_failure, failure, is_broken, public_failure
from dpproxy.backends.places import together
from dpproxy.sql.quoting import identifier, literal
from dpproxy.system.confinement import LOCKED
from dpproxy.values.errors import Internal, Refusal, StartupError
from dpproxy.values.pgtypes import CheckConstraint, Column, Constraint, Schema, SqlType
from udfs.privacy import Exact

T = TypeVar("T")
Select = Callable[[Exact[pa.Array]], NDArray[np.bool_]]
"""Which groups may be shown, by a portion of their numbers of units."""

MOST_OPEN = 1_000_000
"""Rows of a public table beside released values."""
LARGEST_OPEN = 128_000_000
"""Bytes of one."""
LONGEST_PUBLIC = 30.0
"""Seconds of a statement over public tables, which costs nothing and could be sent again and again."""
BATCH = 100_000
"""Rows of one portion of a statement that is read as it comes."""
_ACCESS = "enable_external_access"
AGAIN = 0.02
"""Seconds between two interrupts of one statement, or two attempts at a file."""
LONGEST_HANDOVER = 1.0
"""Seconds to wait for the file of prepared tables."""
MOST_PROCESSES = 16
"""Files of prepared tables for one state of the data."""


class DuckDB:
    """One data source. Its errors are replaced: an engine's text can quote a value.

    Errors: ``StartupError`` where the file cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        memory: str | None = None,
        prepared: Path | None = None,
        spill: Path | None = None,
    ) -> None:
        given = (("threads", threads), ("memory_limit", memory), ("temp_directory", spill))
        options = {k: str(v) for k, v in given if v is not None}
        self._path = path
        self._prepared = prepared
        self._config: dict[str, Any] = {**LOCKED, **options}
        self.epoch = 0
        """How often the data were opened anew: prepared tables may have gone with that."""
        try:
            self._connection = self._connect()
        except duckdb.Error as error:
            cause = (
                "in use by another process"
                if is_locked(error)
                else "damaged, or of another version of DuckDB"
            )
            raise StartupError(f"data source {path} cannot be opened: {cause}") from None
        self._lock, self._building = threading.Lock(), threading.Lock()
        self._running: dict[str, duckdb.DuckDBPyConnection] = {}

    def _connect(self) -> duckdb.DuckDBPyConnection:
        """Read-only but for the file of prepared tables; with both open, no other file is ever."""
        config = {k: v for k, v in self._config.items() if k != _ACCESS}
        connection = duckdb.connect(str(self._path), read_only=True, config=config)
        if self._prepared is not None:
            _attach(connection, self._prepared)
        connection.execute(f"SET {_ACCESS} = {self._config[_ACCESS]}")
        self._builder = connection.cursor()  # of all cursors the only one that tells how far it is
        self._builder.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        connection.execute("SET lock_configuration = true")
        return connection

    def _again(self) -> None:
        """Open the file anew: after a failure of its own the engine refuses every further statement."""
        with self._lock:
            try:
                self._connection.execute("SELECT 1")
            except duckdb.Error:
                self._builder.close()
                self._connection.close()
                self._connection = self._connect()
                self.epoch += 1

    def prepared_names(self) -> set[str]:
        """The prepared tables that are there."""
        with self._connection.cursor() as cursor:  # other threads have theirs
            listed = cursor.execute(
                "SELECT table_name FROM duckdb_tables() WHERE database_name = ? AND schema_name = 'main' "  # noqa: S608
                f"AND NOT starts_with(table_name, '{growth.EARLIER}')",
                [PREPARED],
            ).fetchall()
        return {name for (name,) in listed}

    def schema(self, others: Sequence[str] = ()) -> Schema:
        """Tables, columns and views of the schema ``main``, and tables of ``others``, from the DDL alone.

        A collation would make two keys one and show either spelling: text columns of a table that declares one do not
        exist here. A view is listed and never run: it could repeat or reorder rows.
        """
        with self._connection.cursor() as cursor:
            return together(
                _described(cursor), {name: replace(_described(cursor, name), views={}) for name in others}
            )

    def database(self) -> str:
        """The engine's name of the file, which stands before a schema."""
        with self._connection.cursor() as cursor:
            [(name,)] = cursor.execute("SELECT current_database()").fetchall()
        return str(name)

    def enums(self, others: Sequence[str] = ()) -> dict[str, list[tuple[str, bool]]]:
        """Of each table with a column of an enum, its columns and whether they are one."""
        with self._connection.cursor() as cursor:
            found: dict[str, list[tuple[str, bool]]] = {}
            for schema in ("main", *others):
                of = "" if schema == "main" else f"{schema}."
                for table, name, kind, _ in cursor.execute(_COLUMNS, [schema]).fetchall():
                    found.setdefault(of + table, []).append((name, kind.startswith(ENUM)))
        return {table: columns for table, columns in found.items() if any(is_enum for _, is_enum in columns)}

    def run(
        self,
        sql: str,
        parameters: Mapping[str, object],
        session: str,
        *,
        few: Sequence[SqlType] | None = None,
        select: Select | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        epoch: int = 0,  # noqa: ARG002 - the rows of a file do not change
    ) -> Exact[pa.Table]:
        """Run one statement of ours; a session runs one at a time.

        ``few`` for a statement of few rows: the types of its keys, which stand before its measures; an Arrow table
        from the engine would take longer. ``select`` for one of any number of rows, of which it keeps few: it is given
        the last column, portion by portion. ``cancelled`` is asked once before it starts: an ``interrupt`` from then
        on is not lost.

        Errors: ``Cancelled`` after ``interrupt``, what ``select`` raises; ``Internal`` for everything else.
        """
        with closing(self._connection.cursor()) as cursor, self._exactly(session, cursor, cancelled):
            if few is not None:
                return Exact(_table(cursor.execute(sql, dict(parameters)), few))
            relation = _relation(cursor, sql, parameters)
            if select is not None:
                return Exact(pa.concat_tables(_kept(relation, select)))
            return Exact(relation.to_arrow_table())

    def run_groups(
        self,
        sql: str,
        parameters: Mapping[str, object],
        session: str,
        select: Select,
        take: Callable[[Exact[pa.Table]], None],
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """As ``run`` with ``select``; what is kept of each portion goes to ``take``, which gets one at least."""
        with closing(self._connection.cursor()) as cursor, self._exactly(session, cursor, cancelled):
            for portion in _kept(_relation(cursor, sql, parameters), select):
                take(Exact(portion))

    @contextmanager
    def _exactly(
        self, session: str, cursor: duckdb.DuckDBPyConnection, cancelled: Callable[[], bool]
    ) -> Iterator[None]:
        """Inside the block ``interrupt`` stops the cursor, and whatever goes wrong is told without a row."""
        with self._lock:
            self._running[session] = cursor
        try:
            _check(cancelled)
            yield
        except Refusal:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it may quote a row
            if is_broken(error):
                self._again()
            # Arrow's stream has no error of its own for an interrupt.
            raise failure("cancelled" if cancelled() else exact_failure(error)) from None
        finally:
            with self._lock:
                self._running.pop(session, None)

    def build(
        self,
        name: str,
        sql: str | None,
        parameters: Mapping[str, object],
        session: str,
        cancelled: Callable[[], bool],
        grown: growth.Growth | None = None,
    ) -> None:
        """Make a prepared table of the rows of a query, without a limit of time; drop it where there is none.

        With ``grown`` of the table of fewer files, if that is there.

        Raises as ``run`` does.
        """
        if sql is None:
            place = f'"{PREPARED}"."main"."{name}"'
            self.run(f"DROP TABLE IF EXISTS {place}", {}, session, few=(), cancelled=cancelled)
            return
        with self._building, self._exactly(session, self._builder, cancelled):
            growth.build(self._builder, name, sql, parameters, grown)
        with suppress(Internal):  # it is in the log that is written ahead
            self.run(f'CHECKPOINT "{PREPARED}"', {}, session, few=())

    def progress(self, session: str) -> float | None:
        """Which part is done of the table that a session builds, as the engine estimates it; None where it does not."""
        with self._lock:
            cursor = self._running.get(session)
            percent = -1.0 if cursor is None else cursor.query_progress()
        return None if percent < 0 else percent / 100

    def load(self, name: str, path: Path, sql: str) -> None:
        """Make a prepared table of the rows of a statement over a file of ours. Raises ``Internal``.

        The file is read by an engine of its own: the one with the data opens no other.
        """
        cursor = self._connection.cursor()
        try:
            with duckdb.connect(str(path), read_only=True, config=dict(LOCKED)) as file:
                rows = file.sql(sql).to_arrow_table()
            cursor.register("loaded", rows)
            cursor.execute(f'CREATE TABLE IF NOT EXISTS "{PREPARED}"."main"."{name}" AS SELECT * FROM loaded')  # noqa: S608
        except Exception:  # noqa: BLE001 - whatever it is, it may quote a row
            raise failure("view") from None
        finally:
            cursor.close()

    def unload(self, name: str) -> None:
        """Drop such a table."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(f'DROP TABLE IF EXISTS "{PREPARED}"."main"."{name}"')
        except Exception:  # noqa: BLE001 - whatever it is, it may quote a row
            raise failure("view") from None
        finally:
            cursor.close()

    def run_portions(self, sql: str, portion: int, session: str) -> Generator[pa.Table]:
        """Rows of a statement over public tables and views, in the engine's types, ``portion`` at a time.

        They are made as they are taken; only the engine's own time is limited. Raises as ``run_public``.
        """
        left = LONGEST_PUBLIC

        def timed(fetch: Callable[[Any], T]) -> T:
            nonlocal left
            begun = time.monotonic()
            try:
                return self._watched(session, cursor, left, fetch)
            finally:
                left -= time.monotonic() - begun

        with closing(self._connection.cursor()) as cursor:
            rows = timed(lambda cursor: cursor.sql(sql).to_arrow_reader(portion))
            with rows:  # which keeps the cursor's statement open
                while (batch := timed(lambda _: next(rows, None))) is not None:
                    yield pa.Table.from_batches([batch])

    def run_public(self, sql: str, session: str) -> list[tuple[object, ...]]:
        """Rows of a statement over public tables. Raises class 22 for what the analyst's own arithmetic does."""
        return self._public(session, lambda cursor: cursor.execute(sql).fetchall())

    def run_open(self, sql: str, session: str) -> pa.Table:
        """A statement over public tables as a table, to be joined with what was released."""
        limited = f"SELECT * FROM ({sql}) LIMIT {MOST_OPEN + 1}"  # noqa: S608 - our own text
        table: pa.Table = self._public(session, lambda cursor: cursor.sql(limited).to_arrow_table())
        if table.num_rows > MOST_OPEN or table.nbytes > LARGEST_OPEN:
            raise failure("public size")
        return table

    def _public(self, session: str, fetch: Callable[[Any], T]) -> T:
        with closing(self._connection.cursor()) as cursor:
            return self._watched(session, cursor, LONGEST_PUBLIC, fetch)

    def _watched(self, session: str, cursor: Any, limit: float, fetch: Callable[[Any], T]) -> T:  # noqa: ANN401
        """What is fetched within so many seconds."""
        with self._lock:
            self._running[session] = cursor
        until = time.monotonic() + limit
        watch = threading.Timer(max(0.0, limit), self.interrupt, (session,))
        watch.start()
        try:
            return fetch(cursor)
        except Exception as error:  # noqa: BLE001 - the engine's words stay here
            if is_broken(error):
                self._again()
            code = public_failure(error)
            is_late = code == "cancelled" and time.monotonic() >= until
            raise failure("public too long" if is_late else code) from None
        finally:
            watch.cancel()
            with self._lock:
                self._running.pop(session, None)

    def interrupt(self, session: str) -> None:
        """Stop what a session runs, from any thread; does not wait."""
        with self._lock:
            cursor = self._running.get(session)
        if cursor is not None:
            self._insist(session, cursor)

    def _insist(self, session: str, cursor: duckdb.DuckDBPyConnection) -> None:
        """Interrupt until it has stopped: an interrupt before the engine has begun is forgotten by the engine."""
        with self._lock:
            if self._running.get(session) is not cursor:
                return
            cursor.interrupt()
        again = threading.Timer(AGAIN, self._insist, (session, cursor))
        again.daemon = True
        again.start()

    def close(self) -> None:
        """Give the file back."""
        self._builder.close()
        self._connection.close()


_COLUMNS = (
    "SELECT c.table_name, c.column_name, c.data_type, c.is_nullable "
    "FROM duckdb_columns() AS c JOIN duckdb_tables() AS t "
    "ON c.database_name = t.database_name AND c.schema_name = t.schema_name AND c.table_name = t.table_name "
    "WHERE c.schema_name = ? AND NOT c.internal AND c.database_name = current_database() "
    "AND NOT (c.data_type = 'VARCHAR' AND contains(lower(t.sql), 'collate')) "
    "ORDER BY c.table_name, c.column_index"
)


def _described(connection: duckdb.DuckDBPyConnection, schema: str = "main") -> Schema:
    tables: dict[str, list[Column]] = {}
    listed: list[Constraint] = []
    for table, name, kind, nullable in connection.execute(_COLUMNS, [schema]).fetchall():
        known = column_type(kind)
        if known is not None and kind.startswith(ENUM):
            texts = ", ".join(map(literal, labels(kind)))
            listed.append(CheckConstraint(table, f"{identifier(name)} IN ({texts})"))
        if known is not None:
            tables.setdefault(table, []).append(Column(name, known, not nullable))
    names = column_names(connection, schema)
    left_out = {
        table: tuple(name for name in names[table] if all(name != c.name for c in columns))
        for table, columns in tables.items()
    }
    return Schema(
        {name: tuple(columns) for name, columns in tables.items()},
        (*constraints(connection, schema), *listed),
        views(connection, names),
        {table: columns for table, columns in left_out.items() if columns},
    )


def _check(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise failure("cancelled")


def is_locked(error: duckdb.Error) -> bool:
    """True where the file is open elsewhere, in another process or in this one."""
    told = str(error)
    return (isinstance(error, duckdb.IOException) and "lock" in told) or "file handle conflict" in told


def _attach(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Open a file of prepared tables; one that cannot be read is made anew, for all in it is derived.

    Each process that serves the same data has its own. The first is waited for a little: a process that was ended
    gives it back. Where all are taken there is none, and statements do without.
    """
    until = time.monotonic() + LONGEST_HANDOVER
    names = [path, *(path.with_stem(f"{path.stem}-{n}") for n in range(2, MOST_PROCESSES + 1))]
    while names:
        try:
            _attach_one(connection, names[0])
        except duckdb.Error as error:
            if not is_locked(error):
                raise
            if time.monotonic() > until:
                names.pop(0)
            else:
                time.sleep(AGAIN)
        else:
            names[0].chmod(0o600)
            return


def _attach_one(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    statement = f"ATTACH IF NOT EXISTS {literal(str(path))} AS {PREPARED} (READ_WRITE)"
    try:
        connection.execute(statement)
    except duckdb.Error as error:
        if is_locked(error):
            raise
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
        connection.execute(statement)


def selected(groups: pa.Table, select: Select) -> pa.Table:
    """The groups of a portion that are selected, by their numbers of units: the last column, which goes no further."""
    counts = groups.column(groups.num_columns - 1).combine_chunks().cast(pa.int64())
    return groups.select(range(groups.num_columns - 1)).filter(pa.array(select(Exact(counts))))


def _relation(
    cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, object]
) -> duckdb.DuckDBPyRelation:
    return cursor.sql(sql, params=dict(parameters)) if parameters else cursor.sql(sql)


def _kept(relation: duckdb.DuckDBPyRelation, select: Select) -> Iterator[pa.Table]:
    """The groups that are selected of each portion; one is in memory, whatever the number of groups."""
    groups = relation.to_arrow_reader(BATCH)
    nothing = groups.schema.empty_table()
    yield nothing.select(range(nothing.num_columns - 1))
    for batch in groups:
        yield selected(pa.Table.from_batches([batch]), select)


def _table(cursor: duckdb.DuckDBPyConnection, keys: Sequence[SqlType]) -> pa.Table:
    """The rows of a statement as a table of declared types: keys first, then measures."""
    names = [column[0] for column in cursor.description or ()]
    columns = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(names)
    types = [key_type(key) for key in keys] + [WHOLE] * (len(names) - len(keys))
    return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names)
