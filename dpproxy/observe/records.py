"""Entries of the audit log from statements, and the rows and notices that show them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from dpproxy.accounting import tally
from dpproxy.accounting.model import format_epsilon
from dpproxy.algebra.plan import Caller, Notice, PublicPlan
from dpproxy.observe.audit_entry import AuditEntry, AuditOutcome, reason, statement_text
from dpproxy.observe.audit_file import Row
from dpproxy.observe.audit_log import AuditLog
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import typed_columns

DEFAULT_LIMIT = 100
"""The rows of SHOW PRIVACY AUDIT without LIMIT."""

COLUMNS = typed_columns("sequence:int8 at user roles outcome epsilon:numeric sqlstate reason statement")
"""What SHOW PRIVACY AUDIT lists of each entry, the latest first."""
OWN_COLUMNS = tuple(one for one in COLUMNS if one.name in ("at", "outcome", "epsilon", "statement"))
"""What SHOW PRIVACY HISTORY lists: without numbers, whose gaps would tell of statements of others."""
OWN_OUTCOMES = AuditOutcome.ANSWERED, AuditOutcome.REPLAYED, AuditOutcome.FREE, AuditOutcome.EXACT


def entry_of(
    at: int,
    caller: Caller,
    outcome: AuditOutcome,
    sql: str,
    values: Sequence[object] = (),
    *,
    nano: int = 0,
    refusal: Refusal | None = None,
) -> AuditEntry:
    """The entry for a statement, ``at`` in microseconds: the caller's own words, and no value of a row."""
    state, why = ("", "") if refusal is None else (refusal.sqlstate, reason(refusal))
    return AuditEntry(
        at,
        caller.user,
        " ".join(sorted(caller.roles)),
        outcome,
        statement_text(sql, values),
        nano,
        state,
        why,
    )


def recorder(
    log: AuditLog, caller: Caller, sql: str, values: Sequence[object] = ()
) -> Callable[[AuditOutcome], None]:
    """A callback that records, durably, what is about to be read, with what was charged for it by then.

    A charge that it has recorded is not recorded again at the statement's end. Raises ``LedgerUnavailable``.
    """

    def record(outcome: AuditOutcome) -> None:
        log.write(entry_of(log.now(), caller, outcome, sql, values, nano=tally.take()))

    return record


def exact_notice(plan: PublicPlan) -> Notice:
    """The notice beside an exact answer."""
    return Notice(
        f"exact answer of {', '.join(plan.exact)}: no noise, no privacy guarantee; it is in the audit log",
        detail="Your roles have EXACT SELECT on every protected table of the statement, so nothing was debited.",
        hint="For an answer that may be passed on, ask as a user without that privilege.",
    )


def audit_rows(rows: Sequence[Row]) -> list[tuple[object, ...]]:
    """Entries as rows of ``COLUMNS``."""
    return [
        (
            sequence,
            _moment(entry),
            entry.user,
            entry.roles,
            entry.outcome.value,
            Decimal(format_epsilon(entry.nano)),
            entry.sqlstate or None,
            entry.reason or None,
            entry.statement,
        )
        for sequence, entry in rows
    ]


def own_rows(entries: Sequence[AuditEntry]) -> list[tuple[object, ...]]:
    """Entries as rows of ``OWN_COLUMNS``."""
    return [
        (_moment(one), one.outcome.value, Decimal(format_epsilon(one.nano)), one.statement) for one in entries
    ]


def _moment(entry: AuditEntry) -> str:
    return datetime.fromtimestamp(entry.at / 10**6, UTC).isoformat(timespec="milliseconds")
