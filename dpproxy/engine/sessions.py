"""What the engine remembers of each connection."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct, field

from dpproxy.accounting.model import Cost
from dpproxy.algebra.plan import Notice


class EngineSession(Struct):
    """One connection; ``notices`` wait to be sent while its statement runs."""

    cancelled: threading.Event = field(default_factory=threading.Event)
    last_cost: int | None = None
    last_paid: Cost = field(default_factory=Cost)
    """The cost of the last statement that was not free."""
    notices: deque[Notice] = field(default_factory=deque)
    _is_inside: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """A statement runs inside the block; a cancel request has an effect only then, and only on that statement."""
        self._enter(inside=True)
        try:
            yield
        finally:
            self._enter(inside=False)

    def _enter(self, *, inside: bool) -> None:
        with self._lock:
            self._is_inside = inside
            self.cancelled.clear()

    def cancel(self) -> None:
        """Cancel the statement that runs, if any."""
        with self._lock:
            if self._is_inside:
                self.cancelled.set()

    def news(self) -> list[Notice]:
        """The waiting notices, each returned once."""
        return [self.notices.popleft() for _ in range(len(self.notices))]


class Sessions:
    """The open connections, by the session's name; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, EngineSession] = {}

    def open(self, name: str) -> None:
        """Begin a session."""
        with self._lock:
            self._open[name] = EngineSession()

    def close(self, name: str) -> None:
        """End a session."""
        with self._lock:
            self._open.pop(name, None)

    def __len__(self) -> int:
        with self._lock:
            return len(self._open)

    def find(self, name: str) -> EngineSession:
        """The session of that name; an empty one, which is not stored, where none is open."""
        with self._lock:
            return self._open.get(name) or EngineSession()
