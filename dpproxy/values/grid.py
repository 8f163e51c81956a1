"""When an outcome may be seen: at an instant that is computed before the work, or at twice, four times ... its time.

What leaves tells between which two of these instants the work ended, and no more. There is one grid for a statement:
its client's, and that of whoever waits for what it releases, begin at one moment, or the two together would tell more.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_BEGAN: ContextVar[float | None] = ContextVar("began", default=None)


def instant(elapsed: float, deadline: float) -> float:
    """Seconds after the start at which an outcome that was ready after ``elapsed`` seconds is released.

    A deadline of 0 hides nothing.

    >>> instant(0.003, 0.01), instant(0.03, 0.01), instant(0.03, 0)
    (0.01, 0.04, 0.03)
    """
    if deadline <= 0:
        return elapsed
    while deadline < elapsed:
        deadline *= 2
    return deadline


@contextmanager
def beginning(moment: float | None) -> Iterator[None]:
    """Inside the block, ``start_time()`` is ``moment`` for this thread, on the clock of ``time.monotonic``."""
    token = _BEGAN.set(moment)
    try:
        yield
    finally:
        _BEGAN.reset(token)


def start_time() -> float:
    """When the current statement began, by its client's padding grid; now where there is none."""
    moment = _BEGAN.get()
    return time.monotonic() if moment is None else moment
