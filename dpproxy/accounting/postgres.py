"""The ledger in a PostgreSQL database, in a schema of its own: proxies of several hosts share it.

Writers take turns by a lock on the row of the head. The tables are those of ``schema``, translated.
"""

import os
import re
import select
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import lru_cache

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dpproxy.accounting import book, schema
from dpproxy.accounting.chain import Mismatch, Seals
from dpproxy.accounting.store import Overtaken
from dpproxy.values.errors import StartupError

SCHEMA = "dpproxy"
WAIT = 5
"""Seconds to wait for a connection, or for another process that writes."""


class PostgresConnection:
    """A connection in autocommit mode that runs the statements of ``book``.

    What is inserted waits for the commit: both are one round trip. A statement before that has it written first, one by
    one: after a pipeline inside a transaction the server would not drop a client that hangs. Where the head is expected
    to be a known one, the whole transaction waits like that, and is undone where the head is another.
    """

    def __init__(self, connection: psycopg.Connection) -> None:
        self.server = connection
        self._pending: list[tuple[bytes, Sequence[object]]] = []
        self._expected: book.Row | None = None
        """The head's row in a transaction that was not begun at the server yet."""

    def execute(self, sql: str, values: Sequence[object] = (), /) -> book.Result:
        """``?`` stands for a value, as everywhere in the ledger."""
        if sql.startswith("INSERT"):
            self._pending.append((_statement(sql), values))
            return ()  # type: ignore[return-value]
        expected, self._expected = self._expected, None
        if expected is not None and self.begin() != expected:
            self.rollback()
            raise Overtaken
        for one in self._take():
            self.server.execute(*one)
        return self.server.execute(_statement(sql), values or None)

    def begin(self) -> book.Row | None:
        """Open a transaction and lock the head, in one round trip; returns the head's row."""
        cursor = self.server.execute(f"BEGIN ISOLATION LEVEL READ COMMITTED; {book.HEAD} FOR UPDATE".encode())
        cursor.nextset()
        return cursor.fetchone()

    @property
    def is_quiet(self) -> bool:
        """Whether nothing of the server waits to be read, as where it has ended the connection."""
        poll = select.poll()
        poll.register(self.server, select.POLLIN)
        return not poll.poll(0)

    def expect(self, row: book.Row) -> None:
        """Open a transaction at the first read or at the commit; ``Overtaken`` is raised where the head is another."""
        self._expected = row

    def commit(self) -> None:
        """Commit; raises if the server rolled back instead, which it does not report as an error."""
        expected, self._expected = self._expected, None
        try:
            with self.server.pipeline():
                if expected is not None:
                    self.server.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                    self.server.execute(_UNCHANGED, expected[-1:])
                for one in self._take():
                    self.server.execute(*one)
                done = self.server.execute("COMMIT")
        except psycopg.errors.DivisionByZero:
            self.rollback()
            raise Overtaken from None
        if done.statusmessage != "COMMIT":
            raise psycopg.OperationalError("the server did not commit")

    def rollback(self) -> None:
        """Undo what is not committed."""
        self._take()
        self._expected = None
        self.server.rollback()

    def _take(self) -> list[tuple[bytes, Sequence[object]]]:
        pending, self._pending = self._pending, []
        return pending

    def close(self) -> None:
        """Close the connection to the server."""
        self.server.close()


_UNCHANGED = (
    b'WITH head AS (SELECT FROM head WHERE "only" = 1 AND seal = %s FOR UPDATE) SELECT 1 / count(*) FROM head'
)
"""Locks the head with this seal; an error where it has another, which undoes what is sent in the same breath."""


@lru_cache(maxsize=256)
def _statement(sql: str) -> bytes:
    """A statement with ``%s`` for ``?``; none of ours contains ``%``, or a ``?`` that is not a value."""
    sql = sql.replace("json_array(", "json_build_array(").replace("json_group_array(", "json_agg(")
    return sql.replace("?", "%s").encode()


class PostgresStore:
    """One database of one server; see ``Store``."""

    largest = 16  # each may read its accounts, with the head locked for everybody

    is_near = False

    def __init__(self, url: str) -> None:
        try:
            given = {key: str(value) for key, value in conninfo_to_dict(url).items()}
        except psycopg.ProgrammingError:  # its text may quote a password
            raise StartupError("the URL of the ledger's PostgreSQL database cannot be read") from None
        # The rest of a password that holds one of @ and / is taken for a host or a database, which messages name.
        if any("@" in given.get(part, "")[1:] for part in ("host", "port", "dbname")):
            raise StartupError(
                "the URL of the ledger's PostgreSQL database names no host: "
                "in a password, write %40 for @, %3A for :, %2F for / and %23 for #"
            )
        self._conninfo = make_conninfo("", **(_CONNECTION | given))
        self.address = "server", self._conninfo
        place = ":".join(given[k] for k in ("host", "port") if k in given)
        self.name = f"postgresql://{place}/{given.get('dbname', '')}"

    @property
    def exists(self) -> bool:
        """Whether the schema has a head."""
        with closing(self._open()) as server:
            row = server.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.head",)).fetchone()
        return row is not None and bool(row[0])

    def create(self, seals: Seals) -> None:
        """Create the schema in one transaction; where two processes do so at once, the second fails."""
        with closing(self._open()) as server:
            session = PostgresConnection(server)
            session.execute("BEGIN")
            for statement in DDL:
                session.execute(statement)
            book.write_head(session, seals, seals.genesis(os.urandom(16), schema.FORMAT))
            session.commit()

    def connect(self, *, writing: bool) -> PostgresConnection:
        """Connect; refuses a server that does not guarantee that a commit is on its disk."""
        server = self._open()
        try:
            if writing:
                _require_durability(server)
                if server.execute(_LACKING).fetchone() == (True,):
                    with suppress(psycopg.Error):  # another host makes it, or the next one tries again
                        for statement in schema.RENEWED:
                            server.execute(statement)
            else:
                server.execute("SET default_transaction_read_only = on")
        except psycopg.Error:
            server.close()
            raise
        return PostgresConnection(server)

    def is_usable(self, connection: book.StoreConnection) -> bool:
        """Check by one round trip, so that a restart of the server fails no statement."""
        try:
            connection.rollback()
            connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def is_undone(self, error: Exception) -> bool:
        """Where the server itself reports an error that ends no more than the transaction."""
        return isinstance(error, psycopg.Error) and error.diag.severity_nonlocalized == "ERROR"

    def begin(self, connection: book.StoreConnection, expected: book.Row | None = None) -> book.Row | None:
        """Wait at most ``WAIT`` seconds for another process; what it wrote is then in the row."""
        if not isinstance(connection, PostgresConnection):
            raise TypeError("a connection to a server")
        if expected is None or not connection.is_quiet:
            return connection.begin()
        connection.expect(expected)
        return expected

    def look(self, connection: book.StoreConnection, *, whole: bool = False) -> None:
        """Open a transaction that sees the state at its first read.

        Who reads all of it waits for other processes that read a part; no row is locked meanwhile.
        """
        if whole:
            connection.execute("SET idle_in_transaction_session_timeout = 0")
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")

    def check(self, connection: book.StoreConnection) -> None:
        """Columns, primary keys, triggers and rules."""
        if set(connection.execute(_DESCRIBE)) - _ARCHIVED != EXPECTED:
            raise Mismatch("its tables are not those of a ledger")

    def archived(self, connection: book.StoreConnection) -> tuple[bytes, bytes] | None:
        """The row of ``archived``."""
        if connection.execute("SELECT to_regclass('archived')").fetchone() == (None,):
            return None
        row = connection.execute("SELECT body, seal FROM archived").fetchone()
        return None if row is None else (bytes(row[0]), bytes(row[1]))

    def translated(self, ddl: str) -> str:
        """For PostgreSQL."""
        return _translated(ddl)

    @property
    def guards(self) -> tuple[Sequence[str], Sequence[str]]:
        """The triggers, and the references to entries, which would look through all debits for each entry."""
        lift = [f"ALTER TABLE {table} DISABLE TRIGGER {table}_append_only" for table in _GUARDED]
        lift += [f"ALTER TABLE {table} DROP CONSTRAINT {table}_{of}_fkey" for table, of in _OF_ENTRIES]
        refer = [
            f"ALTER TABLE {table} ADD FOREIGN KEY ({of}) REFERENCES entry NOT VALID"
            for table, of in _OF_ENTRIES
        ]
        return lift, [*refer, *_ALWAYS]

    @property
    def checks(self) -> Sequence[str]:
        """Of the references, which were put back for new rows alone: others may write meanwhile."""
        return [f"ALTER TABLE {table} VALIDATE CONSTRAINT {table}_{of}_fkey" for table, of in _OF_ENTRIES]

    def copy(self, connection: book.StoreConnection, target: sqlite3.Connection) -> None:
        """Copy row by row, in a transaction that sees one state."""
        if not isinstance(connection, PostgresConnection):
            raise TypeError("a connection to a server")
        self.look(connection)
        tables = dict(schema.TABLES)
        if self.archived(connection) is not None:
            tables["archived"] = schema.ARCHIVED
        target.execute("BEGIN")
        for statement in (*tables.values(), *schema.GUARDS.values()):
            target.execute(statement)
        for table in tables:
            names = [f'"{name}"' for _, name, *_ in target.execute(f"PRAGMA table_info({table})")]
            columns = ", ".join(names)
            with connection.server.cursor("copy") as rows:
                rows.execute(f"SELECT {columns} FROM {table}".encode())  # noqa: S608
                marks = ", ".join("?" * len(names))
                target.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)  # noqa: S608
        target.execute("COMMIT")
        connection.rollback()

    def check_pages(self, connection: book.StoreConnection) -> None:
        """Nothing to do: damaged pages show when they are read."""

    def checkpoint(self, connection: book.StoreConnection) -> None:
        """Do nothing: the server checkpoints by itself."""

    def _open(self) -> psycopg.Connection:
        server = psycopg.connect(self._conninfo, autocommit=True)
        try:
            for setting, value in _SETTINGS.items():
                server.execute("SELECT set_config(%s, %s, false)", (setting, value))
        except psycopg.Error:
            server.close()
            raise
        return server


_CONNECTION = {
    "connect_timeout": str(WAIT),
    # A host that is gone does not say so: noticed while something is sent, and while an answer is waited for.
    "tcp_user_timeout": str(WAIT * 1000),
    "keepalives_idle": str(WAIT),
    "keepalives_interval": "1",
    "keepalives_count": str(WAIT),
    "application_name": "dpproxy",
}
_SETTINGS = {
    "search_path": SCHEMA,
    "lock_timeout": f"{WAIT}s",
    # A proxy that hangs with the head locked must not stop the others for long.
    "idle_in_transaction_session_timeout": f"{2 * WAIT}s",
}


_LACKING = "SELECT to_regclass('debit') IS NOT NULL AND to_regclass('debit_by_payer') IS NULL"
_DURABLE = "SELECT current_setting('synchronous_commit'), current_setting('fsync')"


def _require_durability(server: psycopg.Connection) -> None:
    """Raise psycopg.OperationalError where the server may lose commits in a power failure."""
    commit, fsync = server.execute(_DURABLE).fetchone() or ("", "")
    if fsync != "on":
        raise psycopg.OperationalError("the server runs with fsync off and may lose what it committed")
    if commit not in ("on", "remote_apply"):
        server.execute("SET synchronous_commit = on")


def _translated(ddl: str) -> str:
    """The table definitions, translated from SQLite to PostgreSQL."""
    ddl = re.sub(r"\) STRICT(, WITHOUT ROWID)?$", ")", ddl)
    words = {"INTEGER": "BIGINT", "BLOB": "BYTEA", "only": '"only"', "window": '"window"'}
    return re.sub(r"\b(INTEGER|BLOB|only|window)\b", lambda found: words[found[0]], ddl)


_TABLES = {name: _translated(ddl) for name, ddl in schema.TABLES.items()}
_COLUMN = re.compile(r'^ +"?(\w+)"? +(BIGINT|TEXT|BYTEA)\b( NOT NULL| PRIMARY KEY)?', re.MULTILINE)
_KEY = re.compile(r'^ +(?:("?\w+"?) +BIGINT )?PRIMARY KEY(?: (\(.*\)))?', re.MULTILINE)
_GUARDED = ("entry", "debit")
_OF_ENTRIES = (("debit", "sequence"), ("release", "origin"))
_REFUSE = "BEGIN RAISE EXCEPTION 'append-only'; END"
_ALWAYS = [f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_append_only" for table in _GUARDED]
"""Also for a session that calls itself a replica."""
DDL = (
    f"CREATE SCHEMA {SCHEMA}",
    *_TABLES.values(),
    schema.GUARDS["release_by_key"],
    schema.BY_PAYER,
    f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $${_REFUSE}$$",
    *(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse()"
        for table in _GUARDED
    ),
    *_ALWAYS,
)


def _described(table: str, ddl: str) -> set[tuple[str, str, str]]:
    columns = _COLUMN.findall(ddl)
    keys = _KEY.findall(ddl)
    return {
        *((table, name, f"{kind.lower()} {'NO' if rest else 'YES'}") for name, kind, rest in columns),
        *((table, "p", f"PRIMARY KEY {columns or f'({name})'}") for name, columns in keys),
    }


_ARCHIVED = _described("archived", _translated(schema.ARCHIVED))
EXPECTED = {
    *(row for table, ddl in _TABLES.items() for row in _described(table, ddl)),
    *((table, f"{table}_append_only", "A") for table in _GUARDED),
    ("", "refuse", _REFUSE),
}
"""What ``_DESCRIBE`` gives for a ledger nobody has altered: the same in all versions of the server."""

_DESCRIBE = """
SELECT table_name::text, column_name::text, data_type || ' ' || is_nullable
FROM information_schema.columns WHERE table_schema = current_schema()
UNION ALL SELECT conrelid::regclass::text, contype::text, pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = current_schema()::regnamespace AND contype = 'p'
UNION ALL SELECT tgrelid::regclass::text, tgname::text, tgenabled::text
FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal
UNION ALL SELECT '', proname::text, prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
UNION ALL SELECT tablename::text, rulename::text, definition FROM pg_rules WHERE schemaname = current_schema()
"""
