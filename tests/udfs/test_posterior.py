"""Posterior means beside the definition, beside noise, and beside what was predicted."""

import numpy as np
import pytest

from tests.words import same_words
from udfs.mechanisms import Staircase
from udfs.mechanisms.refinement import Refinement
from udfs.posterior import Draws, expected_distances
from udfs.prior_notation import parse

ROWS = 3000


def flat(value: list[float], sd: float, *, bell: bool = False) -> Draws:
    held = np.array(value, dtype=np.float64)
    return Draws(held, np.full(len(held), sd), np.zeros(len(held)), np.zeros(len(held)), bell=bell)


def test_of_two_values_it_is_the_weighed_mean():
    prior = parse("table([0, 10], [1, 3])")
    likely = np.exp(-np.sqrt(2) * np.array([4.0, 6.0]) / 5) * [1, 3]
    [found] = flat([4.0], 5.0).mean(prior)
    assert found == pytest.approx(10 * likely[1] / likely.sum())
    likely = np.exp(-np.array([16.0, 36.0]) / 50) * [1, 3]
    [found] = flat([4.0], 5.0, bell=True).mean(prior)
    assert found == pytest.approx(10 * likely[1] / likely.sum())


def test_a_normal_prior_and_normal_noise_weigh_by_their_precisions():
    found = flat([50.0, 20.0], 3.0, bell=True).mean(parse("normal(44, 6)"))
    assert found == pytest.approx([(50 * 36 + 44 * 9) / 45, (20 * 36 + 44 * 9) / 45], abs=0.01)
    few = flat([50.0, 20.0], 3.0, bell=True).mean(parse("normal(44, 6)"), most=60)
    assert few == pytest.approx(found, abs=0.05)


@pytest.mark.parametrize("text", ["normal(44, 6)", "lognormal(3.7, 1)", "uniform(0, 100)"])
def test_noise_finer_than_the_steps_of_a_prior_is_not_rounded_to_them(text: str):
    truth = 43.21987654321
    for sd in (1e-3, 1e-6, 1e-9):
        assert abs(flat([truth], sd).mean(parse(text))[0] - truth) < 10 * sd


def test_where_noise_says_nothing_it_is_the_mean_of_the_prior():
    assert flat([1e6], 1e9).mean(parse("normal(44, 6)"))[0] == pytest.approx(44, abs=0.01)


def test_it_stays_where_the_prior_is():
    found = flat([1e9, -1e9], 1e-3).mean(parse("uniform(0, 100)"))
    assert found == pytest.approx([100, 0], abs=0.05)
    assert flat([7.0, 1e9], 1e-300).mean(parse("table([1, 2], [1, 1])")) == pytest.approx([2, 2])


def test_an_atom_far_from_the_rest_is_no_wide_cell():
    found = flat([500.0], 20.0).mean(parse("0.5 * point(0) + 0.5 * normal(1000, 1)"))
    assert 0 <= found[0] <= 1010
    assert flat([3.0], 1.0).mean(parse("0.5 * point(0) + 0.5 * normal(1000, 1)"))[0] == pytest.approx(
        0, abs=0.1
    )


@pytest.mark.parametrize("nano", [10**8, 10**9])
@pytest.mark.parametrize("count", [20, 100, 1000, 20_000])
def test_averages_are_nearer_than_noise_and_than_refinement(count: int, nano: int):
    """Of 0 to 110, normal(44, 6) being right. The words are the same in each run."""
    generator = np.random.default_rng(count + nano)
    truth = generator.normal(44, 6, ROWS)
    mechanism = Staircase.best((55, 1), nano)
    noise = mechanism.draw(ROWS, same_words(1)).astype(np.float64)
    seen = np.maximum(count + noise[:, 1], 1.0)
    drawn = 55 + ((truth - 55) * count + noise[:, 0]) / seen
    sd = mechanism.noise_sd()
    prior = parse("normal(44, 6)")
    draws = Draws(drawn, sd[0] / seen, sd[1] / seen, np.full(ROWS, 55.0), bell=False)
    found = draws.mean(prior)
    refined = Refinement.statistical(prior, nano).release_numbers(truth, same_words(2))

    def error(answer: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float(np.sqrt(np.mean((answer - truth) ** 2)))

    assert error(found) < 1.03 * error(np.clip(drawn, 0, 110))
    assert error(found) < 1.03 * 6.0  # the prior's own mean
    assert error(found) < 0.8 * error(refined)
    rare = float(np.mean(draws.surprise(prior) < 0.05))
    assert 0.02 < rare < 0.08  # about 0.05 by definition; its standard error is 0.004


def test_predictions_are_about_right():
    prior = parse("normal(44, 6)")
    generator = np.random.default_rng(1)
    truth = generator.normal(44, 6, 20_000)
    for sd in (0.5, 5.0, 50.0):
        drawn = truth + generator.laplace(0, sd / np.sqrt(2), len(truth))
        none = np.zeros(len(truth))
        found = Draws(drawn, none + sd, none, none, bell=False).mean(prior)
        posterior, alone = expected_distances(prior, sd)
        assert posterior == pytest.approx(np.abs(found - truth).mean(), rel=0.08)
        assert alone == pytest.approx(np.abs(drawn - truth).mean(), rel=0.08)


def test_surprise_is_small_far_out_alone():
    far, near = flat([200.0, 45.0], 3.0).surprise(parse("normal(44, 6)"))
    assert far < 1e-6
    assert near > 0.5
    far, near = flat([200.0, 45.0], 3.0, bell=True).surprise(parse("normal(44, 6)"))
    assert far < 1e-6
    assert near > 0.5
