"""What the engine remembers of each connection."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dpproxy.accounting.model import Cost
from dpproxy.algebra.plan import Notice


@dataclass(slots=True)
class EngineSession:
    """One connection; ``told`` waits to be sent while its statement runs."""

    cancelled: threading.Event = field(default_factory=threading.Event)
    last_cost: int | None = None
    last_paid: Cost = field(default_factory=Cost)
    """Of the last statement that cost anything."""
    notices: deque[Notice] = field(default_factory=deque)
    _is_inside: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While a statement is: only then does a cancel count, and only for that one."""
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
        """Cancel the statement that is inside, if one is."""
        with self._lock:
            if self._is_inside:
                self.cancelled.set()

    def news(self) -> list[Notice]:
        """What waits, once."""
        return [self.notices.popleft() for _ in range(len(self.notices))]


class Sessions:
    """The connections there are, by the session's name. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, EngineSession] = {}

    def open(self, name: str) -> None:
        """Remember a session."""
        with self._lock:
            self._open[name] = EngineSession()

    def close(self, name: str) -> None:
        """Forget it."""
        with self._lock:
            self._open.pop(name, None)

    def find(self, name: str) -> EngineSession:
        """The session; one that was never opened is remembered by nobody."""
        with self._lock:
            return self._open.get(name) or EngineSession()
