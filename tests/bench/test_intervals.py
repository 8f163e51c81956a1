"""The measurement of intervals runs, and its table says what it should."""

import pytest

from tests.bench import intervals


def test_a_row_has_how_often_intervals_hold_and_how_near_they_are():
    head, row = intervals.measured(["count(*)"], 20)
    assert len(head) == len(row) == 1 + 2 * len(intervals.EPSILONS)
    assert all(int(held) >= 75 for held in row[1::2])  # of 80 answers 60 or more, where 76 should hold
    assert all(0.8 < float(near) < 1.3 for near in row[2::2])


@pytest.mark.statistical
@pytest.mark.parametrize("kind", intervals.KINDS)
def test_half_widths_are_at_most_a_third_above_the_best(kind: str):
    """1.29 was measured, of 20,000 draws: the quantile of 95 % is off by 5 % less than once in 10**6 times.

    Of 900 answers or more 91 % hold but once in 10**6 times: 4.9 standard deviations under 95 %.
    """
    _, row = intervals.measured([kind], intervals.ANSWERS)
    assert all(int(held) >= 91 for held in row[1::2])
    assert all(0.95 <= float(near) <= 1.35 for near in row[2::2])
