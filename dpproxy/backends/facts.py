"""What planning reads from public tables: key sets and how often a value occurs. Nobody's rows, so nothing is spent."""

import threading
from collections import OrderedDict
from itertools import count

from dpproxy.algebra import nodes
from dpproxy.backends.asker import asked_by, asker, unpaid
from dpproxy.backends.failures import failure
from dpproxy.backends.source import Source
from dpproxy.policy.model import Scalar
from dpproxy.values.errors import Cancelled
from dpproxy.values.work import remaining, too_long

LONGEST = 10.0
"""Seconds of one statement, where planning has as many left."""
_AGAIN = 0.05
"""Seconds after which one that goes on is stopped again: it may not have begun yet."""
KEPT = 256
"""Answers kept: a file does not change while it is open, and a live source tells when they are no longer true."""
PLANNER = "planner "
"""How the sessions begin whose answers plans rest on."""

Rows = tuple[tuple[Scalar | None, ...], ...]


class Facts:
    """Answers statements of the planner's own over public tables; may be called from any thread."""

    def __init__(self, backend: Source) -> None:
        self._backend = backend
        self._kept: OrderedDict[nodes.Query, Rows] = OrderedDict()
        self._lock = threading.Lock()
        self._numbers = count()
        self._running: dict[str, str] = {}
        """By session that waits: the session of ours that asks for it."""
        self._epoch = backend.epoch

    def __call__(self, query: nodes.Query) -> Rows:
        """The rows of one statement."""
        epoch = self._backend.epoch
        with self._lock:
            if epoch != self._epoch:
                self._epoch = epoch
                self._kept.clear()
            kept = self._kept.get(query)
        if kept is not None:
            return kept
        rows = self._asked(query, PLANNER)
        with self._lock:
            if epoch == self._epoch == self._backend.epoch:  # a table that changed meanwhile may hold others
                self._kept[query] = rows
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return rows

    def passing(self, query: nodes.Query) -> Rows:
        """The same of tables that are read exactly, which may be somebody's: nothing is kept of it."""
        return self._asked(query, "exact ")

    def _asked(self, query: nodes.Query, kind: str) -> Rows:
        session, client = f"{kind}{next(self._numbers)}", asker()
        is_late = threading.Event()

        def expire() -> None:
            is_late.set()
            while not watch.finished.wait(_AGAIN):
                self._stop(session)

        watch = threading.Timer(remaining(LONGEST), expire)
        with self._lock:
            self._running[client] = session
        watch.start()
        try:
            with asked_by(session):
                rows: Rows = tuple(self._backend.run_public(query, session))  # type: ignore[arg-type]
        except Cancelled:
            raise (too_long() if is_late.is_set() else failure("cancelled")) from None
        finally:
            watch.cancel()
            with self._lock:
                if self._running.get(client) == session:
                    del self._running[client]
        return rows

    def interrupt(self, session: str) -> None:
        """Stop what a client's session waits for, from any thread; does not wait."""
        with self._lock:
            running = self._running.get(session)
        if running is not None:
            self._stop(running)

    def _stop(self, session: str) -> None:
        self._backend.interrupt(unpaid(session))
        self._backend.interrupt(session)
