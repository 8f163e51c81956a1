"""Outcomes are seen at instants that are computed before the work."""

import threading
import time

import pytest

from dpproxy.values.grid import beginning, instant, start_time


@pytest.mark.parametrize(
    ("elapsed", "deadline", "seen"),
    [
        (0.0, 0.01, 0.01),
        (0.01, 0.01, 0.01),
        (0.011, 0.01, 0.02),
        (0.5, 0.01, 0.64),
        (0.5, 0.7, 0.7),
        (0.5, 0, 0.5),
        (3, 1, 4),
        (5, 0.5, 8),
    ],
)
def test_the_first_instant_at_or_after_the_end(elapsed: float, deadline: float, seen: float):
    assert instant(elapsed, deadline) == pytest.approx(seen)


def test_a_statement_has_one_beginning_in_its_thread():
    found = []
    with beginning(1.5):
        thread = threading.Thread(target=lambda: found.append(start_time()))
        thread.start()
        thread.join()
        assert start_time() == 1.5
    assert found[0] > 1.5
    before = time.monotonic()
    with beginning(None):
        assert start_time() >= before
    assert start_time() >= before
