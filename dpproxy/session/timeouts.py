"""The timeouts that a session sets for itself: of a statement, and of silence."""

from typing import Final

from dpproxy.config.setting_checks import seconds
from dpproxy.session.transaction import Status, Transaction
from dpproxy.values.errors import IdleInTransaction, IdleSession, Refusal

NEVER: Final = 366 * 86400.0
"""Seconds that stand for no limit."""

PATIENCE: Final = 600.0
"""Seconds that the engine keeps rows for a client that takes none."""


def of_statement(transaction: Transaction | None) -> float:
    """Seconds that the work of a message may take; before the login there is no other limit than the login's."""
    return NEVER if transaction is None else _limit(transaction, "statement_timeout")


def of_silence(transaction: Transaction | None) -> tuple[float, Refusal]:
    """Seconds that the client may say nothing, and what ends its session then."""
    if transaction is None or transaction.status is Status.IDLE:
        limit = NEVER if transaction is None else _limit(transaction, "idle_session_timeout")
        return limit, IdleSession("terminating connection due to idle-session timeout")
    limit = _limit(transaction, "idle_in_transaction_session_timeout")
    return limit, IdleInTransaction("terminating connection due to idle-in-transaction timeout")


def _limit(transaction: Transaction, name: str) -> float:
    return min(seconds(transaction.settings[name]) or NEVER, NEVER)
