"""Priors as tables: their masses against the laws they round, and what is refused."""

import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.stats.distributions import rv_frozen

from udfs import priors
from udfs.priors import WHOLE, Prior
from udfs.privacy import InvalidMechanism


def moments(prior: Prior) -> tuple[float, float]:
    """Mean and standard deviation."""
    values, weights = np.array(prior.values, dtype=float), np.array(prior.weights) / WHOLE
    mean = float(weights @ values)
    return mean, math.sqrt(float(weights @ (values - mean) ** 2))


CONTINUOUS = [
    (priors.uniform(0, 1), stats.uniform(0, 1)),
    (priors.uniform(-3, 87.5), stats.uniform(-3, 90.5)),
    (priors.normal(44, 6), stats.norm(44, 6)),
    (priors.normal(-1e6, 3), stats.norm(-1e6, 3)),
    (priors.truncated_normal(44, 6, 18, 50), stats.truncnorm(-26 / 6, 1, 44, 6)),
    (priors.truncated_normal(0, 1, 4, 9), stats.truncnorm(4, 9, 0, 1)),
    (priors.truncated_normal(0, 1, -9, -4), stats.truncnorm(-9, -4, 0, 1)),
    (priors.triangular(0, 3, 10), stats.triang(0.3, 0, 10)),
    (priors.triangular(0, 0, 10), stats.triang(0, 0, 10)),
    (priors.triangular(0, 10, 10), stats.triang(1, 0, 10)),
    (priors.beta(2, 5), stats.beta(2, 5)),
    (priors.beta(0.5, 0.5, 0, 100), stats.beta(0.5, 0.5, 0, 100)),
    (priors.lognormal(6, 1), stats.lognorm(1, 0, math.exp(6))),
    (priors.histogram([0, 10, 50], [1, 3]), stats.rv_histogram(([1, 3], [0, 10, 50]), density=False)),
]


@pytest.mark.parametrize(("prior", "law"), CONTINUOUS, ids=lambda case: type(case).__name__)
def test_a_continuous_law_keeps_its_distribution_function(prior: Prior, law: rv_frozen):
    """Halfway between values the sum of weights is the law's, to half a unit of weight and a float's error."""
    values = np.array(prior.values)
    between = (values[:-1] + values[1:]) / 2
    adjacent = np.diff(np.array(prior.places)) == np.diff(np.array(prior.places)).min()
    found = np.cumsum(prior.weights)[:-1] / WHOLE
    assert np.abs(found - law.cdf(between))[adjacent].max() < 2e-12
    assert len(values) <= 2001
    assert sum(prior.weights) == WHOLE


@pytest.mark.parametrize(("prior", "law"), CONTINUOUS, ids=lambda case: type(case).__name__)
def test_a_continuous_law_keeps_mean_and_spread(prior: Prior, law: rv_frozen):
    mean, sd = moments(prior)
    assert mean == pytest.approx(law.mean(), abs=0.002 * law.std())
    assert sd == pytest.approx(law.std(), rel=0.002)


def test_a_lattice_has_round_steps_inside_the_range():
    assert priors.uniform(0, 1).values[:3] == (0.0, 0.0005, 0.001)
    assert priors.normal(44, 6).unit == Fraction(1, 20)
    assert priors.uniform(-1e9, 1e9).unit == 10**6
    third = priors.uniform(Fraction(1, 3), Fraction(2, 3))
    assert min(third.values) >= 1 / 3
    assert max(third.values) <= 2 / 3
    assert priors.triangular(18, 20, 90).values[0] == 18


@pytest.mark.parametrize("sigma", [0.01, 0.3, 1, 2.5, 4])
@pytest.mark.parametrize("mu", [-200, 0, 6, 200])
def test_a_lognormal_has_steps_of_a_few_percent(mu: float, sigma: float):
    prior = priors.lognormal(mu, sigma)
    middle = [v for v in prior.values if math.exp(mu - sigma) <= v <= math.exp(mu + sigma)]
    assert max(y / x for x, y in itertools.pairwise(middle)) < 1.026
    assert len(middle) > 20
    assert max(prior.places) <= 2**51


def test_a_table_keeps_its_masses():
    prior = priors.table([10, 1, Decimal("2.5")], [1, 2, 1])
    assert prior.values == (1.0, 2.5, 10.0)
    assert prior.weights == (WHOLE // 2, WHOLE // 4, WHOLE // 4)
    assert (prior.unit, prior.places) == (Fraction(1, 2), (2, 5, 20))
    assert priors.point(0).unit == 1


def test_decimals_lie_on_one_lattice():
    """As decimals 0.1, 0.2 and 0.3 have one step; as binary floats they have not."""
    assert priors.table([0.1, 0.2, 0.3], [1, 1, 1]).places == (1, 2, 3)


@pytest.mark.parametrize("family", [priors.nominal, priors.ordinal])
def test_labels_keep_order_and_mass(family: Callable[..., Prior]):
    prior = family(["no", "yes", "?"], [0.01, 0.99, 0])
    assert prior.values == ("no", "yes", "?")
    assert prior.weights == (round(WHOLE * 0.01), WHOLE - round(WHOLE * 0.01), 0)
    assert prior.labelled
    assert prior.places == (0, 1, 2)
    assert not family([1, 2], [1, 1]).labelled


def test_a_mixture_adds_masses_up():
    prior = priors.mixture([(1, priors.point(0)), (3, priors.table([0, 5], [1, 1]))])
    assert prior == priors.table([0, 5], [5, 3])
    parts = priors.mixture([(0.3, priors.point(0)), (0.7, priors.normal(0, 1))])
    assert parts.weights[parts.values.index(0.0)] / WHOLE == pytest.approx(
        0.3 + 0.7 * 0.01 / math.sqrt(2 * math.pi)
    )


def test_a_prior_is_a_value():
    assert priors.normal(44, 6) == priors.normal(44.0, 6)
    assert hash(priors.normal(44, 6)) == hash(priors.normal(44, Decimal(6)))
    assert len({priors.nominal(["a", "b"], [1, 1]), priors.ordinal(["a", "b"], [1, 1])}) == 2


INF = float("inf")


@pytest.mark.parametrize(
    "make",
    [
        lambda: priors.uniform(1, 1),
        lambda: priors.uniform(2, 1),
        lambda: priors.uniform(0, INF),
        lambda: priors.uniform(1e17, 1e17 + 64),
        lambda: priors.uniform(0, 10**400),
        lambda: priors.uniform("0", 1),
        lambda: priors.point(True),  # noqa: FBT003 - what is refused
        lambda: priors.normal(0, 0),
        lambda: priors.normal(0, -1),
        lambda: priors.normal(float("nan"), 1),
        lambda: priors.normal(1e300, 1),
        lambda: priors.truncated_normal(0, 1, 8, 9),
        lambda: priors.truncated_normal(0, 1, 1, 0),
        lambda: priors.lognormal(0, 4.1),
        lambda: priors.lognormal(201, 1),
        lambda: priors.triangular(0, 11, 10),
        lambda: priors.beta(0, 1),
        lambda: priors.beta(1, 1e9),
        lambda: priors.histogram([0], []),
        lambda: priors.histogram([0, 1], [1, 1]),
        lambda: priors.histogram([0, 2, 1], [1, 1]),
        lambda: priors.table([], []),
        lambda: priors.table([1, 2], [1]),
        lambda: priors.table([1, 1], [1, 1]),
        lambda: priors.table([1, 2], [1, -1]),
        lambda: priors.table([1, 2], [0, 0]),
        lambda: priors.table([1, 2], [1, INF]),
        lambda: priors.table(["a"], [1]),
        lambda: priors.table([1e-300, 1e300], [1, 1]),
        lambda: priors.table([0, 5e-324], [1, 1]),
        lambda: priors.point(1e308),
        lambda: priors.uniform(0, 1e-99),
        lambda: priors.table(list(range(10_001)), [1] * 10_001),
        lambda: priors.nominal(["a", "a"], [1, 1]),
        lambda: priors.nominal(["a", 1], [1, 1]),
        lambda: priors.ordinal([None], [1]),
        lambda: priors.custom(["a", "b"], [1, 1], [[0, 1]]),
        lambda: priors.custom(["a", "b"], [1, 1], [[0, 1], [1]]),
        lambda: priors.custom(["a", "b"], [1, 1], [[0, -1], [1, 0]]),
        lambda: priors.custom(["a", "b"], [1, 1], [[0, 1e308], [1, 0]]),
        lambda: priors.custom(list(range(1001)), [1] * 1001, [[0] * 1001] * 1001),
        lambda: priors.mixture([]),
        lambda: priors.mixture([(1, priors.nominal([1], [1]))]),
        lambda: Prior((1.0, 2.0), (WHOLE,), "absolute"),
        lambda: Prior((1.0, 2.0), (WHOLE, 1), "absolute"),
        lambda: Prior((2.0, 1.0), (WHOLE, 0), "absolute"),
        lambda: Prior(("b", "a"), (WHOLE, 0), "absolute"),
        lambda: Prior(("b", 1.0), (WHOLE, 0), "rank"),
        lambda: Prior((INF,), (WHOLE,), "rank"),
    ],
)
def test_what_is_no_prior_is_refused(make: Callable[[], Prior]):
    with pytest.raises(InvalidMechanism):
        make()


def test_a_single_number_below_zero_is_placed():
    assert (priors.point(-3).unit, priors.point(-3).places) == (3, (-1,))
