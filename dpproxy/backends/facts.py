"""What planning reads from public tables: key sets and how often a value occurs. Nobody's rows, so nothing is spent."""

import threading
from collections import OrderedDict
from itertools import count

from dpproxy.analysis.unseen import check_seen
from dpproxy.backends.source import Source
from dpproxy.plan import PublicPlan
from dpproxy.policy.model import Scalar

LONGEST = 10.0
"""Seconds of one statement."""
KEPT = 256
"""Answers kept: a file does not change while it is open, and a live source tells when they are no longer true."""
PLANNER = "planner "
"""How the sessions begin whose answers plans rest on."""

Rows = tuple[tuple[Scalar | None, ...], ...]


class Facts:
    """Answers statements of the planner's own over public tables; may be called from any thread."""

    def __init__(self, backend: Source) -> None:
        self._backend = backend
        self._kept: OrderedDict[str, Rows] = OrderedDict()
        self._lock = threading.Lock()
        self._numbers = count()
        self._epoch = backend.epoch

    def __call__(self, sql: str) -> Rows:
        """The rows of one statement."""
        epoch = self._backend.epoch
        with self._lock:
            if epoch != self._epoch:
                self._epoch = epoch
                self._kept.clear()
            kept = self._kept.get(sql)
        if kept is not None:
            return kept
        rows = self._asked(sql, PLANNER)
        with self._lock:
            if epoch == self._epoch == self._backend.epoch:  # a table that changed meanwhile may hold others
                self._kept[sql] = rows
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return rows

    def passing(self, sql: str) -> Rows:
        """The same of tables that are read exactly, which may be somebody's: nothing is kept of it."""
        return self._asked(sql, "exact ")

    def _asked(self, sql: str, kind: str) -> Rows:
        check_seen(sql)
        session = f"{kind}{next(self._numbers)}"
        watch = threading.Timer(LONGEST, self._backend.interrupt, (session,))
        watch.start()
        try:
            rows: Rows = tuple(self._backend.run_public(PublicPlan(sql, ()), session))  # type: ignore[arg-type]
        finally:
            watch.cancel()
        return rows
