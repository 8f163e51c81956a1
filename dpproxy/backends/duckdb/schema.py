"""What the engine's catalogue says, all of it public: types as clients see them, keys and checks, columns, views."""

import re
from typing import Final

import duckdb

from dpproxy.values.pgtypes import (
    ARRAYS,
    IN_DUCKDB,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    CheckConstraint,
    Constraint,
    ForeignKey,
    SqlType,
    UniqueKey,
    View,
    array_of,
)

_TYPES: dict[str, SqlType] = {
    **IN_DUCKDB,
    "TINYINT": INT2,
    "UTINYINT": INT2,
    "USMALLINT": INT4,
    "UINTEGER": INT8,
    "UBIGINT": NUMERIC.with_precision(20, 0),
    "HUGEINT": NUMERIC.with_precision(38, 0),
}
ENUM: Final = "ENUM("
_LABEL: Final = re.compile(r"'((?:[^']|'')*)'")
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def column_type(name: str) -> SqlType | None:
    """The client's type of an engine type; None for types that are not answered, whose columns do not exist."""
    if name.endswith("[]"):
        element = column_type(name.removesuffix("[]"))
        if element is None or element.oid in ARRAYS or name.startswith(ENUM):
            return None
        return array_of(element)
    if name.startswith(ENUM):
        return TEXT
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return NUMERIC.with_precision(int(decimal[1]), int(decimal[2]))
    return _TYPES.get(name)


def labels(kind: str) -> tuple[str, ...]:
    """The labels of an enum, by the engine's name of its type.

    >>> labels("ENUM('a', 'it''s')")
    ('a', "it's")
    """
    return tuple(label.replace("''", "'") for label in _LABEL.findall(kind.removeprefix(ENUM)))


_DECLARED = (
    "SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names, "
    "expression FROM duckdb_constraints() WHERE schema_name = ? AND database_name = current_database() "
    "ORDER BY table_name, constraint_index"
)


def constraints(connection: duckdb.DuckDBPyConnection, schema: str = "main") -> tuple[Constraint, ...]:
    """Keys and checks of a schema, in the order of their tables; NOT NULL is the column's own."""
    found: list[Constraint] = []
    for table, kind, columns, target, referenced, expression in connection.execute(
        _DECLARED, [schema]
    ).fetchall():
        match kind:
            case "PRIMARY KEY" | "UNIQUE":
                found.append(UniqueKey(table, tuple(columns), primary=kind == "PRIMARY KEY"))
            case "FOREIGN KEY":
                found.append(ForeignKey(table, tuple(columns), target, tuple(referenced)))
            case "CHECK":
                found.append(CheckConstraint(table, expression))
            case _:
                pass
    return tuple(found)


_COLUMNS = (
    "SELECT table_name, column_name FROM duckdb_columns() "
    "WHERE schema_name = ? AND NOT internal AND database_name = current_database() "
    "ORDER BY table_name, column_index"
)
_VIEWS = (
    "SELECT view_name, sql FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal AND NOT temporary "
    "AND database_name = current_database() ORDER BY view_name"
)


def column_names(connection: duckdb.DuckDBPyConnection, schema: str = "main") -> dict[str, tuple[str, ...]]:
    """The columns of every table and view of a schema, whatever their types, in order."""
    found: dict[str, list[str]] = {}
    for relation, column in connection.execute(_COLUMNS, [schema]).fetchall():
        found.setdefault(relation, []).append(column)
    return {relation: tuple(columns) for relation, columns in found.items()}


def views(connection: duckdb.DuckDBPyConnection, columns: dict[str, tuple[str, ...]]) -> dict[str, View]:
    """The views of the schema ``main``, their texts not read yet."""
    return {name: View(sql, columns.get(name, ())) for name, sql in connection.execute(_VIEWS).fetchall()}
