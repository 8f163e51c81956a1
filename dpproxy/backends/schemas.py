"""The schemas of a database: where its tables are, and which of them a role may read. No row is read."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import psycopg
from msgspec import Struct

from dpproxy.backends.postgres.start import LONGEST_CONNECT, grants, reason
from dpproxy.sql.quoting import identifier
from dpproxy.system.confinement import LOCKED
from dpproxy.values.errors import StartupError

MOST_NAMED = 8
MANY = 1_000_000
"""Rows from which statements over a table of PostgreSQL take long without prepared tables."""
_TABLES = """
SELECT n.nspname::text, c.relname::text,
  has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'), c.reltuples >= %s
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition AND n.nspname <> 'information_schema'
  AND n.nspname NOT LIKE 'pg\\_%%' ORDER BY n.nspname, c.relname
"""
_ROLE = "SELECT current_user::text, current_schema()::text"
_FILE = (
    "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database() "
    "ORDER BY schema_name, table_name"
)


class Namespace(Struct, frozen=True):
    """A schema with the names of its tables: those that the role may read, the others, and which have many rows.

    That a table has many rows is an estimate of the server's, for whoever administers it.
    """

    name: str
    readable: tuple[str, ...]
    unreadable: tuple[str, ...] = ()
    large: tuple[str, ...] = ()


def in_postgres(url: str, name: str) -> tuple[str, str | None, list[Namespace]]:
    """The role of a URL, the schema it would serve, and those that have tables.

    Raises ``StartupError`` without a word of the URL.
    """
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=LONGEST_CONNECT) as connection:
            [(role, served)] = connection.execute(_ROLE).fetchall()
            rows = connection.execute(_TABLES, [MANY]).fetchall()
    except psycopg.Error as error:
        raise StartupError(f"data.{name}.url: {reason(error)}") from None
    return (
        str(role),
        served,
        [
            Namespace(
                schema,
                tuple(table for at, table, may_read, _ in rows if at == schema and may_read),
                tuple(table for at, table, may_read, _ in rows if at == schema and not may_read),
                tuple(
                    table for at, table, may_read, is_large in rows if at == schema and may_read and is_large
                ),
            )
            for schema in dict.fromkeys(row[0] for row in rows)
        ],
    )


def in_file(path: Path) -> list[Namespace]:
    """The schemas of a DuckDB file that have tables; none of what is no such file."""
    try:
        with duckdb.connect(str(path), read_only=True, config=dict(LOCKED)) as connection:
            rows = connection.execute(_FILE).fetchall()
    except duckdb.Error:
        return []
    return [
        Namespace(schema, tuple(table for at, table in rows if at == schema))
        for schema in dict.fromkeys(row[0] for row in rows)
    ]


def nothing_read(schema: str, role: str, found: Sequence[Namespace]) -> str:
    """What to say where a role can read no table of the schema that is served: who has tables, and what to do."""
    told = f'no table can be read in schema "{schema}"'
    for one in found:
        if one.name == schema:
            return f"{told}, which has {listed(one)}: {grants(schema, role)}"
    if not found:
        return f"{told}, and no other schema has tables"
    first = next((one for one in found if one.readable), found[0])
    path = f"ALTER ROLE {identifier(role)} SET search_path = {identifier(first.name)};"
    return (
        f"{told}; {'; '.join(f'schema {one.name} has {listed(one)}' for one in found)}. To serve {first.name}: {path}"
        + ("" if first.readable else f" {grants(first.name, role)}")
    )


def listed(one: Namespace) -> str:
    """How many tables a schema has, and the names of a few.

    >>> listed(Namespace("sales", ("customers", "orders"), ("salaries",)))
    '2 tables (customers, orders) and 1 that the role may not read (salaries)'
    """
    unreadable = f"{len(one.unreadable)} that the role may not read ({_few(one.unreadable)})"
    if not one.readable:
        return unreadable
    count = f"{len(one.readable)} {'table' if len(one.readable) == 1 else 'tables'} ({_few(one.readable)})"
    return f"{count} and {unreadable}" if one.unreadable else count


def _few(names: Sequence[str]) -> str:
    return ", ".join([*names[:MOST_NAMED], *(["..."] if len(names) > MOST_NAMED else [])])
