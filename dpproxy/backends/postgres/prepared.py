"""Prepared tables of a PostgreSQL source, in a schema of the same database that was made for them.

A table's name tells whose it is (the truncation secret and the role) and what it rests on (the declarations of the
data's tables); the rest of it is the name that plans have. A proxy drops only tables of its own secret, and none that
a statement reads.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import errors

from dpproxy.backends.postgres.server import PostgresServer
from dpproxy.backends.servers.dialect import ValueKind
from dpproxy.backends.servers.prepared import TableBuild, digest
from dpproxy.backends.servers.source import build_order
from dpproxy.sql.quoting import quoted
from dpproxy.values.errors import Refusal, StartupError

LAYOUT = 1
"""Goes up when the same tables shall be prepared otherwise."""
MARK = "dp_"
"""Begins the name of every prepared table."""
NEAR = {"random_page_cost": "1"}
"""The pages of some days lie together: a server that expects them apart reads all of a table of 100 million rows."""
_MOMENTS = (ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.INSTANT)


class PostgresPrepared:
    """The prepared tables in one schema; its methods may be called from any thread.

    Errors: ``StartupError`` where the schema is not one for prepared tables alone, or others may look into it.
    """

    def __init__(self, server: PostgresServer, schema: str, source: str, secret: bytes) -> None:
        self._server, self._schema, self._secret = server, schema, secret
        server.settings |= NEAR
        try:
            role = _check(server, schema)
        except StartupError as error:
            raise StartupError(f"data.{source}.prepared_schema: {error}") from None
        except Refusal:
            raise StartupError(f"data.{source}.url: the server cannot be reached with it") from None
        self._own = f"{MARK}{digest(b'own', secret, role.encode())}_"
        rests_on = repr((LAYOUT, server.schema_name, server.described())).encode()
        self._shape = f"{digest(rests_on)}_"

    def place(self, name: str) -> str:
        """The text of a table."""
        return f"{quoted(self._schema)}.{quoted(self._name(name))}"

    def names(self) -> set[str]:
        """Those of ours that are there; one that rests on other declarations has a longer name than any plan's."""
        rows = self._server.catalogue(_THERE, [self._schema, self._own])
        return {name.removeprefix(self._own).removeprefix(self._shape) for (name,) in rows}

    def build(self, name: str, build: TableBuild, session: str, cancelled: Callable[[], bool]) -> None:
        """Have one there, in one transaction and of one snapshot.

        The secret is a parameter of INSERT: CREATE TABLE AS takes none, and its text may be logged.
        """
        place = self.place(name)
        values = [self._secret.hex() for _ in build.query.parameters]
        with self._server.writing(build_order(session, cancelled)) as connection:
            # Before the transaction, so that its snapshot shows what another proxy has built meanwhile.
            connection.execute("SELECT pg_advisory_lock(hashtextextended($1, 0))", [place])
            with connection.transaction():
                if self._is_there(connection, name):
                    return
                for sql in (
                    f"CREATE TABLE {place} AS {build.draft} WITH NO DATA",
                    f"REVOKE ALL ON {place} FROM PUBLIC",
                ):
                    connection.execute(sql.encode())
                self._server.check_declared(connection, build.query.tables, charged=True)
                connection.execute(f"INSERT INTO {place} {build.query.sql}".encode(), values)
                moments = [quoted(c.name) for c in build.query.columns if c.value.kind in _MOMENTS]
                if moments:  # rows mostly come in the order of time: those of other times need not be read
                    connection.execute(f"CREATE INDEX ON {place} USING brin ({', '.join(moments)})".encode())
                connection.execute(f"ANALYZE {place}".encode())

    def drop(self, name: str, session: str) -> None:
        """Drop one; one that a statement reads just now, of this proxy or another, stays until the next start."""
        place = self.place(name)
        with self._server.writing(build_order(session)) as connection:
            read = (errors.LockNotAvailable, errors.UndefinedTable)
            with suppress(*read), connection.transaction():
                connection.execute(f"LOCK TABLE {place} IN ACCESS EXCLUSIVE MODE NOWAIT".encode())
                connection.execute(f"DROP TABLE {place}".encode())

    def _is_there(self, connection: psycopg.Connection[Any], name: str) -> bool:
        rows = connection.execute(_THERE, [self._schema, self._name(name)]).fetchall()
        return bool(rows)

    def _name(self, name: str) -> str:
        """One that has the digest of other declarations in its name keeps it."""
        return f"{self._own}{name}" if "_" in name else f"{self._own}{self._shape}{name}"


def _check(server: PostgresServer, schema: str) -> str:
    """The role's name, where it may make tables in this schema and write nowhere else, and PUBLIC cannot look in."""
    grant = f"CREATE SCHEMA {quoted(schema)}; GRANT USAGE, CREATE ON SCHEMA {quoted(schema)} TO dpproxy;"
    if schema == server.schema_name:
        raise StartupError(f"expected another schema than that of the data: {grant}")
    [(role, may_make)] = server.catalogue(_ROLE, [schema])
    if not may_make:
        raise StartupError(f'expected a schema "{schema}" in which the role may make tables: {grant}')
    for sql, told in _REFUSED:
        rows = server.catalogue(sql, [schema])
        if rows:
            raise StartupError(told.format(*rows[0]))
    return str(role)


_THERE = """
SELECT c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND starts_with(c.relname, $2) AND c.relkind = 'r' AND c.relpersistence = 'p'
  AND pg_get_userbyid(c.relowner) = current_user
"""
_ROLE = """
SELECT current_user::text, EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1
  AND has_schema_privilege(oid, 'USAGE') AND has_schema_privilege(oid, 'CREATE'))
"""
_WRITES = """(has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
  OR has_any_column_privilege(c.oid, 'INSERT, UPDATE'))"""
_PUBLIC = """
SELECT nspname FROM pg_namespace AS n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS a
WHERE n.nspname = $1 AND a.grantee = 0
"""
_ELSEWHERE = f"""
SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ($1, 'pg_catalog', 'information_schema')
  AND NOT starts_with(n.nspname, 'pg_t') AND {_WRITES} ORDER BY 1, 2 LIMIT 1
"""  # noqa: S608 - our own
_SCHEMAS = """
SELECT nspname FROM pg_namespace WHERE nspname <> $1 AND NOT starts_with(nspname, 'pg_')
  AND has_schema_privilege(oid, 'CREATE') ORDER BY 1 LIMIT 1
"""
_DATABASE = (
    "SELECT current_database() WHERE has_database_privilege(current_database(), 'CREATE') AND $1 <> ''"
)
_OTHERS = f"""
SELECT c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT starts_with(c.relname, '{MARK}') LIMIT 1
"""  # noqa: S608 - our own
_REFUSED = (
    (
        _PUBLIC,
        'everybody may look into schema "{}", and it holds people\'s rows: REVOKE ALL ON SCHEMA ... FROM PUBLIC;',
    ),
    (_ELSEWHERE, 'the role may write to table "{}"."{}"; expected one that may write nowhere else'),
    (_SCHEMAS, 'the role may make tables in schema "{}", too: REVOKE CREATE ON SCHEMA ... FROM PUBLIC;'),
    (_DATABASE, 'the role may make schemas in database "{}": REVOKE CREATE ON DATABASE ... FROM dpproxy;'),
    (_OTHERS, 'expected a schema of its own: it holds "{}", which is no prepared table'),
)
