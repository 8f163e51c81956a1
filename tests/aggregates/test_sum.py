import math
from fractions import Fraction

import pytest

from dpproxy.aggregates.model import Noise
from dpproxy.aggregates.sum import sum_type
from dpproxy.analysis import duck
from dpproxy.values.pgtypes import FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC, SqlType
from tests.aggregates.conftest import Calls


@pytest.mark.parametrize(
    ("kind", "total"),
    [(INT2, INT8), (INT4, INT8), (INT8, NUMERIC), (NUMERIC, NUMERIC), (FLOAT4, FLOAT4), (FLOAT8, FLOAT8)],
)
def test_types_are_postgresql_s(kind: SqlType, total: SqlType):
    assert sum_type(kind) == total


def test_alone_it_is_one_measure(calls: Calls):
    (total,) = calls("sum(age)")
    (measure,) = total.measures
    assert measure.width == 100
    assert duck.text(total.value([duck.column("m0")]).sql) == '"m0"'


def test_beside_an_average_of_the_same_it_shares_its_measures(calls: Calls):
    total, mean = calls("sum(age), avg(age)")
    assert total.measures == mean.measures
    value = total.value([duck.column("s"), duck.column("n")])
    assert duck.text(value.sql) == '("s" + ("n" * CAST(50 AS INT128)))'
    other, _ = calls("sum(age + 1), avg(age)")
    assert len(other.measures) == 1


def test_decimals_keep_their_scale_and_doubles_their_unit(calls: Calls):
    pay, height = calls("sum(pay), sum(height)")
    assert pay.value([duck.column("m")]).scale == 2
    value = height.value([duck.column("m")])
    assert value.scale is None
    assert duck.text(value.sql) == f'(CAST("m" AS DOUBLE) * {2.0**-21!r})'


def test_its_error_is_in_its_own_unit(calls: Calls):
    noise = Noise((200.0,), lambda _: (600,), rows=3)
    (pay,) = calls("sum(pay)")
    error = pay.error(noise, Fraction(1, 2))
    assert (error.sensitivity, error.noise_sd, error.half_width) == ("15000", 2.0, 6.0)


def test_a_derived_sum_adds_the_errors_of_both_measures(calls: Calls):
    asked: list[Fraction] = []

    def half_width(confidence: Fraction) -> tuple[int, ...]:
        asked.append(confidence)
        return (30, 2)

    total, _ = calls("sum(age), avg(age)")
    noise = Noise((6.0, 8.0), half_width)
    error = total.error(noise, Fraction(9, 10))
    assert error.noise_sd == pytest.approx(math.hypot(6, 50 * 8))
    assert error.half_width == 30 + 50 * 2
    assert asked == [Fraction(95, 100)]  # the union bound over two measures
