"""What a SQLite file says of its tables, and how their columns are read: a column there may hold values of any type.

A value that is not of its column's declared type is NULL here. Days and moments are texts, a DECIMAL a number.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence

from msgspec import Struct

from dpproxy.backends.servers.dialect import Reach, Value, ValueKind, stored
from dpproxy.backends.sqlite.functions import MOST_DIGITS
from dpproxy.sql.quoting import quoted
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT8,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    Column,
    Constraint,
    ForeignKey,
    Schema,
    SqlType,
    UniqueKey,
    View,
)

_TABLES = """
SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view')
  AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name
"""
"""Neither virtual tables nor what they keep their rows in."""
_DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_LENGTH = re.compile(r"\s*\(\s*\d+\s*\)$")
Reading = tuple[SqlType, Value]


class Described(Struct, frozen=True):
    """The tables of a file, and how each of their columns is read."""

    schema: Schema
    columns: Mapping[str, Mapping[str, Value]]


def described(connection: sqlite3.Connection) -> Described:
    """Tables, columns, keys and views, in their spelling.

    Virtual tables do not exist here, nor do columns that are computed or of a type that is not answered. NOT NULL is
    not believed: a value of another type is NULL.
    """
    found = connection.execute(_TABLES).fetchall()
    tables: dict[str, tuple[Column, ...]] = {}
    reads: dict[str, dict[str, Value]] = {}
    left_out: dict[str, tuple[str, ...]] = {}
    constraints: list[Constraint] = []
    views: dict[str, View] = {}
    for table, kind in found:
        listed = connection.execute(f"PRAGMA main.table_xinfo({quoted(table)})").fetchall()
        if kind == "view":
            views[table] = View("", tuple(name for _, name, *_ in listed))
        elif known := _known(listed):
            tables[table] = tuple(Column(name, read[0]) for name, read in known.items())
            reads[table] = {name: read[1] for name, read in known.items()}
            left_out[table] = tuple(name for _, name, *_ in listed if name not in known)
            constraints += _constraints(connection, table, listed)
    return Described(
        Schema(tables, tuple(constraints), views, {t: n for t, n in left_out.items() if n}), reads
    )


def _known(listed: Sequence[tuple[object, ...]]) -> dict[str, Reading]:
    """Of what ``table_xinfo`` lists, the columns that are answered."""
    readings = {
        str(name): reading(str(declared)) for _, name, declared, _, _, _, hidden in listed if not hidden
    }
    return {name: read for name, read in readings.items() if read is not None}


def reading(declared: str) -> Reading | None:
    """The type of a column by its declaration, and how it is read; None where it is not answered.

    >>> reading("VARCHAR(20)")[0].name
    'text'
    """
    name = declared.strip().upper()
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None:
        precision, scale = int(decimal[1]), int(decimal[2] or 0)
        return _decimal(precision, scale) if scale <= precision <= MOST_DIGITS and precision else None
    return _TYPES.get(_LENGTH.sub("", name))


def _decimal(precision: int, scale: int) -> Reading:
    wrap = f"(CASE WHEN typeof({{0}}) IN ('integer', 'real') THEN dp_digits({{0}}, {precision}, {scale}) END)"
    most = 10.0 ** (precision - scale)
    reach = Reach(-most, most, top=False, bottom=False)
    return NUMERIC.with_precision(precision, scale), stored(
        ValueKind.DECIMAL if scale else ValueKind.HUGE, wrap, reach, scale
    )


def _constraints(
    connection: sqlite3.Connection, table: str, listed: Sequence[tuple[object, ...]]
) -> list[Constraint]:
    key = [str(name) for place, name in sorted((row[5], row[1]) for row in listed if row[5])]
    found: list[Constraint] = [UniqueKey(table, tuple(key), primary=True)] if key else []
    references: dict[int, list[tuple[str, str, str | None]]] = {}
    for number, _, target, name, other, *_ in connection.execute(
        f"PRAGMA main.foreign_key_list({quoted(table)})"
    ).fetchall():
        references.setdefault(number, []).append((target, name, other))
    for pairs in references.values():
        if all(other is not None for _, _, other in pairs):
            names = tuple(name for _, name, _ in pairs)
            found.append(ForeignKey(table, names, pairs[0][0], tuple(str(other) for *_, other in pairs)))
    return found


def _of(kinds: str, read: str = "{0}") -> str:
    return f"(CASE WHEN typeof({{0}}) {kinds} THEN {read} END)"


_WHOLE = INT8, stored(ValueKind.WHOLE, _of("= 'integer'"))
_DOUBLE = FLOAT8, stored(ValueKind.DOUBLE, _of("IN ('real', 'integer')", "CAST({0} AS REAL)"))
_TEXT = TEXT, stored(ValueKind.TEXT, _of("= 'text'", "dp_text(CAST({0} AS BLOB))"))
_TRUTH = BOOL, stored(ValueKind.TRUTH, "(CASE WHEN typeof({0}) = 'integer' AND {0} IN (0, 1) THEN {0} END)")
_MOMENT = TIMESTAMP, stored(ValueKind.TIMESTAMP, _of("= 'text'", "dp_moment(CAST({0} AS BLOB))"))
_TYPES: Mapping[str, Reading] = {
    **dict.fromkeys(
        ("INTEGER", "INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "INT2", "INT4", "INT8"), _WHOLE
    ),
    **dict.fromkeys(("REAL", "DOUBLE", "DOUBLE PRECISION", "FLOAT"), _DOUBLE),
    **dict.fromkeys(
        ("TEXT", "VARCHAR", "CHAR", "CHARACTER", "CHARACTER VARYING", "NVARCHAR", "NCHAR", "CLOB"), _TEXT
    ),
    **dict.fromkeys(("BOOLEAN", "BOOL"), _TRUTH),
    "DATE": (DATE, stored(ValueKind.DATE, _of("= 'text'", "dp_day(CAST({0} AS BLOB))"))),
    **dict.fromkeys(("TIMESTAMP", "DATETIME"), _MOMENT),
}
"""By the declared type without its length, the type that is shown and how a column of it is read."""
