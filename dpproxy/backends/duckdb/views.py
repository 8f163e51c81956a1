"""What the DDL says of views, and the names of all columns: public facts."""

import duckdb

from dpproxy.values.pgtypes import View

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
