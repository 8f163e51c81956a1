"""What planning reads from public tables: key sets and how often a value occurs. Nobody's rows, so nothing is spent."""

import threading
from collections import OrderedDict
from itertools import count

from dpproxy.backends.source import Source
from dpproxy.plan import PublicPlan
from dpproxy.policy.model import Scalar

LONGEST = 10.0
"""Seconds of one statement."""
KEPT = 256
"""Answers kept: the file behind them does not change while it is open."""

Rows = tuple[tuple[Scalar | None, ...], ...]


class Facts:
    """Answers statements of the planner's own over public tables; may be called from any thread."""

    def __init__(self, backend: Source) -> None:
        self._backend = backend
        self._kept: OrderedDict[str, Rows] = OrderedDict()
        self._lock = threading.Lock()
        self._numbers = count()

    def __call__(self, sql: str) -> Rows:
        """The rows of one statement."""
        with self._lock:
            kept = self._kept.get(sql)
        if kept is not None:
            return kept
        session = f"planner {next(self._numbers)}"
        watch = threading.Timer(LONGEST, self._backend.interrupt, (session,))
        watch.start()
        try:
            rows: Rows = tuple(self._backend.run_public(PublicPlan(sql, ()), session))  # type: ignore[arg-type]
        finally:
            watch.cancel()
        with self._lock:
            self._kept[sql] = rows
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return rows
