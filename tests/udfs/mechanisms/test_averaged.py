"""The mean of several draws: weights, rounding, and how often the truth is farther off than its half-width."""

from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np
import pytest
from msgspec.structs import replace

from tests.words import same_words
from udfs.mechanisms import Gaussian, Laplace, Staircase
from udfs.mechanisms.averaged import KNOTS, MOST_TERMS, SCALE, Averaged, Draw, _added, _shared, widest

USUAL = Fraction(19, 20)
TENTH = 10**8
SMALL = [
    Laplace((1,), 10**9),
    Laplace((1,), 4 * TENTH),
    Staircase.best((2,), 10**9),
    Laplace((3,), 2 * 10**9),
]


def twice(mechanism: Laplace | Staircase | Gaussian, many: int = 2) -> Averaged:
    return Averaged((Draw(mechanism, 0),) * many)


def distances(mean: Averaged, reach: int = 60) -> dict[int, float]:
    """The probability of each distance of the mean of two draws; the draws beyond ``reach`` are left out."""
    laws = [
        {z: float(d.mechanism.pmf((z,))) for z in range(-reach, reach + 1)}  # type: ignore[attr-defined]
        for d in mean.draws
    ]
    found = dict.fromkeys(range(reach + 1), 0.0)
    for a, b in product(*laws):
        found[abs(mean.of((a, b)))] += laws[0][a] * laws[1][b]
    return found


@pytest.mark.parametrize(
    ("one", "other"), [(a, b) for a in SMALL for b in SMALL if a.noise_sd() <= b.noise_sd()]
)
def test_the_mean_is_within_its_half_width_by_exact_enumeration(one: Laplace, other: Laplace):
    mean = Averaged((Draw(one, 0), Draw(other, 0)))
    law = distances(mean)
    for confidence in (Fraction(1, 2), Fraction(9, 10), USUAL, Fraction(99, 100)):
        half = mean.half_width(confidence)
        assert sum(law[d] for d in range(half + 1)) >= confidence
        assert half <= 2 or sum(law[d] for d in range(half - 1)) < confidence, "two less would not do"


def test_each_weight_is_the_share_of_its_precision():
    mean = Averaged((Draw(Laplace((1,), 2 * TENTH), 0), Draw(Laplace((1,), TENTH), 0)))
    precisions = [1 / d.variance for d in mean.draws]
    assert sum(mean.weights) == SCALE
    assert [w / SCALE for w in mean.weights] == pytest.approx(
        [p / sum(precisions) for p in precisions], abs=1e-6
    )


def test_a_draw_without_weight_adds_nothing():
    coarse, fine = Draw(Laplace((1,), 10**6), 0), Draw(Laplace((1,), 10**10), 0)
    assert Averaged((fine, coarse)).is_single
    mean = Averaged((coarse, fine))
    assert mean.weights == (0, SCALE)
    assert mean.half_width(USUAL) <= fine.mechanism.half_width(USUAL)[0] + 1


def test_the_mean_is_symmetric_and_between_its_values():
    mean = Averaged((Draw(Laplace((1,), TENTH), 0), Draw(Laplace((1,), TENTH), 0)))
    for a, b in product(range(-6, 7), repeat=2):
        assert mean.of((-a, -b)) == -mean.of((a, b)), "or ties would be a bias"
        assert min(a, b) <= mean.of((a, b)) <= max(a, b)
        assert mean.of((a + 10**30, b + 10**30)) == mean.of((a, b)) + 10**30


def test_what_does_not_help_is_left_out():
    exact = Draw(Laplace((0,), 10**9), 0)
    assert Averaged((exact, Draw(Laplace((1,), 10**9), 0))).is_single
    precise = Draw(Laplace((1,), 5 * 10**9), 0)
    mean = Averaged((precise, precise))
    assert mean.is_single, "rounding costs more than the second draw gains"
    assert mean.of((4, 900)) == 4
    assert mean.half_width(USUAL) == precise.mechanism.half_width(USUAL)[0]


@pytest.mark.parametrize("law", [Staircase.best((1,), TENTH), Laplace((1000,), 10**9), Gaussian((1,), 10**6)])
def test_half_widths_narrow_with_the_number_of_draws(law: Staircase | Laplace | Gaussian):
    halves = [law.half_width(USUAL)[0], *(twice(law, many).half_width(USUAL) for many in (2, 3, 4))]
    assert halves == sorted(halves, reverse=True)
    assert halves[3] <= 0.58 * halves[0], "the normal law gives 0.5"


@pytest.mark.parametrize(
    "law", [Staircase.best((1, 50), TENTH), Laplace((1000,), 10**9), Gaussian((9,), 10**6)]
)
@pytest.mark.parametrize("many", [2, 3])
def test_means_of_draws_cover_and_are_as_precise_as_they_say(law: Staircase | Laplace | Gaussian, many: int):
    """Coverage above 0.937 of 95 % for 20,000 means: 8 sd of a share of 0.0015, a false alarm below 1e-14."""
    mean, count = twice(law, many), 20_000
    drawn = [law.draw(count)[:, 0] for _ in range(many)]
    off = np.array([mean.of([int(v) for v in values]) for values in zip(*drawn, strict=True)], dtype=float)
    covered = float(np.mean(np.abs(off) <= mean.half_width(USUAL)))
    assert 0.937 <= covered <= 0.985
    # The variance of 20,000 squares has a relative sd below 0.025 (kurtosis below 6): 8 of them.
    assert np.mean(off**2) == pytest.approx(mean.noise_sd() ** 2, rel=0.2)
    assert abs(float(np.mean(off))) <= 8 * mean.noise_sd() / isqrt(count)  # a false alarm below 1e-14


def test_means_of_sums_of_draws_cover():
    """Of words that are the same in each run: 76 are expected to miss, where 100 may."""
    law = Laplace((1,), TENTH)
    mean = Averaged((Draw(law, 0, 9), Draw(law, 0, 9)))
    sums = law.draw(36_000, same_words())[:, 0].reshape(2000, 2, 9).sum(axis=2)
    off = [mean.of(pair) for pair in sums.tolist()]
    half = mean.half_width(USUAL)
    assert 40 < sum(abs(o) > half for o in off) < 150
    assert half < 3.1 * mean.noise_sd()


def sums(mechanism: Laplace | Staircase, terms: int) -> np.ndarray:
    """The law of the absolute value of a sum by convolution: what is cut off has a probability below 1e-12."""
    reach = 60 * mechanism.widths[0]
    single = np.array([float(mechanism.pmf((z,))) for z in range(-reach, reach + 1)])
    size = 1 << (2 * reach * terms).bit_length()
    law = np.fft.irfft(np.fft.rfft(single, size) ** terms, size)[: 2 * reach * terms + 1]
    middle = reach * terms
    return np.cumsum(np.append(law[middle], law[middle + 1 :] + law[middle - 1 :: -1]))


@pytest.mark.parametrize("terms", [2, 3, 10, 100])
@pytest.mark.parametrize(
    "mechanism", [Laplace.best((1,), 10**9), Staircase.best((1,), 10**9), Staircase.best((5,), 10**9)]
)
def test_a_sum_is_within_its_half_width_which_is_hardly_more_than_needed(
    mechanism: Laplace | Staircase, terms: int
):
    within = sums(mechanism, terms)
    for confidence in (Fraction(1, 2), USUAL, Fraction(999, 1000)):
        half = Averaged((Draw(mechanism, 0, terms),)).half_width(confidence)
        least = int(np.searchsorted(within, float(confidence)))
        assert float(confidence) - 1e-9 <= within[half]
        assert half <= 1.12 * least + 1


@pytest.mark.parametrize("mechanism", [Laplace.best((1,), 10**9), Staircase.best((5,), 10**9)])
def test_sums_of_every_number_of_draws_are_within_the_widest(mechanism: Laplace | Staircase):
    reach = widest(Draw(mechanism, 0), 100, USUAL)
    for terms in (1, 2, 9, 17, 33, 65, 100):
        within, sd = sums(mechanism, terms), mechanism.noise_sd()[0]
        assert within[int(reach * sd * terms**0.5)] >= 0.95 - 1e-9
    assert reach < 2.5


def test_of_very_many_draws_the_variance_bounds_the_sum():
    draw = Draw(Laplace((1,), 10**8), 0)
    assert widest(draw, MOST_TERMS, USUAL) == pytest.approx(2 / 3 / 0.05**0.5, rel=0.01)
    half = Averaged((replace(draw, terms=MOST_TERMS + 1),)).half_width(USUAL)
    assert half == pytest.approx(2.98 * MOST_TERMS**0.5 * draw.variance**0.5, rel=0.01)
    assert Averaged((replace(draw, terms=0),)).half_width(USUAL) == 0


def test_a_mean_of_more_draws_than_is_proved_is_refused():
    draw = Draw(Laplace((1,), TENTH), 0)
    assert Averaged((draw,) * 8).half_width(USUAL) > 0
    with pytest.raises(ValueError, match="at most 8 draws"):
        Averaged((draw,) * 9)


@pytest.mark.parametrize("terms", [1023, 4095])
def test_a_sum_whose_law_leaves_too_much_out_is_bounded_by_its_variance(terms: int):
    """Of so many draws it is about normal: 1.96 standard deviations at least."""
    draw = Draw(Laplace((1,), TENTH), 0, terms)
    assert Averaged((draw,)).half_width(USUAL) >= 1.95 * draw.variance**0.5
    assert Averaged((draw, draw)).half_width(USUAL) >= 1.95 * (draw.variance / 2) ** 0.5


@pytest.mark.parametrize("nines", [6, 9, 12, 15])
def test_bounds_of_any_confidence_take_as_much_work(nines: int):
    """Laws keep about ``KNOTS`` points, and stay far nearer than all draws at once."""
    mechanism, many, confidence = Staircase.best((1,), 57 * 10**7), 12, 1 - Fraction(1, 10**nines)
    allowed = float(1 - confidence)
    law = _added(Draw(mechanism, 0), many, 1.0, _shared(allowed, many))
    assert len(law.knots) <= KNOTS + 2
    alone = mechanism.half_width(1 - (1 - confidence) / many)[0]
    assert Averaged((Draw(mechanism, 0, many),)).half_width(confidence) < many * alone / 4
