"""Entries of the audit log."""

from decimal import Decimal
from pathlib import Path

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Caller, PublicPlan
from dpproxy.observe.audit_entry import AuditEntry, AuditOutcome
from dpproxy.observe.audit_log import AuditLog
from dpproxy.observe.records import COLUMNS, audit_rows, entry_of, exact_notice, recorder
from dpproxy.values.errors import NotGranted

ANN = Caller("ann", frozenset({"analyst", "clerk"}), "session of ann")


def test_an_entry_has_who_what_and_why():
    refusal = NotGranted("rows of a protected table are not shown", hint="SELECT count(*) FROM t;")
    entry = entry_of(7, ANN, AuditOutcome.REFUSED, "SELECT x FROM t WHERE y = $1", ["z"], refusal=refusal)
    assert entry == AuditEntry(
        7, "ann", "analyst clerk", AuditOutcome.REFUSED, "SELECT x FROM t WHERE y = $1 -- $1 = z", 0, "42501",
        "rows of a protected table are not shown",
    )  # fmt: skip


def test_what_is_listed_fits_the_columns():
    entry = AuditEntry(1_500_000, "ann", "analyst", AuditOutcome.ANSWERED, "SELECT 1", 250_000_000)
    [row] = audit_rows([(3, entry)])
    assert len(row) == len(COLUMNS)
    assert row == (
        3, "1970-01-01T00:00:01.500+00:00", "ann", "analyst", "answered", Decimal("0.25"), None, None, "SELECT 1",
    )  # fmt: skip


def test_an_exact_answer_says_so():
    told = exact_notice(PublicPlan(nodes.Select(), (), ("people", "visits")))
    assert "exact answer of people, visits" in told.message
    assert "audit log" in told.message


def test_a_recorder_has_written_when_it_returns(tmp_path: Path):
    log = AuditLog.open(tmp_path, b"secret")
    recorder(log, ANN, "SELECT * FROM people", ["a"])(AuditOutcome.EXACT)
    [(_, entry)] = log.last(5)
    log.close()
    assert (entry.user, entry.outcome, entry.statement) == (
        "ann",
        AuditOutcome.EXACT,
        "SELECT * FROM people -- $1 = a",
    )
