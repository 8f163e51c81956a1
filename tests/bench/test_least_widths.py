"""The least half-width of honest intervals is what is known of one number, and below ours of several."""

import duckdb
import numpy as np
import pytest

from tests.assurance.test_coverage import DDL, POLICY
from tests.bench import least_widths
from tests.golden.world import build
from udfs.mechanisms.laplace import Laplace


def test_the_test_of_one_laplace_number_misses_as_often_as_it_must():
    """Against a truth 20 steps below, of scale 10: released within ln(10) scales above are kept, with 1 - 0.05 e^2."""
    mechanism = Laplace.best((1,), 10**8)
    there, here = (least_widths.drawn(mechanism, 40_000) + place for place in (0.0, 20.0))
    ratios = [
        least_widths.log_density(mechanism, of) - least_widths.log_density(mechanism, of - 20)
        for of in (here, there)
    ]
    assert least_widths.missed(*ratios) == pytest.approx(1 - 0.05 * np.exp(2), abs=0.02)


def test_sums_of_rows_are_told_from_those_that_no_rows_have():
    x, y = np.array([10.0, -400.0, 300.0]), np.array([5.0, -20.0, 44.0])
    of_rows = [3.0, x.sum(), y.sum(), (x * y).sum(), (x * x).sum() - 3 * 125_000, (y * y).sum() - 3 * 1250]
    assert least_widths.is_real(10 * np.array(of_rows))
    assert not least_widths.is_real(np.array([3.0, 1501.0, *of_rows[2:]]))


@pytest.mark.statistical
@pytest.mark.whole
def test_with_laplace_noise_and_many_rows_a_correlation_is_as_near_as_it_can_be():
    """1.25 times the bound, which is off by 1 % (one standard deviation): under 1e-4 for a false alarm."""
    world = build([*DDL, *filter(None, (each.strip() for each in POLICY.split(";")))])
    with duckdb.connect(config={"threads": "1"}) as data:
        for sql in DDL:
            data.execute(sql)
        _, least, ours = least_widths.compared(world, data, "corr(y, x)", "many", "laplace")
    assert least <= ours.mean() <= 1.3 * least
