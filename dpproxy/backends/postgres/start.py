"""Looked at before a PostgreSQL source is asked anything: the server, its schema, and that the role only reads."""

import re
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import errors

from dpproxy.sql.quoting import identifier
from dpproxy.values.errors import StartupError

OLDEST = 140_000
"""The server's version, from which a row has a hash of its own."""
LONGEST_CONNECT = 10
"""Seconds to wait for a connection."""


def reason(error: psycopg.Error) -> str:
    """Why there is no connection, without a word of the URL.

    A connection that was not made has no SQLSTATE, only words: these are looked for and never handed on, since a
    password with an ``@`` is taken for a host.
    """
    if isinstance(error, errors.ProgrammingError):
        return "expected postgresql://role@host:port/database"
    told = str(error)
    found = next((reason for words, reason in _REASONS if re.search(words, told)), None)
    return found or "the server cannot be reached with it"


_REASONS = (
    (
        "failed to resolve host",
        "its host is not known; in a password, write %40 for @, %3A for :, %2F for / and %23 for #",
    ),
    ("Connection refused|No such file or directory", "no server listens at its host and port"),
    ("timeout expired", "the server does not answer"),
    ('database ".*" does not exist', "the server has no such database"),
    (
        'role ".*" does not exist|authentication failed|no password supplied',
        "the server refuses the role or its password",
    ),
    ("pg_hba.conf", "the server's pg_hba.conf does not let this role in from here"),
    (
        "is not kept",
        "the server, or a pooler before it, does not keep a connection's settings: let `options` pass",
    ),
    ("SSL|certificate", "the server's TLS is not what sslmode asks for"),
)
"""What libpq and an English server say, in the order looked for."""


def check_server(connection: psycopg.Connection[Any], name: str) -> None:
    """Its version and its encoding: texts are compared by their bytes."""
    if connection.info.server_version < OLDEST:
        raise StartupError(f"data.{name}.url: expected PostgreSQL {OLDEST // 10_000} or later")
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise StartupError(f"data.{name}.url: expected a database whose encoding is UTF8")


def check_settings(connection: psycopg.Connection[Any], given: Mapping[str, str]) -> None:
    """A connection's settings, which a pooler may leave out or a server's trigger change, are those it was made with.

    What is read rests on them: whose functions are found, of which snapshot, in which zone. Raises ``psycopg.Error``.
    """
    [(kept,)] = connection.execute(
        "SELECT array_agg(current_setting(n) ORDER BY i) FROM unnest($1::text[]) WITH ORDINALITY AS u (n, i)",
        [list(given)],
    ).fetchall()
    for (name, value), found in zip(given.items(), kept, strict=True):
        if found != value and not found.startswith(f"{value}, "):  # datestyle has a second part
            raise psycopg.OperationalError(f"{name} is not kept")


def schema_of(url: str, name: str) -> str:
    """The first schema of the role's search path, as the URL, the role or the database sets it."""
    with psycopg.connect(url, autocommit=True, connect_timeout=LONGEST_CONNECT) as connection:
        row = connection.execute("SELECT current_schema()").fetchone()
    if row is None or row[0] is None:
        raise StartupError(
            f"data.{name}.url: the role's search_path names no schema that it may use: GRANT USAGE ON SCHEMA ... TO "
            "it, or ALTER ROLE ... SET search_path = ...;"
        )
    return str(row[0])


def check_role(connection: psycopg.Connection[Any], name: str, schema: str) -> None:
    """The role may read and nothing else: what reads people's rows must not be able to change them."""
    wanted = f"expected one that may only read: CREATE ROLE dpproxy LOGIN PASSWORD '...'; {grants(schema, 'dpproxy')}"
    row = connection.execute("SELECT rolsuper, rolname FROM pg_roles WHERE rolname = current_user").fetchone()
    if row is None or row[0]:
        raise StartupError(f"data.{name}.url: the role is a superuser; {wanted}")
    found = connection.execute(_WRITABLE, [schema]).fetchone()
    if found is not None:
        raise StartupError(f'data.{name}.url: the role may write to table "{found[0]}"; {wanted}')


def grants(schema: str, role: str) -> str:
    """The statements that let a role read the tables of a schema.

    >>> grants("sales", "dpproxy")
    'GRANT USAGE ON SCHEMA sales TO dpproxy; GRANT SELECT ON ALL TABLES IN SCHEMA sales TO dpproxy;'
    """
    place, reader = identifier(schema), identifier(role)
    return f"GRANT USAGE ON SCHEMA {place} TO {reader}; GRANT SELECT ON ALL TABLES IN SCHEMA {place} TO {reader};"


_WRITABLE = """
SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = quote_ident($1)::regnamespace AND c.relkind IN ('r', 'p')
  AND (has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
    OR has_any_column_privilege(c.oid, 'INSERT, UPDATE'))
ORDER BY c.relname LIMIT 1
"""
