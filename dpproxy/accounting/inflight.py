"""Identical questions asked at the same time are released once: one asks, the others wait for its answer."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dpproxy.errors import Cancelled

T = TypeVar("T")

POLL = 0.02
"""Seconds between two looks at whether a waiting caller was cancelled."""


@dataclass(slots=True)
class Claim(Generic[T]):
    """What ``InFlight.claim`` gives: the owner provides the result, the others find it there."""

    owner: bool
    result: T | None = None

    def resolve(self, result: T) -> None:
        """The owner's answer, for everybody who waits; they get it when the owner leaves its block."""
        self.result = result


@dataclass(slots=True)
class _Flight(Generic[T]):
    landed: threading.Condition
    owned: bool = True
    done: bool = False
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

    @contextmanager
    def claim(
        self, key: bytes, timeout: float | None = None, cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[Claim[T]]:
        """Own the question ``key``, or wait for whoever does.

        An owner that leaves without resolving, by an error or not, hands over to one of those who wait.
        Afterwards the key is free again: later callers look in the store first.

        Errors: Cancelled after ``timeout`` seconds of waiting, or when ``cancelled`` says so.
        """
        flight, claim = self._board(key, None if timeout is None else time.monotonic() + timeout, cancelled)
        try:
            yield claim
        finally:
            if claim.owner:
                self._land(key, flight, claim)

    def _board(
        self, key: bytes, until: float | None, cancelled: Callable[[], bool]
    ) -> tuple[_Flight[T], Claim[T]]:
        with self._lock:
            flight = self._flights.get(key)
            if flight is None:
                flight = self._flights[key] = _Flight(threading.Condition(self._lock))
                return flight, Claim(owner=True)
            flight.waiting += 1
            try:
                while flight.owned and not flight.done:
                    left = POLL if until is None else min(POLL, until - time.monotonic())
                    if left <= 0 or cancelled():
                        raise Cancelled("canceling statement due to user request")
                    flight.landed.wait(left)
            finally:
                flight.waiting -= 1
            if flight.done:
                return flight, Claim(owner=False, result=flight.result)
            flight.owned = True
            return flight, Claim(owner=True)

    def _land(self, key: bytes, flight: _Flight[T], claim: Claim[T]) -> None:
        with self._lock:
            flight.owned = False
            flight.result = claim.result
            flight.done = claim.result is not None
            if flight.done or not flight.waiting:
                del self._flights[key]
            flight.landed.notify_all()
