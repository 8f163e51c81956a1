"""Identical questions asked at the same time are released once: one caller asks, the others wait for its answer.

The time at which the others get the answer must not reveal when the first caller, the owner, had it: callers who start
at shifted times would see that moment on several padding grids and could compute it more precisely than any one grid
shows. So the owner names an instant of its own grid, and until then the question stays in flight for everybody else.
What they see depends on that instant alone, which the owner's client sees too.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from msgspec import Struct

from dpproxy.values.errors import Cancelled
from dpproxy.values.recent import Recent
from dpproxy.values.structs import PartlyShown

T = TypeVar("T")

POLL = 0.02
"""Seconds between two checks whether a waiting caller was cancelled."""
LANDED = 4096
"""Recently answered keys remembered: far more than are answered between a caller's store lookup and its claim."""


class Claim(Struct, Generic[T]):
    """A caller's part in a question: the owner provides ``result``, for the others it is there already.

    ``is_first``: the owner did not wait, and the question is not among the last ``LANDED`` that were answered.
    """

    owner: bool
    result: T | None = None
    is_first: bool = False

    def resolve(self, result: T) -> None:
        """Set the answer for every waiting caller; they get it after the owner has left its block."""
        self.result = result


class _Flight(PartlyShown, Struct, Generic[T]):
    HIDDEN = frozenset({"result"})
    landed: threading.Condition
    owned: bool = True
    done: bool = False
    seen_from: float = 0.0
    waiting: int = 0
    result: T | None = None


class InFlight(Generic[T]):
    """The questions in flight, by key. Any thread may call ``claim``.

    Example:
        >>> flights = InFlight[bytes]()
        >>> with flights.claim(b"key") as claim:
        ...     if claim.owner:
        ...         claim.resolve(b"answer")
        >>> claim.result
        b'answer'
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[bytes, _Flight[T]] = {}
        self._landed = Recent[bool](LANDED)

    @contextmanager
    def claim(
        self,
        key: bytes,
        timeout: float | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        seen_from: Callable[[], float] = lambda: 0.0,
    ) -> Iterator[Claim[T]]:
        """Own the question ``key``, or wait for its owner.

        An owner that leaves without resolving, by an error or not, hands over to one of the waiting callers. They
        notice that it left from the instant ``seen_from()`` on, on the clock of ``time.monotonic``; the function is
        called as the owner leaves. Afterwards the key is free again: later callers search the store first.

        Errors: Cancelled after ``timeout`` seconds of waiting, or once ``cancelled()`` is true.
        """
        flight, claim = self._board(key, None if timeout is None else time.monotonic() + timeout, cancelled)
        try:
            yield claim
        finally:
            if claim.owner:
                self._land(key, flight, claim, seen_from())

    def _board(
        self, key: bytes, until: float | None, cancelled: Callable[[], bool]
    ) -> tuple[_Flight[T], Claim[T]]:
        with self._lock:
            self._forget()
            flight = self._flights.get(key)
            if flight is None:
                flight = self._flights[key] = _Flight(threading.Condition(self._lock))
                return flight, Claim(owner=True, is_first=self._landed.get(key) is None)
            self._wait(flight, until, cancelled)
            if flight.done:
                return flight, Claim(owner=False, result=flight.result)
            flight.owned = True
            self._flights[key] = flight
            return flight, Claim(owner=True)

    def _wait(self, flight: _Flight[T], until: float | None, cancelled: Callable[[], bool]) -> None:
        flight.waiting += 1
        try:
            while flight.owned or time.monotonic() < flight.seen_from:
                now = time.monotonic()
                left = POLL if until is None else min(POLL, until - now)
                if left <= 0 or cancelled():
                    raise Cancelled("canceling statement due to user request")
                flight.landed.wait(left if flight.owned else min(left, max(0.0, flight.seen_from - now)))
        finally:
            flight.waiting -= 1

    def _forget(self) -> None:
        """Drop the flights that have ended and whose instant has passed."""
        now = time.monotonic()
        for key, flight in list(self._flights.items()):
            if not flight.owned and flight.seen_from <= now and (flight.done or not flight.waiting):
                del self._flights[key]

    def _land(self, key: bytes, flight: _Flight[T], claim: Claim[T], seen_from: float) -> None:
        with self._lock:
            if claim.result is not None:
                self._landed.put(key, value=True)
            flight.owned, flight.seen_from = False, seen_from
            flight.result = claim.result
            flight.done = claim.result is not None
            flight.landed.notify_all()
            self._forget()
