"""The measurement of intervals runs, and its table says what it should."""

from tests.bench import intervals


def test_a_row_has_how_often_intervals_hold_and_how_near_they_are():
    head, row = intervals.measured(["count(*)"], 20)
    assert len(head) == len(row) == 1 + 2 * len(intervals.EPSILONS)
    assert all(int(held) >= 75 for held in row[1::2])  # of 80 answers 60 or more, where 76 should hold
    assert all(0.8 < float(near) < 1.3 for near in row[2::2])


def test_totals_and_answers_that_select_have_one_too():
    """Of 24 answers 16 or more hold, where 23 should."""
    kinds = [
        kind
        for kind in intervals.SEVERAL
        if kind.written in ("sum(n) of 11 counts", "ORDER BY n DESC LIMIT 3")
    ]
    _, *rows = intervals.measured((), 4, kinds)
    assert [row[0] for row in rows] == [kind.written for kind in kinds]
    assert all(int(held) >= 66 for row in rows for held in row[1::2])
    assert all(0.3 < float(near) < 3 for row in rows for near in row[2::2])
