"""The timeouts of a session's settings: for statements, and for idle clients."""

from typing import Final

from dpproxy.config.setting_checks import seconds
from dpproxy.session.transaction import Status, Transaction
from dpproxy.values.errors import IdleInTransaction, IdleSession, Refusal

NEVER: Final = 366 * 86400.0
"""Seconds that mean no limit."""

PATIENCE: Final = 600.0
"""Seconds after which the query of a client that reads no rows is stopped."""


def statement_limit(transaction: Transaction | None) -> float:
    """The seconds that the work of a message may take; none before the login, which has a limit of its own."""
    return NEVER if transaction is None else _limit(transaction, "statement_timeout")


def idle_limit(transaction: Transaction | None) -> tuple[float, Refusal]:
    """The seconds that the client may be idle, and the refusal that ends its session then."""
    if transaction is None or transaction.status is Status.IDLE:
        limit = NEVER if transaction is None else _limit(transaction, "idle_session_timeout")
        return limit, IdleSession("terminating connection due to idle-session timeout")
    limit = _limit(transaction, "idle_in_transaction_session_timeout")
    return limit, IdleInTransaction("terminating connection due to idle-in-transaction timeout")


def _limit(transaction: Transaction, name: str) -> float:
    return min(seconds(transaction.settings[name]) or NEVER, NEVER)
