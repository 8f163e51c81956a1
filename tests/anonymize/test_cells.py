"""Loops over cells against plain Python."""

from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from dpproxy.anonymize import cells

COUNTS = st.lists(st.floats(-20, 60), min_size=1, max_size=6)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30),
    st.integers(0, 30),
    st.integers(-1, 9),
)
def test_rows_are_sorted_into_both_sides_of_a_cut(rows: list[tuple[int, int]], border: int, at: int) -> None:
    positions = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
    order, border = np.arange(len(rows)), min(border, len(rows))
    begins, ends = np.array([0, border]), np.array([border, len(rows)])
    middles = cells.cut(order, positions, begins, ends, np.array([0, 1]), np.array([at, at]))
    for cell in (0, 1):
        mine = order[begins[cell] : ends[cell]]
        assert sorted(mine.tolist()) == list(range(begins[cell], ends[cell]))
        assert (positions[cell, order[begins[cell] : middles[cell]]] <= at).all()
        assert (positions[cell, order[middles[cell] : ends[cell]]] > at).all()


@given(st.lists(st.integers(0, 40), max_size=20), st.integers(0, 40), st.integers(0, 40))
def test_sums_of_rounded_offsets(values: list[int], first: int, length: int) -> None:
    last, reach = first + length, 16
    positions = np.clip(np.array([values], dtype=np.int64), first, last)
    found = cells.sums(
        np.arange(len(values)),
        positions,
        np.array([0]),
        np.array([len(values)]),
        np.array([[first]]),
        np.array([[last]]),
        reach,
    )[0, 0]
    offsets = [
        Fraction(reach * (2 * int(x) - first - last), length) if length else Fraction(0) for x in positions[0]
    ]
    assert all(abs(offset) <= reach for offset in offsets)
    assert found == sum((2 * x.numerator + x.denominator) // (2 * x.denominator) for x in offsets)


@given(COUNTS, st.floats(0, 200), st.floats(0, 4))
@example([0.0, 1e-308], 2.0, 0.0)
def test_shares_add_up_and_none_is_negative(found: list[float], total: float, sure: float) -> None:
    variances = np.linspace(1, 4, len(found))
    shares = cells.share(np.array([total]), np.array([0, len(found)]), np.array(found), variances, sure)
    assert (shares >= 0).all()
    assert abs(shares.sum() - total) < 1e-6 * max(total, 1)


def test_small_parts_get_nothing_and_the_others_in_proportion() -> None:
    found, variances = np.array([10.0, 30.0, 1.0]), np.array([1.0, 3.0, 1.0])
    shares = cells.share(np.array([44.0]), np.array([0, 3]), found, variances, 2.0)
    assert shares.tolist() == [11.0, 33.0, 0.0]
    shares = cells.share(np.array([44.0]), np.array([0, 3]), -found, variances, 2.0)
    assert shares.tolist() == [0.0, 0.0, 44.0]
