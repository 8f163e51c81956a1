"""The sum of one statement's charges, also where it fails: the ledger adds to it, the audit log reads it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from dpproxy.accounting.model import Reservation


class Tally(Struct):
    """The nano-epsilon charged inside one ``tallied`` block."""

    nano: int = 0


_OPEN: ContextVar[Tally | None] = ContextVar("tally", default=None)


@contextmanager
def tallied() -> Iterator[Tally]:
    """Add up what this thread reserves inside the block; of nested blocks only the inner one counts.

    >>> with tallied() as found:
    ...     found.nano
    0
    """
    tally = Tally()
    token = _OPEN.set(tally)
    try:
        yield tally
    finally:
        _OPEN.reset(token)


def add(reservation: Reservation) -> None:
    """Add a durable reservation to the open tally, if there is one; called by the ledger."""
    tally = _OPEN.get()
    if tally is not None:
        tally.nano += reservation.entry.nano


def take() -> int:
    """The nano-epsilon charged so far; sets the tally to 0, as the caller records this amount itself."""
    tally = _OPEN.get()
    if tally is None:
        return 0
    nano, tally.nano = tally.nano, 0
    return nano
