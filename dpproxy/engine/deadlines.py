"""When the effects of a statement become visible to others, and which exact stages took too long to be run again.

A statement whose work ends after its deadline is answered at the deadline times the next power of two, which reveals
little about the time that it took. One that takes more than ``LATE`` times its deadline, which follows from the
declared sizes of its tables, is outside the timing guarantee. It is logged, and its exact stage is refused until the
data version changes, so that it cannot be timed again.
"""

import logging
import threading
import time
from collections import OrderedDict
from typing import Final

from dpproxy.algebra.plan import Plan
from dpproxy.values.errors import TooComplex
from dpproxy.values.grid import instant

LATE_FACTOR: Final = 32
"""Deadlines that an exact stage may take: generous, for a busy machine, since a refusal holds for every caller."""
LEAST: Final = 5.0
"""Seconds that are never too long: a process may have had to start, a disk to wake."""
MOST_REFUSED: Final = 10_000
"""The most exact stages that are remembered as refused; the oldest are forgotten first."""
_LOG: Final = logging.getLogger(__name__)


class Deadlines:
    """The deadlines of one data source; its methods may be called from any thread. Times are of ``time.monotonic``."""

    def __init__(self, padding: float) -> None:
        self._padding = padding
        self._lock = threading.Lock()
        self._unseen: dict[int, float] = {}
        self._refused: OrderedDict[bytes, None] = OrderedDict()

    def of(self, plan: Plan) -> float:
        """The earliest time of a statement's answer, in seconds after its start; 0 where padding is off."""
        return max(self._padding, plan.deadline) if self._padding else 0.0

    def seen_from(self, plan: Plan, began: float) -> float:
        """The time from which others may see the effects of work of the statement that ends now."""
        return began + instant(time.monotonic() - began, self.of(plan))

    def hide(self, origin: int, until: float) -> None:
        """Hide a stored release until a time, from all but the statement that drew it."""
        now = time.monotonic()
        with self._lock:
            self._unseen = {o: u for o, u in self._unseen.items() if u > now}
            self._unseen[origin] = until

    def is_seen(self, origin: int) -> bool:
        """Whether a stored release is visible to all."""
        with self._lock:
            return self._unseen.get(origin, 0.0) <= time.monotonic()

    def unseen(self) -> frozenset[int]:
        """The stored releases that are not visible to all."""
        with self._lock:
            return frozenset(o for o, until in self._unseen.items() if until > time.monotonic())

    def check(self, stage: bytes) -> None:
        """Refuse an exact stage that took too long before. Raises ``TooComplex``; nothing is charged."""
        with self._lock:
            refused = stage in self._refused
        if refused:
            raise TooComplex(
                "the statement took longer than the declared sizes of its tables allow: it is not run again",
                hint="Ask for less of it, or have an administrator look at EXPECTED ROWS and at the log.",
            )

    def note(self, stage: bytes, plan: Plan, seconds: float) -> None:
        """Record the time of an exact stage; without EXPECTED ROWS of all its tables, no time is too long."""
        allowed = max(LEAST, LATE_FACTOR * self.of(plan))
        if not self._padding or not plan.sized or seconds <= allowed:
            return
        _LOG.warning(
            "an exact stage took more than %.1f s and is refused from now on: %s", allowed, plan.label
        )
        with self._lock:
            self._refused[stage] = None
            while len(self._refused) > MOST_REFUSED:
                self._refused.popitem(last=False)
