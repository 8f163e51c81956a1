"""Outcomes are seen at instants that are computed before the work."""

import pytest

from dpproxy.grid import instant


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
