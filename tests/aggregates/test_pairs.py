import pytest

from dpproxy.analysis import duck
from tests.aggregates.conftest import Calls


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("regr_count(small, small)", "COUNT(*)"),
        ("regr_count(age, small)", 'COUNT("age")'),
        ("regr_count(small, age)", 'COUNT("age")'),
        ("regr_count(age, height)", 'COUNT(CASE WHEN NOT ("age" IS NULL) THEN "height" END)'),
        ("regr_count(height, age)", 'COUNT(CASE WHEN NOT ("age" IS NULL) THEN "height" END)'),
    ],
)
def test_pairs_are_counted_as_simply_as_can_be(calls: Calls, text: str, sql: str):
    assert duck.text(calls(text)[0].measures[0].sql) == sql


def test_beside_what_is_never_null_an_average_shares_its_sums(calls: Calls):
    slope, mean, count = calls("regr_slope(small, age), avg(age), count(age)")
    assert {*mean.measures, *count.measures} < set(slope.measures)
