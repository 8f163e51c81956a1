"""The padding grid: an outcome leaves at a deadline that is known before the work, or at 2, 4, 8 ... times that.

The time of an outcome reveals between which two points of the grid the work ended, and no more. A statement has one
grid: its client's, and the one by which its release becomes visible to others, begin at the same time; two different
grids would together reveal more.
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
