"""The work of planning one statement: it is counted, ends at a limit, and is given up where the statement is cancelled.

What takes part in planning calls ``step`` wherever it may go on for long. Outside planning that does nothing: what was
charged is not refused.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from typing import Final

from dpproxy.values.errors import Cancelled, Refusal, TooComplex

MOST: Final = 5_000_000
"""Steps of one plan: about a microsecond each."""
LONGEST: Final = 10.0
"""Seconds of planning one statement, where steps take longer than they should."""
OFTEN: Final = 1_000
"""Steps after which it is asked whether planning goes on."""
HINT: Final = (
    "Group by fewer or coarser columns, write conditions on them, or ask for the parts in several statements."
)


@dataclass(slots=True)
class _Work:
    ends: float
    is_cancelled: Callable[[], bool]
    left: int = MOST
    unseen: int = 0
    """Steps since it was last asked."""

    def check(self, at: int | None = None) -> None:
        """Raise what ends it."""
        if self.is_cancelled():
            raise Cancelled("canceling statement due to user request")
        if self.left < 0:
            raise TooComplex("planning the statement takes too much work", hint=HINT, position=at)
        if monotonic() > self.ends:
            raise TooComplex(
                f"planning the statement takes longer than {LONGEST:g} s", hint=HINT, position=at
            )
        self.unseen = 0


def _never() -> bool:
    return False


_WORK: ContextVar[_Work | None] = ContextVar("work", default=None)
_CANCELLED: ContextVar[Callable[[], bool]] = ContextVar("cancelled", default=_never)


@contextmanager
def cancelled_by(is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """What is planned inside, in this thread, is given up once this is true."""
    token = _CANCELLED.set(is_cancelled)
    try:
        yield
    finally:
        _CANCELLED.reset(token)


@contextmanager
def limited() -> Iterator[None]:
    """Inside, in this thread, one statement is planned. Raises what ``step`` does, whoever went on after that."""
    work = _Work(monotonic() + LONGEST, _CANCELLED.get())
    token = _WORK.set(work)
    try:
        yield
        work.check()
    except Refusal as refusal:
        if not isinstance(refusal, Cancelled | TooComplex):
            work.check()
        raise
    finally:
        _WORK.reset(token)


def begin() -> None:
    """Another plan of the same statement begins: its steps are counted anew."""
    work = _WORK.get()
    if work is not None:
        work.left = MOST


def step(count: int = 1, at: int | None = None) -> None:
    """Count work of planning. Raises ``TooComplex`` beyond the limits, ``Cancelled`` where the statement was."""
    work = _WORK.get()
    if work is None:
        return
    work.left -= count
    work.unseen += count
    if work.unseen >= OFTEN:
        work.check(at)
