"""How long a draw takes does not tell how large it is."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import spearmanr

from udfs.mechanisms import MECHANISMS
from udfs.pool import Pool
from udfs.privacy import NANO, Mechanism

CALLS = 10_000
MOST = 6 / CALLS**0.5
"""Spearman's correlation of independent ranks has the deviation CALLS**-0.5: false alarm 2e-9. Its power: samplers
that loop until a coin falls, as many libraries have, show 0.2 to 0.5."""
MOST_ALONE = 10 / CALLS**0.5
"""For a draw by itself, which no release makes. The processor guesses the steps of a binary search and a sign, and
200,000 draws show up to 0.025, some nanoseconds of 27 microseconds: false alarm 2e-9 up to 0.04 of that."""
ADDITIVE = {name: kind for name, kind in MECHANISMS.items() if hasattr(kind, "best")}


def correlation(draw: Callable[[], object]) -> float:
    times, sizes = [], []
    for _ in range(CALLS):
        begun = time.perf_counter()
        drawn = draw()
        times.append(time.perf_counter() - begun)
        sizes.append(abs(int(np.asarray(drawn).ravel()[0])))
    assert len(set(sizes)) > 100
    return float(spearmanr(times, sizes).statistic)


@pytest.fixture(params=ADDITIVE)
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    return ADDITIVE[request.param].best((1000,), NANO)


@pytest.mark.statistical
def test_the_time_of_a_draw_does_not_depend_on_it(mechanism: Mechanism):
    assert abs(correlation(lambda: mechanism.draw(1))) < MOST_ALONE


@pytest.mark.statistical
def test_the_time_of_a_draw_from_the_pool_does_not_depend_on_it(mechanism: Mechanism):
    pool = Pool()
    assert abs(correlation(lambda: pool.take(mechanism, 1))) < MOST
    pool.close()


@pytest.mark.statistical
def test_a_sampler_that_loops_is_found():
    """A coin at a time: missed with less than 1e-12, the correlation is about 0.9."""
    generator = np.random.default_rng()

    def loop() -> int:
        count = 0
        while generator.random() > 0.003:
            count += 1
        return count

    assert correlation(loop) > MOST_ALONE
