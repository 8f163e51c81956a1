"""Rows that are off alike share a law; no row is off by more than its law says."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.engine.laws import MOST_LAWS, kinds

ERRORS = st.lists(st.tuples(st.floats(0, 1e6), st.floats(1e-3, 1e3)), min_size=1, max_size=60)


@given(errors=ERRORS)
def test_no_row_is_off_by_more_than_its_law(errors: list[tuple[float, float]]):
    rows, worst = kinds(errors)
    assert len(rows) == len(errors)
    assert sorted(set(rows)) == list(range(len(worst)))
    assert len(worst) <= MOST_LAWS
    for error, row in zip(errors, rows, strict=True):
        assert all(one <= most for one, most in zip(error, worst[row], strict=True))


def test_few_errors_are_told_as_they_are():
    errors = [[float(1 + n % MOST_LAWS)] for n in range(100)]
    rows, worst = kinds(errors)
    assert [worst[row] for row in rows] == errors


def test_many_errors_are_told_nearly():
    errors = [[float(n)] for n in np.linspace(10, 20, 1000)]
    rows, worst = kinds(errors)
    assert max(worst[row][0] / error[0] for row, error in zip(rows, errors, strict=True)) < 1.11


def test_of_no_rows_there_is_no_law():
    assert kinds([]) == ([], [])
