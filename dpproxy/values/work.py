"""The work of planning one statement: it is counted, ends at a limit, and is given up where the statement is cancelled.

What takes part in planning calls ``step`` wherever it may go on for long. Outside planning that does nothing: what was
charged is not refused.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Final

from msgspec import Struct

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


class _Work(Struct):
    ends: float
    is_cancelled: Callable[[], bool]
    most: int
    left: int
    outer: "_Work | None"
    """What it is a part of."""
    unseen: int = 0
    """Steps since it was last asked."""

    def take(self, count: int) -> None:
        """Count steps, here and in what it is a part of."""
        self.left -= count
        if self.outer is not None:
            self.outer.take(count)

    @property
    def is_spent(self) -> bool:
        """Whether its limit is passed, or that of what it is a part of."""
        return self.left < 0 or (self.outer is not None and self.outer.is_spent)

    def check(self, at: int | None = None) -> None:
        """Raise what ends it."""
        if self.is_cancelled():
            raise Cancelled("canceling statement due to user request")
        if self.is_spent:
            raise TooComplex("planning the statement takes too much work", hint=HINT, position=at)
        if monotonic() > self.ends:
            raise too_long(at)
        self.unseen = 0


def too_long(at: int | None = None) -> TooComplex:
    """Of a statement whose planning has had its time."""
    return TooComplex(f"planning the statement takes longer than {LONGEST:g} s", hint=HINT, position=at)


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
def limited(most: int = MOST, longest: float | None = None) -> Iterator[None]:
    """Inside, in this thread, one statement is planned, or several are, each within a limit of its own as well.

    Raises what ``step`` does, whoever went on after that.
    """
    outer, ends = _WORK.get(), monotonic() + (LONGEST if longest is None else longest)
    ends = ends if outer is None else min(ends, outer.ends)
    work = _Work(ends, _CANCELLED.get(), most, most, outer)
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
        work.left = work.most


def remaining(most: float) -> float:
    """The seconds, up to ``most``, that are left of the time to plan the statement of this thread."""
    work = _WORK.get()
    return most if work is None else min(most, max(0.0, work.ends - monotonic()))


def step(count: int = 1, at: int | None = None) -> None:
    """Count work of planning. Raises ``TooComplex`` beyond the limits, ``Cancelled`` where the statement was."""
    work = _WORK.get()
    if work is None:
        return
    work.take(count)
    work.unseen += count
    if work.unseen >= OFTEN:
        work.check(at)
