"""Statements that are interrupted until they are over, and hung up on where that does not help."""

import threading

import pytest

from dpproxy.backends.servers import underway
from dpproxy.backends.servers.underway import Running, Underway

LONG = 60.0


class Engine:
    """One that obeys the cancel of a number, or none."""

    def __init__(self, obeys: int | None) -> None:
        self.obeys, self.cancels, self.hung_up = obeys, 0, threading.Event()
        self.statement = Underway(LONG, self.cancel, self.hung_up.set)

    def cancel(self) -> None:
        self.cancels += 1
        if self.cancels == self.obeys:
            self.statement.over.set()
        raise OSError("an engine that is away is asked again")


def test_it_is_cancelled_until_it_is_over():
    engine, running = Engine(3), Running()
    with running.of("ann", engine.statement):
        running.interrupt("bob")
        assert engine.statement.reason(charged=True) is None
        running.interrupt("ann")
        assert engine.statement.over.wait(LONG)
    assert engine.statement.reason(charged=True) == engine.statement.reason(charged=False) == "cancelled"
    assert engine.cancels == 3
    assert not engine.hung_up.is_set()
    running.interrupt("ann")  # it is forgotten


def test_who_does_not_obey_is_hung_up_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(underway, "GRACE", 0.0)
    engine, running = Engine(None), Running()
    with running.of("ann", engine.statement):
        running.close()
        assert engine.hung_up.wait(LONG)


def test_it_ends_at_its_limit_while_the_engine_works():
    over = threading.Event()
    statement = Underway(0.01, over.set)
    statement.rest()
    with Running().of("ann", statement):
        assert over.wait(LONG)
    assert statement.reason(charged=True) == "too long"
    assert statement.reason(charged=False) == "public too long"
    resting = Underway(0.05, over.set)
    resting.go()
    resting.rest()
    assert not resting.over.wait(0.1)
    assert resting.reason(charged=True) is None


def test_a_later_statement_of_a_session_is_the_one_that_is_known():
    running, first, second = Running(), Underway(LONG, int), Underway(LONG, int)
    one, two = running.of("ann", first), running.of("ann", second)
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    running.interrupt("ann")
    assert second.is_stopped
    assert not first.is_stopped
    two.__exit__(None, None, None)
