from fractions import Fraction

from dpproxy.aggregates.model import Noise
from dpproxy.analysis import duck
from dpproxy.pgtypes import INT8
from tests.aggregates.conftest import Calls

NOISE = Noise((2.5,), lambda confidence: (3 if confidence < 1 else 9,), rows=4)


def test_one_measure_of_width_1(calls: Calls):
    for text, sql in [
        ("count(*)", "COUNT(*)"),
        ("count(1)", "COUNT(*)"),
        ("count(small)", "COUNT(*)"),
        ("count(NULL)", "COUNT(NULL)"),
    ]:
        (found,) = calls(text)
        assert [(m.sql, m.width) for m in found.measures] == [(sql, 1)]


def test_a_clamped_column_is_counted_raw_a_mapped_one_is_not(calls: Calls):
    clamped, mapped, member = calls("count(age), count(big), count(city)")
    assert clamped.measures[0].sql == 'COUNT("age")'
    assert "CASE" in mapped.measures[0].sql
    assert "CASE" in member.measures[0].sql


def test_value_noise_and_interval(calls: Calls):
    (count,) = calls("count(*)")
    value = count.value([duck.column("m0")])
    assert (value.type, value.scale, value.nullable) == (INT8, 0, False)
    assert duck.text(count.noise_sd([], NOISE)) == "2.5e0"
    low, high = count.interval([duck.column("m0")], NOISE, Fraction(1, 2))
    assert duck.text(low) == 'GREATEST((CAST("m0" AS DOUBLE) - 3.0e0), 0.0e0)'
    assert duck.text(high) == 'GREATEST((CAST("m0" AS DOUBLE) + 3.0e0), 0.0e0)'
    error = count.error(NOISE, Fraction(1, 2))
    assert (error.sensitivity, error.noise_sd, error.half_width, error.formula) == ("4", 2.5, 3.0, None)
