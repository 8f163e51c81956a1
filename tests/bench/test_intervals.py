"""The measurement of intervals runs, and its table says what it should."""

from tests.bench import intervals


def test_a_row_has_how_often_intervals_hold_and_how_near_they_are():
    head, row = intervals.measured(["count(*)"], 20)
    assert len(head) == len(row) == 1 + 2 * len(intervals.EPSILONS)
    assert all(int(held) >= 75 for held in row[1::2])  # of 80 answers 60 or more, where 76 should hold
    assert all(0.8 < float(near) < 1.3 for near in row[2::2])
