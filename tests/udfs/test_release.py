"""A release by a Python call: the sums it makes, what it refuses, and its time."""

import time

import pytest

from udfs.mechanisms import Gaussian, Laplace, Staircase
from udfs.mechanisms.exponent import Ratio
from udfs.pool import Pool
from udfs.privacy import NANO, WIDEST, InvalidMechanism
from udfs.release import release

SURE = 10**6 * NANO


@pytest.mark.parametrize("mechanism", [Staircase, Laplace])
def test_numbers_come_back_at_a_huge_epsilon(mechanism: type[Staircase] | type[Laplace]):
    drawing = mechanism.best((1, 2, 1, 0), SURE)
    assert release([5, -7, None, 9], drawing) == [5, -7, 0, 0]  # false alarm below 1e-15


def test_sums_saturate():
    assert release([10**40, -(10**40)], Staircase.best((1, 1), SURE)) == [WIDEST, -WIDEST]
    wide = release([0, 0], Gaussian.best((10**37, 1), NANO))
    assert {type(number) for number in wide} == {int}


def test_as_many_numbers_as_sensitivities():
    with pytest.raises(InvalidMechanism):
        release([1, 2], Staircase.best((1,), NANO))


def test_a_draw_is_used_once():
    pool, mechanism = Pool(), Laplace.best((10**9,), NANO)
    assert Ratio.above(mechanism.loss.epsilon / 10**9) == mechanism.ratios[0]
    assert len({release([0], mechanism, pool)[0] for _ in range(2000)}) > 1990  # all different but for 1e-20
    pool.close()


@pytest.mark.parametrize("mechanism", [Staircase, Laplace, Gaussian])
def test_one_release_takes_less_than_100_microseconds(mechanism: type[Staircase]):
    """The best of 20 runs of 50, since others may use the processor; it takes about 5."""
    drawing = mechanism.best((1, 100, 10**6), NANO)
    release([1, 2, 3], drawing)
    least = float("inf")
    for _ in range(20):
        start = time.process_time()
        for _ in range(50):
            release([1, 2, 3], drawing)
        least = min(least, (time.process_time() - start) / 50)
    assert least < 100e-6
