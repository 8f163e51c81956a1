"""A release by a Python call: the sums it makes, what it refuses, and its time."""

import time

import pytest
from scipy.stats import spearmanr

from udfs.mechanisms import Gaussian, Laplace, Staircase
from udfs.mechanisms.exponent import Ratio
from udfs.pool import BLOCK, Pool
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
    """The best of 20 runs of 50, since others may use the processor; it takes about 30."""
    drawing = mechanism.best((1, 100, 10**6), NANO)
    release([1, 2, 3], drawing)
    least = float("inf")
    for _ in range(20):
        start = time.process_time()
        for _ in range(50):
            release([1, 2, 3], drawing)
        least = min(least, (time.process_time() - start) / 50)
    assert least < 100e-6


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [Staircase, Laplace, Gaussian])
def test_time_does_not_follow_the_noise(mechanism: type[Staircase]):
    """Ranks of independent draws and times correlate beyond 4.9 / sqrt(n) with a probability below 1e-6.

    The exact number is so large that what is released has as many digits whatever the noise.
    """
    count, exact = 4000, 2**50
    drawing, pool = mechanism.best((10**9,), NANO), Pool()
    pool.prepare(drawing, count + BLOCK)
    times, sizes = [], []
    for _ in range(count):
        start = time.perf_counter_ns()
        (released,) = release([exact], drawing, pool)
        times.append(time.perf_counter_ns() - start)
        sizes.append(abs(released - exact))
    pool.close()
    assert abs(spearmanr(times, sizes).statistic) < 4.9 / count**0.5
