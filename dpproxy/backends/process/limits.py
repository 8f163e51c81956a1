"""A thread that stops statements at their limits: it sleeps until the next one is due, or an earlier one comes."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Limited(Protocol):
    """A statement with a limit."""

    until: float
    """When it is due, by ``time.monotonic``."""

    def expire(self) -> None:
        """Stop the statement. Does not wait. Where it changes ``until``, it calls ``StatementLimits.wake``."""


class StatementLimits:
    """Has statements expire when they are due; its methods may be called from any thread.

    The thread is not woken for a statement that is due later than it wakes up anyway: statements that end in time, each
    with the same limit, wake it once in that time and not once each.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: set[Limited] = set()
        self._wakes_at = math.inf
        self._closing = False
        self._thread = threading.Thread(target=self._watch, name="limits", daemon=True)
        self._thread.start()

    @contextmanager
    def apply(self, statement: Limited) -> Iterator[None]:
        """Limit the statement inside the block. Once the block is left it does not expire any more."""
        with self._changed:
            self._running.add(statement)
        self.wake(statement.until)
        try:
            yield
        finally:
            with self._changed:
                self._running.discard(statement)

    def wake(self, until: float) -> None:
        """Look at the statements at that time, too."""
        with self._changed:
            if until < self._wakes_at:
                self._wakes_at = until
                self._changed.notify()

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _watch(self) -> None:
        while self._sleep():
            with self._changed:
                now = time.monotonic()
                self._wakes_at = min((s.until for s in self._running if s.until > now), default=math.inf)
                for statement in [s for s in self._running if s.until <= now]:
                    statement.expire()

    def _sleep(self) -> bool:
        """Wait until it is time to look at the statements; False where it is time to end."""
        with self._changed:
            while not self._closing and (left := self._wakes_at - time.monotonic()) > 0:
                self._changed.wait(min(left, threading.TIMEOUT_MAX))
            return not self._closing
