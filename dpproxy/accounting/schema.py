"""The ledger's tables, in SQLite's SQL.

The format is meant to last: windows, blocks, delta, rho and reasons had columns before anything used them.
"""

import sqlite3

from dpproxy.accounting import book

FORMAT = 1
"""Version of the tables and of the canonical encoding of an entry."""

_ACCOUNT = """
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    member  TEXT NOT NULL,
    block   TEXT NOT NULL,
    window  INTEGER NOT NULL,"""

TABLES = {
    # One row: how far the chain goes. ``seal`` authenticates the row, so a shortened ledger does not verify.
    "head": """CREATE TABLE head (
    only      INTEGER PRIMARY KEY CHECK (only = 1),
    format    INTEGER NOT NULL,
    ledger    BLOB NOT NULL,
    sequence  INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    mac       BLOB NOT NULL,
    seal      BLOB NOT NULL
) STRICT""",
    # Append-only. delta, rho: rationals as text. at: microseconds. mac: HMAC of the mac before and the entry.
    "entry": """CREATE TABLE entry (
    sequence        INTEGER PRIMARY KEY,
    kind            TEXT NOT NULL,
    at              INTEGER NOT NULL,
    who             TEXT NOT NULL,
    statement       BLOB NOT NULL,
    policy_version  INTEGER NOT NULL,
    data_version    INTEGER NOT NULL,
    mechanism       TEXT NOT NULL,
    nano            INTEGER NOT NULL CHECK (nano >= 0),
    delta           TEXT NOT NULL DEFAULT '0',
    rho             TEXT NOT NULL DEFAULT '0',
    release         BLOB NOT NULL,
    origin          INTEGER NOT NULL CHECK (origin <= sequence),
    label           TEXT NOT NULL,
    note            TEXT NOT NULL DEFAULT '',
    mac             BLOB NOT NULL
) STRICT""",
    # Append-only. The key says it: an account is debited at most once for the release of one charge (origin).
    "debit": f"""CREATE TABLE debit (
    origin      INTEGER NOT NULL,{_ACCOUNT}
    sequence    INTEGER NOT NULL REFERENCES entry,
    position    INTEGER NOT NULL,
    limit_nano  INTEGER,
    nano        INTEGER NOT NULL CHECK (nano >= 0),
    delta       TEXT NOT NULL DEFAULT '0',
    rho         TEXT NOT NULL DEFAULT '0',
    PRIMARY KEY (origin, kind, name, member, block, window)
) STRICT, WITHOUT ROWID""",
    # The sum over debits, kept so that a limit is checked without adding up.
    "account": f"""CREATE TABLE account ({_ACCOUNT}
    nano   INTEGER NOT NULL CHECK (nano >= 0),
    delta  TEXT NOT NULL DEFAULT '0',
    rho    TEXT NOT NULL DEFAULT '0',
    PRIMARY KEY (kind, name, member, block, window)
) STRICT, WITHOUT ROWID""",
    # Released answers; a row may be missing (lost in a crash, dropped for space), never different.
    # One without a key: nothing was released under the charge.
    "release": """CREATE TABLE release (
    origin   INTEGER PRIMARY KEY REFERENCES entry,
    key      BLOB NOT NULL,
    nano     INTEGER NOT NULL,
    payload  BLOB NOT NULL,
    mac      BLOB NOT NULL
) STRICT""",
}

ARCHIVED = """CREATE TABLE archived (
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    body  BLOB NOT NULL,
    seal  BLOB NOT NULL
) STRICT"""
"""One row: where a ledger begins that has been archived up to there; others have no such table. See ``archive``."""

FAMILY = 12
"""Bytes of a release's key that all releases of the same rows share."""
PAYERS = "kind IN ('user', 'budget')"
"""Accounts by whose payments stored releases are found; so that the index is used, a query must say this as well."""
BY_PAYER = f"CREATE INDEX debit_by_payer ON debit (name, member, origin) WHERE {PAYERS}"
"""Ledgers that are older than this index get it when they are opened for writing; they are whole without it."""
_FORMER = "CREATE INDEX release_by_rows ON release (substr(key, 1, 12), origin, key, nano)"
"""Ledgers that are older than ``BY_PAYER`` may have this one."""
RENEWED = BY_PAYER.replace("INDEX", "INDEX IF NOT EXISTS"), "DROP INDEX IF EXISTS release_by_rows"
"""What gives older ledgers the indexes of now."""

GUARDS = {
    "debit_by_payer": BY_PAYER,
    "release_by_key": "CREATE INDEX release_by_key ON release (key, nano)",
    **{
        f"{table}_no_{action}": f"CREATE TRIGGER {table}_no_{action} BEFORE {action.upper()} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'append-only'); END"
        for table in ("entry", "debit")
        for action in ("update", "delete")
    },
}

DDL = (*TABLES.values(), *GUARDS.values())


def describe(connection: book.StoreConnection) -> set[tuple[str, str, str]]:
    """Every table, index and trigger as (type, name, SQL)."""
    return set(connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_schema"))


def is_ledger(found: set[tuple[str, str, str]]) -> bool:
    """Whether ``describe`` gave that of a ledger nobody has altered, whatever was archived."""
    some = {("table", "archived", ARCHIVED), ("index", "release_by_rows", _FORMER)}
    return found - some | {("index", "debit_by_payer", BY_PAYER)} == expected()


def expected() -> set[tuple[str, str, str]]:
    """What ``describe`` gives for a new ledger."""
    connection = sqlite3.connect(":memory:")
    try:
        for statement in DDL:
            connection.execute(statement)
        return describe(connection)
    finally:
        connection.close()
