"""How far off a weighted sum of draws is: never more often than is said, whatever is added up."""

from collections.abc import Sequence
from fractions import Fraction
from math import cosh, log, sqrt

import numpy as np
import pytest

from udfs.mechanisms import Gaussian, Laplace, Staircase
from udfs.mechanisms.averaged import Draw
from udfs.mechanisms.combination import Combination, Several

Mechanism = Laplace | Staircase | Gaussian
CONFIDENCES = (Fraction(19, 20), Fraction(999, 1000), Fraction(99_999, 100_000))
DRAWS = 40_000
MECHANISMS: tuple[Mechanism, ...] = (
    Laplace((1,), 10**9),
    Laplace((3, 7), 10**8),
    Staircase.best((1,), 3 * 10**9),
    Staircase.best((1, 20), 5 * 10**8),
    Staircase.best((1, 1, 30, 4), 2 * 10**8),
    Staircase.best((2,) * 6, 10**9),
    Gaussian((1, 5), 10**8),
    Gaussian((4,), 10**7),
)


def moment(mechanism: Mechanism, component: int, at: float) -> float:
    """The exponential moment of one component, from below its tails and from above: the larger."""
    sd = mechanism.noise_sd()[component]
    reach = int(60 * sd) + 60
    if isinstance(mechanism, Staircase):
        levels = np.arange(int(reach / mechanism.widths[component]) + 2)
        q = mechanism.ratio / 2**64
        size = np.log(
            np.array(
                [
                    [2 * (r + t * d) + 1 for r, d in zip(mechanism.radii, mechanism.widths, strict=True)]
                    for t in levels
                ],
                float,
            )
        ).sum(axis=1)
        weight = size + levels * log(q)
        weight = np.exp(weight - weight.max())
        side = 2 * (mechanism.radii[component] + levels * mechanism.widths[component]) + 1
        inside = np.sinh(np.minimum(at * side / 2, 700)) / (side * np.sinh(at / 2))
        return float((weight * inside).sum() / weight.sum())
    z = np.arange(-reach, reach + 1)
    if isinstance(mechanism, Gaussian):
        mass = np.exp(-(z**2) / (2 * sd**2))
    else:
        ratio = mechanism.ratios[component]
        assert ratio is not None
        rate = log((1 + sqrt(1 + 2 * sd**2)) ** 2 / (2 * sd**2))  # of the geometric law of this variance
        mass = np.exp(-np.abs(z) * rate)
    return float((mass * np.exp(at * z - np.log(1.0))).sum() / mass.sum())


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_the_exponential_moment_is_below_its_bound(mechanism: Mechanism):
    """E exp(x Y) <= 1 / (1 - u), where u = c x^2 sd^2 / 2 and c is what the lattice curves cosh by."""
    least = min(mechanism.noise_sd())
    curved = (cosh(sqrt(2) / least) - 1) * least**2
    for component, sd in enumerate(mechanism.noise_sd()):
        for u in np.linspace(0.02, 0.9, 23):
            at = sqrt(2 * u / curved) / sd
            assert moment(mechanism, component, at) <= 1 / (1 - u) * (1 + 1e-6)


def off(sums: np.ndarray, combination: Combination, confidence: Fraction) -> float:
    return float((np.abs(sums) > combination.half_width(confidence)).mean())


@pytest.mark.statistical
@pytest.mark.parametrize("weights", [(1.0,), (1.0, 1.0), (3.0, 1.0, 0.2), (0.5,) * 30], ids=len)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_sums_are_within_their_half_widths(mechanism: Mechanism, weights: Sequence[float]):
    """Of 40,000 sums more than 5.7 % are off with a chance below 1e-9 if 5 % may be."""
    noise = sum(w * mechanism.draw(DRAWS)[:, 0].astype(float) for w in weights)
    sd = mechanism.noise_sd()[0] * sqrt(sum(w * w for w in weights))
    found = Combination(sd, mechanism.noise_sd()[0])
    assert off(np.asarray(noise), found, CONFIDENCES[0]) <= 0.057
    assert off(np.asarray(noise), found, CONFIDENCES[2]) <= 0.0003


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if len(m.noise_sd()) > 1], ids=str)
@pytest.mark.parametrize("terms", [1, 5, 100])
def test_components_of_one_draw_are_within_their_half_width(mechanism: Mechanism, terms: int):
    """Of 4,000 sums more than 7.2 % are off with a chance below 1e-9 if 5 % may be."""
    found = Several(tuple(Draw(mechanism, n, terms) for n in (0, 1)), (1, -7))
    drawn = mechanism.draw(4000 * terms)[:, :2].reshape(4000, terms, 2).sum(axis=1).astype(float)
    sums = drawn[:, 0] - 7 * drawn[:, 1]
    assert sums.std() == pytest.approx(found.sd, rel=0.15)  # 6 standard errors of it, at most
    assert (np.abs(sums) > found.half_width(CONFIDENCES[0])).mean() <= 0.072


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_draws_of_their_own_are_within_their_half_width(mechanism: Mechanism):
    """Of 40,000 sums more than 5.7 % are off with a chance below 1e-9 if 5 % may be."""
    draws = tuple(Draw(mechanism, 0, terms, cells) for cells, terms in enumerate((1, 3)))
    drawn = [
        mechanism.draw(DRAWS * d.terms)[:, 0].reshape(DRAWS, -1).sum(axis=1).astype(float) for d in draws
    ]
    found = Several(draws, (2, -3), apart=True)
    together = Several(draws, (2, -3))
    assert found.half_width(CONFIDENCES[0]) <= together.half_width(CONFIDENCES[0])
    assert (np.abs(2 * drawn[0] - 3 * drawn[1]) > found.half_width(CONFIDENCES[0])).mean() <= 0.057


def test_more_confidence_is_wider_and_no_noise_has_no_width():
    found = Combination(10.0, 2.0)
    widths = [found.half_width(c) for c in CONFIDENCES]
    assert widths == sorted(widths)
    assert 25 < widths[0] < 38
    assert widths[2] < 130
    assert Combination(0.0, 0.0).half_width(CONFIDENCES[0]) == 0
