import hashlib

from msgspec.structs import fields, replace

from dpproxy.observe.audit_entry import (
    LONGEST,
    AuditEntry,
    AuditOutcome,
    reason,
    seal,
    shorten,
    statement_text,
)
from dpproxy.values.errors import NotGranted

ENTRY = AuditEntry(5, "ann", "analyst", AuditOutcome.ANSWERED, "SELECT count(*) FROM t", 10**8, "", "")


def test_what_is_authenticated_of_an_entry_never_changes():
    """Logs that exist verify by these bytes."""
    entry = AuditEntry(1, "ann", "analyst", AuditOutcome.ANSWERED, "SELECT 1", 5, "00000", "why")
    found = hashlib.sha256(entry.canonical()).hexdigest()
    assert found == "52f59dedb6fe9664963f4be7c30453c120aa80813973f8f992e36f9831f09048"


def test_every_field_is_in_the_mac():
    mac = seal(b"secret").entry(b"before", 1, ENTRY)
    others = {"at": 6, "nano": 7, "outcome": AuditOutcome.EXACT}
    for one in fields(AuditEntry):
        changed = replace(ENTRY, **{one.name: others.get(one.name, "else")})
        assert seal(b"secret").entry(b"before", 1, changed) != mac
    assert seal(b"secret").entry(b"other", 1, ENTRY) != mac
    assert seal(b"secret").entry(b"before", 2, ENTRY) != mac
    assert seal(b"other").entry(b"before", 1, ENTRY) != mac


def test_long_texts_are_cut():
    assert len(shorten("x" * 10_000)) == LONGEST
    assert (
        statement_text("  SELECT -- all\n  *  FROM t\n", [1, None, "it"])
        == "SELECT -- all\n  *  FROM t -- $1 = 1 -- $2 = NULL -- $3 = it"
    )
    assert len(statement_text("x" * 10_000, ["y" * 10_000])) == LONGEST
    assert shorten("\ud800") == "?"


def test_a_reason_is_what_the_caller_was_told():
    assert reason(NotGranted("rows are not shown", hint="count them")) == "rows are not shown"
