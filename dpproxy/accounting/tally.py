"""What one statement has charged so far, however it ends: the ledger counts, and whoever records it reads that."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from dpproxy.accounting.model import Reservation


@dataclass(slots=True)
class Tally:
    """Nano-epsilon that were charged while it was open."""

    nano: int = 0


_OPEN: ContextVar[Tally | None] = ContextVar("tally", default=None)


@contextmanager
def tallied() -> Iterator[Tally]:
    """Count what this thread reserves from here on; of two that are open, the inner one counts.

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


def told(reservation: Reservation) -> None:
    """The ledger has made a reservation durable."""
    tally = _OPEN.get()
    if tally is not None:
        tally.nano += reservation.entry.nano


def taken() -> int:
    """What was counted so far, which is somebody else's to record: it counts no more."""
    tally = _OPEN.get()
    if tally is None:
        return 0
    nano, tally.nano = tally.nano, 0
    return nano
