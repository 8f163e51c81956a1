"""When what a statement did may be seen, and what is never run again because it took far too long.

A statement whose work ends after its deadline is answered at the next power of two of it: that tells little of the time
it took. One that takes longer than its declared sizes allow by ``LATE`` times is outside the promise. It is logged, and
its exact stage is refused until the data version changes; that it is refused tells the same once more.
"""

import logging
import threading
import time
from collections import OrderedDict
from typing import Final

from dpproxy.algebra.plan import Plan
from dpproxy.values.errors import TooComplex
from dpproxy.values.grid import instant

LATE: Final = 32
"""Deadlines: more than a busy machine makes of one, since what is refused is refused to everybody."""
LEAST: Final = 5.0
"""Seconds below which nothing is too long: a process may have had to start, a disk to wake."""
KEPT: Final = 10_000
"""Exact stages that are refused, the last ones; each was paid for."""
_LOG: Final = logging.getLogger(__name__)


class Deadlines:
    """One in a process; its methods may be called from any thread. Times are of ``time.monotonic``."""

    def __init__(self, padding: float) -> None:
        self._padding = padding
        self._lock = threading.Lock()
        self._unseen: dict[int, float] = {}
        self._refused: OrderedDict[bytes, None] = OrderedDict()

    def of(self, plan: Plan) -> float:
        """Seconds after its start at which a statement is answered at the earliest; 0 hides nothing."""
        return max(self._padding, plan.deadline) if self._padding else 0.0

    def seen_from(self, plan: Plan, began: float) -> float:
        """From when on it may be seen that something of a statement has ended now."""
        return began + instant(time.monotonic() - began, self.of(plan))

    def hide(self, origin: int, until: float) -> None:
        """A release that is there and may not be seen yet, but by the statement that drew it."""
        now = time.monotonic()
        with self._lock:
            self._unseen = {o: u for o, u in self._unseen.items() if u > now}
            self._unseen[origin] = until

    def is_seen(self, origin: int) -> bool:
        """Whether a stored release may be seen."""
        with self._lock:
            return self._unseen.get(origin, 0.0) <= time.monotonic()

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
        """How long an exact stage took; where EXPECTED ROWS are not declared for all tables nothing follows."""
        allowed = max(LEAST, LATE * self.of(plan))
        if not self._padding or not plan.sized or seconds <= allowed:
            return
        _LOG.warning(
            "an exact stage took more than %.1f s and is refused from now on: %s", allowed, plan.label
        )
        with self._lock:
            self._refused[stage] = None
            while len(self._refused) > KEPT:
                self._refused.popitem(last=False)
