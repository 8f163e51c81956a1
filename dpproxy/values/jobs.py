"""What takes long and is under way: shown to administrators while it runs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct, field

Look = Callable[[], float | None]


class Job(Struct):
    """One job; ``look`` is asked which part is done, None where nobody knows."""

    kind: str
    name: str
    began: float = field(default_factory=time.monotonic)
    look: Look = lambda: None

    def move(self, share: float) -> None:
        """Say which part is done."""
        self.look = lambda: share


class Jobs:
    """The jobs of one data source; may be used by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: list[Job] = []

    @contextmanager
    def job(self, kind: str, name: str, look: Look = lambda: None) -> Iterator[Job]:
        """A job that lasts as long as the block."""
        job = Job(kind, name, look=look)
        with self._lock:
            self._jobs.append(job)
        try:
            yield job
        finally:
            with self._lock:
                self._jobs.remove(job)

    def all(self) -> list[Job]:
        """Those that run now, the oldest first."""
        with self._lock:
            return list(self._jobs)
