"""Entries from before rho was recorded, which count against limits under ZCDP, too.

Such an entry has rho 0 and an epsilon above 0. There was no concentrated noise then, so each is a release with pure
epsilon, or with epsilon and delta, and costs at most epsilon**2 / 2 of rho: ``Cost.of``. Entries stay as they were
written; their rho is added to the totals of accounts.
"""

from collections.abc import Iterable
from fractions import Fraction

from dpproxy.accounting.book import Connection
from dpproxy.accounting.model import Cost, Key

_OWN = 'kind, name, member, block, "window"'
_IS_OLDER = "SELECT 1 FROM debit WHERE rho = '0' AND nano > 0 LIMIT 1"
_DEBITS = f"SELECT {_OWN}, nano, rho FROM debit"  # noqa: S608 - our own text
_TOTALS = f"SELECT {_OWN}, rho FROM account"  # noqa: S608 - our own text
_SET = 'UPDATE account SET rho = ? WHERE kind = ? AND name = ? AND member = ? AND block = ? AND "window" = ?'


def missing(nano: int, rho: str) -> Fraction:
    """The rho of a debit that does not record it.

    >>> missing(1_000_000_000, "0"), missing(1_000_000_000, "1/2")
    (Fraction(1, 2), Fraction(0, 1))
    """
    return Cost.of(nano).rho if rho == "0" else Fraction(0)


def lacking(connection: Connection) -> dict[Key, Fraction]:
    """The accounts whose total lacks rho of some debits, each with the right total, as rho."""
    if connection.execute(_IS_OLDER).fetchone() is None:
        return {}
    costs: dict[Key, Fraction] = {}
    for *key, nano, rho in connection.execute(_DEBITS):
        own = _key(key)
        costs[own] = costs.get(own, Fraction(0)) + Fraction(rho) + missing(int(nano), rho)
    totals = {_key(key): Fraction(rho) for *key, rho in connection.execute(_TOTALS)}
    return {key: rho for key, rho in costs.items() if totals.get(key) != rho}


def complete(connection: Connection) -> None:
    """Add missing rho to the totals; to be called in a writing transaction."""
    found = lacking(connection)
    if found:
        connection.executemany(_SET, [(str(rho), *key) for key, rho in found.items()])


def _key(columns: Iterable[object]) -> Key:
    kind, name, member, block, window = columns
    return str(kind), str(name), str(member), str(block), int(str(window))
