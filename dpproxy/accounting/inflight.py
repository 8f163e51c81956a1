"""Identical questions asked at the same time are released once: one asks, the others wait for its answer.

When the one had its answer must not show in when the others get theirs: those who ask at shifted times would see the
same moment on as many grids, and read it off as on a vernier. So the owner says from when on it may be seen, an instant
of its own grid, and for everybody else the question is in flight until then: what they see follows from that instant,
which the owner's own client sees as well.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dpproxy.values.errors import Cancelled
from dpproxy.values.recent import Recent

T = TypeVar("T")

POLL = 0.02
"""Seconds between two looks at whether a waiting caller was cancelled."""
LANDED = 4096
"""Questions that were answered last: far more than are between anybody's look into the store and their claim."""


@dataclass(slots=True)
class Claim(Generic[T]):
    """What ``InFlight.claim`` gives: the owner provides the result, the others find it there.

    ``is_first`` where the owner waited for nobody, and nobody of the last ``LANDED`` had an answer to the question.
    """

    owner: bool
    result: T | None = None
    is_first: bool = False

    def resolve(self, result: T) -> None:
        """The owner's answer, for everybody who waits; they get it when the owner leaves its block."""
        self.result = result


@dataclass(slots=True)
class _Flight(Generic[T]):
    landed: threading.Condition
    owned: bool = True
    done: bool = False
    seen_from: float = 0.0
    waiting: int = 0
    result: T | None = field(default=None, repr=False)


class InFlight(Generic[T]):
    """Who is asking what right now.

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
        """Own the question ``key``, or wait for whoever does.

        An owner that leaves without resolving, by an error or not, hands over to one of those who wait. That it left is
        seen ``seen_from`` then on, on the clock of ``time.monotonic``; it is asked as the owner leaves. Afterwards the
        key is free again: later callers look in the store first.

        Errors: Cancelled after ``timeout`` seconds of waiting, or when ``cancelled`` says so.
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
        """Drop the flights whose instant has come."""
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
