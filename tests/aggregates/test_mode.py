from fractions import Fraction
from itertools import product

import pytest

from dpproxy.aggregates.mode import SPREAD, Mode, fewer
from tests.aggregates.conftest import Calls
from udfs.mechanisms.exponential import Exponential
from udfs.mechanisms.levels import ONE


@pytest.mark.parametrize("nano", [10**6, 10**8, 3 * 10**9])
def test_one_row_more_changes_no_probability_by_more_than_is_paid(nano: int):
    law = Exponential(SPREAD, nano)
    most = (Fraction(ONE) / law.ratio) ** SPREAD  # at most e^epsilon, as levels.md shows
    for counts in product(range(3), repeat=3):
        for place in range(3):
            more = [c + (i == place) for i, c in enumerate(counts)]
            for value in range(3):
                before = law.pmf([SPREAD * c for c in counts], value)
                after = law.pmf([SPREAD * c for c in more], value)
                assert before <= most * after
                assert after <= most * before


def test_a_row_is_worth_its_whole_epsilon():
    """Scores that may move both ways would have half of it."""
    law = Exponential(SPREAD, 10**9)
    few, many = law.pmf([SPREAD * 0, SPREAD * 1], 0), law.pmf([SPREAD * 0, SPREAD * 1], 1)
    assert float(many / few) == pytest.approx(2.718281828)


def test_the_value_is_within_so_many_rows():
    law, confidence = Exponential(SPREAD, 10**8), Fraction(19, 20)
    rows = fewer(law, 3, confidence)
    best, others = 0, -SPREAD * (rows + 1)
    assert law.pmf([best, others, others], 0) >= confidence
    others = -SPREAD * (rows - 1)
    assert law.pmf([best, others, others], 0) < confidence


def test_a_mode_has_no_measures(calls: Calls):
    (found,) = calls("mode() WITHIN GROUP (ORDER BY age)")
    assert isinstance(found, Mode)
    assert found.measures == ()
