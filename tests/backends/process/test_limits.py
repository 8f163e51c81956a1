"""Limits of statements: each expires when it is due, and only while it is limited."""

import math
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from dpproxy.backends.process.limits import StatementLimits


@dataclass(eq=False)
class Statement:
    until: float
    expired: threading.Event = field(default_factory=threading.Event)
    late: float = math.inf

    def expire(self) -> None:
        self.late = time.monotonic() - self.until
        self.until = math.inf
        self.expired.set()


@pytest.fixture
def limits() -> Iterator[StatementLimits]:
    found = StatementLimits()
    yield found
    found.close()
    assert not found._thread.is_alive()


def test_a_statement_expires_when_it_is_due(limits: StatementLimits):
    late = []
    for n in range(10):
        statement = Statement(time.monotonic() + 0.01 * n)
        with limits.apply(statement):
            assert statement.expired.wait(5)
        late.append(statement.late)
    assert 0 <= min(late) < 0.01  # one of ten: a busy machine wakes threads late


def test_an_earlier_one_wakes_it_and_a_changed_one_too(limits: StatementLimits):
    later, sooner = Statement(time.monotonic() + 1000), Statement(time.monotonic() + 0.05)
    with limits.apply(later), limits.apply(sooner):
        assert sooner.expired.wait(5)
        assert not later.expired.is_set()
        later.until = time.monotonic() + 0.05
        limits.wake(later.until)
        assert later.expired.wait(5)


def test_what_has_ended_does_not_expire_and_wakes_nobody(limits: StatementLimits):
    first = Statement(time.monotonic() + 0.1)
    with limits.apply(first):
        pass
    wakes_at = limits._wakes_at
    for _ in range(100):
        with limits.apply(Statement(time.monotonic() + 1000)):
            pass
    assert limits._wakes_at == wakes_at == first.until
    assert not first.expired.wait(0.2)


def test_statements_that_end_before_it_wakes_up_do_not_wake_it_each(limits: StatementLimits):
    with limits.apply(Statement(time.monotonic() + 1000)):
        pass
    time.sleep(0.05)
    assert limits._wakes_at < math.inf


def test_whoever_left_the_block_does_not_expire_any_more(limits: StatementLimits):
    """Even where it is due at this very moment."""
    for _ in range(200):
        statement = Statement(time.monotonic() + 0.0005)
        with limits.apply(statement):
            time.sleep(0.0005)
        expired = statement.expired.is_set()
        time.sleep(0.0005)
        assert statement.expired.is_set() == expired
