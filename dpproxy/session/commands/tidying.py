"""DISCARD, LISTEN, UNLISTEN, NOTIFY and LOCK, which drivers and poolers send routinely."""

from collections.abc import Callable

from dpproxy.algebra.plan import Answer
from dpproxy.session.messages import Words
from dpproxy.session.state import Command, SessionState
from dpproxy.session.transaction import Status
from dpproxy.values.errors import ActiveTransaction, NoTransaction


def read_discard(words: Words) -> Command:
    """DISCARD, after its first word."""
    what = words.accept_one("all", "plans", "sequences", "temp", "temporary")
    if what is None:
        words.refuse()
    words.end()
    return Command(_discard_all if what == "all" else _always(f"DISCARD {what.upper().replace('ORARY', '')}"))


def _discard_all(state: SessionState) -> Answer:
    if state.transaction.status is not Status.IDLE or state.transaction.several:
        raise ActiveTransaction(
            "DISCARD ALL cannot run inside a transaction block", hint="end it with COMMIT"
        )
    state.transaction.reset_all()
    state.statements.clear()
    state.portals.clear()
    return Answer("DISCARD ALL")


def read_unlisten(words: Words) -> Command:
    """UNLISTEN, after its first word."""
    if not words.accept("*"):
        words.label()
    words.end()
    return Command(_always("UNLISTEN"))


def _always(tag: str) -> Callable[[SessionState], Answer]:
    return lambda _state: Answer(tag)


def read_listen(words: Words) -> Command:
    """LISTEN, after its first word."""
    words.label()
    words.end()
    return Command(_always("LISTEN"))


def read_notify(words: Words) -> Command:
    """NOTIFY, after its first word."""
    words.label()
    if words.accept(","):
        words.value()
    words.end()
    return Command(_always("NOTIFY"))


def read_lock(words: Words) -> Command:
    """LOCK, after its first word: always granted at once, since no statement writes to tables."""
    words.accept("table")
    words.inner(*words.rest())

    def run(state: SessionState) -> Answer:
        if state.transaction.status is Status.IDLE and not state.transaction.several:
            raise NoTransaction(
                "LOCK TABLE can only be used in transaction blocks", hint="start one with BEGIN"
            )
        return Answer("LOCK TABLE")

    return Command(run)
