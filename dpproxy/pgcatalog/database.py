"""An in-memory DuckDB with the catalogue of one view and nothing else; tables are filled when they are first read."""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import partial

import duckdb
import pyarrow as pa

from dpproxy.analysis.quotients import quotient
from dpproxy.pgcatalog.compiler import macros, numbers, objects
from dpproxy.pgcatalog.compiler.calls import MAX_SERIES, SERIES_ERROR
from dpproxy.pgcatalog.compiler.rewrite import SCHEMAS, Rewritten, fresh_name
from dpproxy.pgcatalog.keys import not_found
from dpproxy.pgcatalog.relations import INTERNAL, TABLES
from dpproxy.pgcatalog.table import CatalogueTable
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.values.errors import (
    Cancelled,
    DateOutOfRange,
    DivisionByZero,
    InvalidText,
    NumberOutOfRange,
    Refusal,
    TooComplex,
    UndefinedColumn,
    UndefinedFunction,
    Unsupported,
)
from dpproxy.values.pgtypes import NUMERIC, Column
from dpproxy.wire.plain import plain_values

MAX_ROWS = 100_000
"""The most rows of one answer."""
MOST_TEXT = 32_000_000
"""The most characters of all texts of one answer together."""
_ELEMENT = 100
"""The characters that an element of a list counts for: encoding it takes as long."""
PORTION = 1000
"""Rows that are fetched from the engine at a time."""
TIME_LIMIT = 5.0
"""Seconds that a statement may take."""
POLL = 0.05
"""Seconds between two checks for a cancel."""

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "256MB",
    "temp_directory": "",  # nothing is written into the folder that the proxy was started in
}
_LOCK = (
    "SET enable_external_access = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET python_enable_replacements = false",
    "SET lock_configuration = true",
)

Fresh = Mapping[str, tuple[tuple[Column, ...], Sequence[tuple[object, ...]]]]
"""By relation, rows that are computed for each statement."""
ResultColumns = list[tuple[str, str]]
"""Names and DuckDB types of result columns."""


class CatalogueDatabase:
    """The catalogue of one view.

    Its methods may be called from any thread: each statement has its own cursor.
    """

    def __init__(self, view: CatalogueView, zone: str = "UTC") -> None:
        self._view = view
        self.broken = False
        """Set after an error that makes this DuckDB unusable."""
        self._filling = threading.Lock()
        self._filled: set[tuple[str, str]] = set()
        self._root = duckdb.connect(":memory:", config=_CONFIG)
        for schema in SCHEMAS.values():
            self._root.execute(f"CREATE SCHEMA {schema}")
        for key in {key for keys in macros.READS.values() for key in keys}:
            _create(self._root, _table(key))
        self._root.execute(macros.statements(not_found(view)))
        self._root.create_function(numbers.DIVIDE, quotient, ["VARCHAR", "VARCHAR"], "VARCHAR")
        self._root.execute(f"SET GLOBAL TimeZone = '{zone}'")
        for statement in _LOCK:
            self._root.execute(statement)

    def close(self) -> None:
        """Interrupt running statements, and drop everything."""
        self._root.close()

    def describe(self, statement: Rewritten, fresh: Fresh) -> ResultColumns:
        """The result's columns, without running the statement."""
        with self._cursor(statement, fresh) as cursor:
            cursor.execute(f"DESCRIBE {statement.sql}")
            return [(str(row[0]), str(row[1])) for row in cursor.fetchall()]

    def run(
        self, statement: Rewritten, fresh: Fresh, cancelled: Callable[[], bool] = lambda: False
    ) -> tuple[ResultColumns, list[tuple[object, ...]]]:
        """The result's columns and rows.

        Raises:
            TooComplex: more than `MAX_ROWS` rows, or out of memory.
            Cancelled: more than `TIME_LIMIT` seconds, or ``cancelled``, asked every `POLL` seconds, says so.
        """
        with self._cursor(statement, fresh, cancelled) as cursor:
            relation = cursor.sql(statement.sql)
            kinds = [str(kind) for kind in relation.types]
            columns = list(zip(relation.columns, kinds, strict=True))
            if any(word in kind for kind in kinds for word in _ONLY_IN_ARROW):
                rows = _fetch_all(_from_arrow(relation.to_arrow_reader(PORTION)))
            else:
                cursor.execute(statement.sql)
                rows = _fetch_all(iter(partial(cursor.fetchmany, PORTION), []))
        if len(rows) > MAX_ROWS:
            raise TooComplex(f"the answer has more than {MAX_ROWS} rows", hint="Add a LIMIT.")
        return columns, rows

    def names(self, word: str) -> Mapping[int, str]:
        """The names of objects by OID; ``word`` names the kind of objects."""
        keys = macros.READS[f"{word}_name"]
        self._fill(keys)
        table = _target(_table(keys[0]))
        with self._root.cursor() as cursor:
            found = cursor.execute(
                f"SELECT internal_oid, internal_name FROM {table} WHERE internal_shown"  # noqa: S608 - our own names
            ).fetchall()
        return {int(oid): str(name) for oid, name in found}

    @contextmanager
    def _cursor(
        self, statement: Rewritten, fresh: Fresh, cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        self._fill(statement.tables)
        cursor = self._root.cursor()
        ended = threading.Event()
        watch = threading.Thread(target=_watch, args=(cursor, cancelled, ended), daemon=True)
        try:
            for name in statement.fresh:
                cursor.register(fresh_name(name), _arrow(*fresh[name]))
            watch.start()
            yield cursor
        except OverflowError:
            raise DateOutOfRange("a date is outside of the years 1 to 9999") from None
        except duckdb.Error as error:
            self.broken |= isinstance(error, duckdb.FatalException | duckdb.InternalException)
            if isinstance(error, duckdb.InterruptException) and cancelled():
                raise Cancelled("canceling statement due to user request") from None
            raise _refusal(error, statement) from None
        finally:
            ended.set()
            cursor.close()

    def _fill(self, wanted: Iterable[tuple[str, str]]) -> None:
        missing = set(wanted) - self._filled
        if not missing:
            return
        with self._filling:
            for key in sorted(missing - self._filled):
                _create(self._root, _table(key))
                _insert(self._root, _table(key), self._view)
                self._filled.add(key)


_ONLY_IN_ARROW = ("INTERVAL", "TIME", "DATE")
"""Types that the engine's Python values represent incompletely: intervals lose months, times lose 24:00:00."""


def _from_arrow(reader: pa.RecordBatchReader) -> Iterator[list[tuple[object, ...]]]:
    for batch in reader:
        yield list(zip(*(plain_values(column) for column in batch.columns), strict=True))


def _fetch_all(portions: Iterable[Sequence[tuple[object, ...]]]) -> list[tuple[object, ...]]:
    """The rows of all portions, up to the first one that is too many.

    Raises:
        TooComplex: their texts are longer than `MOST_TEXT` together.
    """
    rows: list[tuple[object, ...]] = []
    size = 0
    for portion in portions:
        rows += portion
        size += sum(_length(value) for row in portion for value in row)
        check_size(size)
        if len(rows) > MAX_ROWS:
            break
    return rows


def _length(value: object) -> int:
    """An estimate of a value's characters."""
    if isinstance(value, list | dict):
        return len(value) * _ELEMENT
    return len(value) if isinstance(value, str | bytes) else 0


def check_size(size: int) -> None:
    """Raise ``TooComplex`` where an answer has too many characters."""
    if size > MOST_TEXT:
        raise TooComplex(f"the answer has more than {MOST_TEXT} characters", hint="Add a LIMIT.")


def _watch(cursor: duckdb.DuckDBPyConnection, cancelled: Callable[[], bool], ended: threading.Event) -> None:
    """Interrupt a statement that is cancelled or takes too long, until it has ended."""
    last = time.monotonic() + TIME_LIMIT
    while not ended.wait(POLL):
        if cancelled() or time.monotonic() > last:
            with suppress(duckdb.Error):  # it may just have been closed
                cursor.interrupt()


def _table(key: tuple[str, str]) -> CatalogueTable:
    schema, name = key
    return INTERNAL[name] if schema == "internal" else TABLES[key]


def _target(table: CatalogueTable) -> str:
    return f'{SCHEMAS[table.schema]}."{table.name}"'


def _create(connection: duckdb.DuckDBPyConnection, table: CatalogueTable) -> None:
    columns = ", ".join(f'"{name}" {kind}' for name, kind in table.columns.items())
    connection.execute(f"CREATE TABLE IF NOT EXISTS {_target(table)} ({columns})")


def _insert(connection: duckdb.DuckDBPyConnection, table: CatalogueTable, view: CatalogueView) -> None:
    rows = list(table.rows(view))
    if rows:
        marks = ", ".join("?" * len(table.columns))
        batch = [row.get(name) for row in rows for name in table.columns]
        places = ", ".join([f"({marks})"] * len(rows))
        connection.execute(f"INSERT INTO {_target(table)} VALUES {places}", batch)  # noqa: S608 - our own names


_ARROW = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "oid": pa.uint32(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us"),
    "interval": pa.duration("us"),
}


def _arrow_type(column: Column, values: Sequence[object]) -> pa.DataType:
    if column.type.oid != NUMERIC.oid:
        return _ARROW.get(column.type.name, pa.string())
    exponents = [value.as_tuple().exponent for value in values if isinstance(value, Decimal)]
    return pa.decimal128(38, min(38, max((-e for e in exponents if isinstance(e, int) and e < 0), default=0)))


def _arrow(columns: tuple[Column, ...], rows: Sequence[tuple[object, ...]]) -> pa.Table:
    values = [[row[at] for row in rows] for at in range(len(columns))]
    kinds = [_arrow_type(column, held) for column, held in zip(columns, values, strict=True)]
    arrays = [pa.array(held, type=kind) for held, kind in zip(values, kinds, strict=True)]
    return pa.table(arrays, names=[column.name for column in columns])


_MISSING = re.compile(r'Referenced column "([^"]+)"|does not have a column named "([^"]+)"')


def _refusal(error: duckdb.Error, statement: Rewritten) -> Refusal:
    """The refusal for an error of the engine, without its text, which may name internals."""
    message = str(error)
    for part, build in _BY_TEXT.items():
        if part in message:
            return build()
    for kind, build in _REFUSALS:
        if isinstance(error, kind):
            return build()
    if (absent := objects.missing(message)) is not None:
        return absent
    missing = _MISSING.search(message)
    if missing:
        name = missing[1] or missing[2]
        return UndefinedColumn(
            f'column "{name}" does not exist', position=statement.columns.get(name.lower())
        )
    if isinstance(error, duckdb.InvalidInputException):
        return _input_refused()
    return Unsupported("the catalogue cannot answer this statement")


_BY_TEXT: Mapping[str, Callable[[], Refusal]] = {
    SERIES_ERROR: lambda: TooComplex(f"a series of more than {MAX_SERIES} numbers"),
    "out of range for the destination type": lambda: NumberOutOfRange("a number is out of range"),
    "ivision by zero": lambda: DivisionByZero("division by zero"),
    "No function matches": lambda: UndefinedFunction("no function or operator for arguments of these types"),
}


def _input_refused() -> Refusal:
    return InvalidText("a value does not read as its type")


_REFUSALS: tuple[tuple[type[duckdb.Error], Callable[[], Refusal]], ...] = (
    (duckdb.InterruptException, lambda: Cancelled("canceling statement due to statement timeout")),
    (duckdb.OutOfMemoryException, lambda: TooComplex("the statement needs too much memory")),
    (duckdb.ConversionException, _input_refused),
    (duckdb.OutOfRangeException, lambda: NumberOutOfRange("a number is out of range")),
)
