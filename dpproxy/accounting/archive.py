"""Moves old entries to a ledger file of their own; the chain goes on from where that ends, and so do the sums.

What may still be asked for stays: the charges of the newest data version, whose stored answers are given again. The
record of what was archived is a `Checkpoint` in the ledger itself, with a seal of its own kind.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from dpproxy.accounting import backup, book, schema
from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.checkpoint import Checkpoint, archive_seal, beginning
from dpproxy.accounting.sqlite import SQLite
from dpproxy.accounting.store import Store
from dpproxy.accounting.walk import walk
from dpproxy.values.errors import StartupError

PORTION: Final = 5_000
"""Entries that leave in one transaction: charges wait for no more."""
_FIRST_OF_NEWEST: Final = (
    "SELECT min(sequence) FROM entry WHERE at >= ? OR data_version = (SELECT max(data_version) FROM entry)"
)
_LEAVE: Final = (
    "DELETE FROM debit WHERE origin <= ? AND sequence <= ?",  # an origin is never after what it is of
    "DELETE FROM release WHERE origin <= ?",
    "DELETE FROM entry WHERE sequence <= ?",
)
_LATER: Final = (
    "DELETE FROM debit WHERE sequence > ?",
    "DELETE FROM release WHERE origin > ?",
    "DELETE FROM entry WHERE sequence > ?",
)
_RECORD: Final = (
    'INSERT INTO archived ("only", body, seal) VALUES (1, ?, ?) '
    'ON CONFLICT ("only") DO UPDATE SET body = excluded.body, seal = excluded.seal'
)


def last_before(store: Store, before: int) -> int:
    """The number of the last entry that may leave; 0 where none may. ``before`` in microseconds since 1970."""
    with closing(store.connect(writing=False)) as connection:
        first = connection.execute(_FIRST_OF_NEWEST, (before,)).fetchone()[0]
    return 0 if first is None else first - 1


def write(store: Store, seals: Seals, target: Path, last: int) -> Head:
    """Move the entries up to ``last`` to the file ``target``, which appears once it is verified; they leave then.

    Where this is interrupted, what has not left stays.

    Errors: StartupError if ``target`` exists, or one of both does not verify; ``faults()``.
    """
    head = backup.write(store, seals, target, edit=lambda copy: _cut(copy, seals, last))
    try:
        with closing(store.connect(writing=True)) as connection:
            while _leave(store, connection, seals, head):
                store.checkpoint(connection)
            for check in store.checks:
                connection.execute(check)
    except Mismatch as error:
        raise StartupError(f"ledger {store.name} does not verify ({error})") from error
    return head


def _cut(copy: sqlite3.Connection, seals: Seals, last: int) -> None:
    """Make of a copy a ledger that ends at ``last``."""
    store, head = (
        SQLite(Path()),
        book.read_head(copy, seals),
    )  # the kind of the copy, whatever the ledger's is
    found = _after(beginning(store, copy, seals, head), copy, seals, last)
    copy.execute("BEGIN")
    _run(store, copy, _LATER, last)
    copy.execute("DELETE FROM account")
    book.write_totals(copy, found.sums)
    book.write_head(copy, seals, replace(head, sequence=last, at=found.place.at, mac=found.place.mac))
    copy.execute("COMMIT")
    copy.execute("VACUUM")


def _leave(store: Store, connection: book.StoreConnection, seals: Seals, end: Head) -> bool:
    """Remove the next portion of the entries up to ``end``; False where none is left."""
    try:
        begin = beginning(store, connection, seals, book.head_of(store.begin(connection), seals))
        if begin.ledger != end.ledger or book.read_mac(connection, end.sequence) not in (end.mac, None):
            raise Mismatch("it is not the ledger that was archived")
        if begin.place.sequence >= end.sequence:
            return False
        last = min(begin.place.sequence + PORTION, end.sequence)
        body = _after(begin, connection, seals, last).packed()
        if store.archived(connection) is None:
            connection.execute(store.translated(schema.ARCHIVED))
        _run(store, connection, _LEAVE, last)
        connection.execute(_RECORD, (body, archive_seal(seals, body)))
        connection.commit()
    finally:
        connection.rollback()
    return True


def _after(begin: Checkpoint, connection: book.StoreConnection, seals: Seals, last: int) -> Checkpoint:
    """What was paid up to ``last``: those entries are verified. Errors: Mismatch, ValueError."""
    walked = walk(connection, seals, begin.place, last)
    walked.include(begin.sums)
    return Checkpoint(begin.ledger, walked.end, walked.sums)


def _run(store: Store, connection: book.StoreConnection, statements: tuple[str, ...], last: int) -> None:
    """Run statements without the guards that make the tables append-only, inside a transaction."""
    lift, put_back = store.guards
    for guard in lift:
        connection.execute(guard)
    for statement in statements:
        connection.execute(statement, (last,) * statement.count("?"))
    for guard in put_back:
        connection.execute(guard)
