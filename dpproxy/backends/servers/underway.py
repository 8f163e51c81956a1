"""Statements that run on an engine of another process or library: each can be interrupted, and has a limit."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

GRACE = 5.0
"""Seconds that an engine has to obey a cancel."""
AGAIN = 0.05
"""Seconds between two cancels of one statement: one that comes before the statement is forgotten."""


class Underway:
    """One statement; ``cancel`` interrupts it, and ``hang_up`` closes its connection where that does not help."""

    def __init__(
        self, limit: float, cancel: Callable[[], None], hang_up: Callable[[], None] | None = None
    ) -> None:
        self._limit, self._cancel, self._hang_up = limit, cancel, hang_up
        self._watch: threading.Timer | None = None
        self.over = threading.Event()
        self.is_stopped = self.has_expired = False

    def go(self) -> None:
        """The engine works from now on, for the limit's time at most."""
        self._watch = threading.Timer(self._limit, self._expire)
        self._watch.daemon = True
        self._watch.start()

    def rest(self) -> None:
        """The client takes its time, or it has ended."""
        if self._watch is not None:
            self._watch.cancel()

    def stop(self) -> None:
        """Interrupt it, again and again. Does not wait."""
        if not self.is_stopped:
            self.is_stopped = True
            threading.Thread(target=self._insist, daemon=True).start()

    def reason(self, *, charged: bool) -> str | None:
        """The entry of ``failures`` for a statement that was stopped; None for any other."""
        if self.has_expired:
            return "too long" if charged else "public too long"
        return "cancelled" if self.is_stopped else None

    def _expire(self) -> None:
        self.has_expired = True
        self.stop()

    def _insist(self) -> None:
        until = time.monotonic() + GRACE
        while not self.over.is_set():
            if self._hang_up is not None and time.monotonic() >= until:
                self._hang_up()
                return
            with suppress(Exception):
                self._cancel()
            self.over.wait(AGAIN)


Known = TypeVar("Known", bound=Underway)


class Running:
    """The statements under way, by session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statements: dict[str, Underway] = {}

    @contextmanager
    def of(self, session: str, statement: Known) -> Iterator[Known]:
        """While the statement runs, its session can interrupt it."""
        with self._lock:
            self._statements[session] = statement
        statement.go()
        try:
            yield statement
        finally:
            statement.rest()
            statement.over.set()
            with self._lock:
                if self._statements.get(session) is statement:
                    del self._statements[session]

    def interrupt(self, session: str) -> None:
        """Stop what a session runs, from any thread; does not wait."""
        with self._lock:
            statement = self._statements.get(session)
        if statement is not None:
            statement.stop()

    def close(self) -> None:
        """Stop all."""
        with self._lock:
            running = list(self._statements.values())
        for statement in running:
            statement.stop()
