import pytest

from dpproxy.aggregates.average import Average
from dpproxy.values.pgtypes import FLOAT8, NUMERIC
from tests.aggregates.conftest import Calls, evaluate, filled, measured, names, rows_of

ALL = "var_pop({0}), var_samp({0}), variance({0}), stddev_pop({0}), stddev_samp({0}), stddev({0})"


def shown(calls: Calls, ages: list[int | None]) -> list[float]:
    found = []
    for call in calls(ALL.format("age")):
        with filled(rows_of(age=ages)) as connection:
            (exact,) = measured(connection, call.measures)
        columns = {f"m{i}": value for i, value in enumerate(exact)}
        found.append(float(evaluate([call.value(names(call)).sql], columns)[0]))
    return found


def test_sums_and_counts_are_those_of_the_average(calls: Calls):
    average, *spreads = calls(f"avg(age), {ALL.format('age')}")
    assert isinstance(average, Average)
    total, count = average.measures
    for spread in spreads:
        assert spread.measures[:2] == (count, total)
        assert spread.measures[2].width == 1250
    assert len({spread.measures for spread in spreads}) == 1


def test_known_values(calls: Calls):
    pop, samp = 200 / 3, 100.0
    assert shown(calls, [10, 20, None, 30]) == pytest.approx(
        [pop, samp, samp, pop**0.5, samp**0.5, samp**0.5]
    )


def test_few_rows(calls: Calls):
    """Of one row: no spread. Of none: the middle of the range of a variance, 50^2 / 2; the sample forms count two."""
    assert shown(calls, [77]) == [0.0] * 6
    assert shown(calls, []) == pytest.approx([1250, 2500, 2500, 1250**0.5, 50, 50])


def test_the_widest_spread_is_in_range(calls: Calls):
    """Half the rows at each end; two rows have twice the variance as a sample."""
    assert shown(calls, [0, 100]) == pytest.approx([2500, 5000, 5000, 50, 5000**0.5, 5000**0.5])


def test_types(calls: Calls):
    assert {a.type for a in calls(ALL.format("pay"))} == {NUMERIC}
    assert {a.type for a in calls(ALL.format("odd"))} == {FLOAT8}


@pytest.mark.parametrize("call", ["stddev(age)", "var_pop(age)"])
def test_a_sum_beside_a_spread_shares_its_measures(calls: Calls, call: str):
    total, spread = calls(f"sum(age), {call}")
    assert set(total.measures) < set(spread.measures)
    (alone,) = calls("sum(age)")
    assert len(alone.measures) == 1
