"""For which session a thread asks a data source, so that what it waits for there before a charge can be stopped."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ASKER: ContextVar[str] = ContextVar("asker", default="")


@contextmanager
def asked_by(session: str) -> Iterator[None]:
    """What is done inside, in this thread, is done for a session."""
    token = _ASKER.set(session)
    try:
        yield
    finally:
        _ASKER.reset(token)


def asker() -> str:
    """The session at hand; empty where there is none."""
    return _ASKER.get()


def unpaid(session: str) -> str:
    """What a session waits for before anything is charged, as ``interrupt`` takes it.

    >>> unpaid("a7")
    'unpaid a7'
    """
    return f"unpaid {session}"
