"""Whether a ledger is what its key wrote: file, tables, chain, totals, stored releases."""

import sqlite3
from fractions import Fraction

from dpproxy.accounting import book, schema
from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.model import Key, key_of

Sums = dict[Key, tuple[int, Fraction, Fraction]]
"""Nano-epsilon, delta and rho by account."""


def verify(connection: sqlite3.Connection, seals: Seals) -> Head:
    """The head, after every row was checked.

    Errors: Mismatch for the first thing that is wrong; sqlite3.Error where the file cannot be read.
    """
    try:
        # One reading transaction: rows committed meanwhile are not half seen.
        connection.execute("BEGIN")
        if connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
            raise Mismatch("the file is damaged")
        if schema.describe(connection) != schema.expected():
            raise Mismatch("its tables are not those of a ledger")
        head = book.read_head(connection, seals)
        if head.format != schema.FORMAT:
            raise Mismatch(f"its format is {head.format}, this version reads {schema.FORMAT}")
        _check_totals(connection, _check_chain(connection, seals, head))
        _check_releases(connection, seals)
    except ValueError as error:
        raise Mismatch("a row holds what no ledger writes") from error
    finally:
        connection.rollback()
    return head


def _check_chain(connection: sqlite3.Connection, seals: Seals, head: Head) -> Sums:
    """Walk the chain from the first entry to the head; returns the sums by account."""
    mac, sequence, at, debits = seals.genesis(head.ledger, head.format).mac, 0, 0, 0
    sums: Sums = {}
    for entry, stored in book.read_entries(connection):
        sequence += 1
        mac = seals.entry(mac, entry)
        if entry.sequence != sequence or mac != stored or entry.at < at:
            raise Mismatch("the chain is broken", sequence)
        at = entry.at
        debits += len(entry.postings)
        for posting in entry.postings:
            key = key_of(posting.account)
            nano, delta, rho = sums.get(key, (0, _ZERO, _ZERO))
            sums[key] = nano + posting.nano, _plus(delta, posting.delta), _plus(rho, posting.rho)
    if (sequence, mac, at) != (head.sequence, head.mac, head.at):
        raise Mismatch("entries are missing at its end", sequence + 1)
    if connection.execute("SELECT count(*) FROM debit").fetchone() != (debits,):
        raise Mismatch("a debit belongs to no entry")
    return sums


_ZERO = Fraction(0)


def _plus(total: Fraction, text: str) -> Fraction:
    return total if text == "0" else total + Fraction(text)


def _check_totals(connection: sqlite3.Connection, sums: Sums) -> None:
    rows = connection.execute("SELECT kind, name, member, block, window, nano, delta, rho FROM account")
    totals = {row[:5]: (row[5], _plus(_ZERO, row[6]), _plus(_ZERO, row[7])) for row in rows}
    if totals != sums:
        raise Mismatch("the accounts are not the sums of their debits")


def _check_releases(connection: sqlite3.Connection, seals: Seals) -> None:
    for origin, key, nano, payload, mac in connection.execute(
        "SELECT origin, key, nano, payload, mac FROM release"
    ):
        if seals.release(origin, key, nano, payload) != mac:
            raise Mismatch("a stored release was altered", origin)
