"""Refinement: its exact law against the definition, privacy over every pair of truths, the thesis' numbers, draws."""

import itertools
import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from udfs import priors
from udfs.mechanisms.refinement import Refinement, Truth
from udfs.priors import WHOLE, Prior
from udfs.privacy import LEAST_NANO, NANO, InvalidMechanism, Loss
from udfs.randomness import Words

Make = Callable[..., Refinement]

TABLES = [
    priors.table([0, 1, 2, 3], [1, 1, 1, 1]),
    priors.table([0, 4, 10], [1, 0, 2]),
    priors.table([-3, 0, 1, 8, 9], [1, 70, 3, 1, 1]),
    priors.point(5),
    priors.mixture([(1, priors.point(2)), (2, priors.table([0, 1, 3], [1, 2, 1]))]),
    priors.nominal(["a", "b"], [0.99, 0.01]),
    priors.nominal(["a", "b", "c"], [1, 1, 4]),
    priors.ordinal(["a", "b", "c", "d"], [1, 2, 0, 5]),
    priors.custom(["a", "b", "c"], [1, 2, 3], [[0, 1, 5], [1, 0, 1], [2, 2, 0]]),
]
EPSILONS = [NANO // 1000, NANO // 10, 693_147_181, NANO, 3 * NANO, 60 * NANO]
DELTAS = [Fraction(0), Fraction(1, 10**6), Fraction(1, 20), Fraction(9, 10)]


def truths(prior: Prior) -> list[Truth]:
    """Values, what is between and beyond them, and what the prior cannot place."""
    if prior.labelled:
        return [*prior.values, "nothing of the kind", None]
    quarters = range(4 * math.floor(min(prior.values)) - 9, 4 * math.ceil(max(prior.values)) + 10)
    return [*(quarter / 4 for quarter in quarters), 1e300, -math.inf, math.nan, None]


def laws(refinement: Refinement) -> dict[Truth, tuple[Fraction, ...]]:
    return {truth: refinement.pmf(truth) for truth in truths(refinement.prior)}


def prior_law(prior: Prior) -> tuple[Fraction, ...]:
    return tuple(Fraction(weight, WHOLE) for weight in prior.weights)


def excess(law: tuple[Fraction, ...], other: tuple[Fraction, ...], factor: Fraction) -> Fraction:
    """The most that P(S) - factor * P'(S) comes to over all events S."""
    return sum((max(p - factor * r, Fraction(0)) for p, r in zip(law, other, strict=True)), Fraction(0))


@lru_cache
def exp_below(nano: int) -> Fraction:
    """A rational just below e**epsilon, to 40 digits: what the ratio may not exceed."""
    step, pieces = Fraction(nano, NANO), 64
    term = total = Fraction(1)
    for index in range(1, 60):
        term = term * step / pieces / index
        total += term
    scaled = total**pieces  # every term left out is positive
    return Fraction(int(scaled * 2**160), 2**160)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("nano", EPSILONS)
@pytest.mark.parametrize("make", [Refinement.statistical, Refinement.balanced])
def test_statistical_any_two_truths(make: Make, nano: int, delta: Fraction):
    bound = exp_below(nano)
    for prior in TABLES:
        found = set(laws(make(prior, nano, delta)).values())
        assert all(sum(law) == 1 for law in found)
        for law, other in itertools.permutations(found, 2):
            assert excess(law, other, bound) <= delta


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("nano", EPSILONS)
def test_individual_present_and_absent(nano: int, delta: Fraction):
    bound = exp_below(nano)
    for prior in TABLES:
        refinement = Refinement.individual(prior, nano, delta)
        absent = prior_law(prior)
        assert refinement.pmf(None) == absent
        for law in laws(refinement).values():
            assert sum(law) == 1
            assert excess(law, absent, bound) <= delta
            assert excess(absent, law, bound) <= delta


@pytest.mark.parametrize("nano", EPSILONS)
def test_every_mass_is_private(nano: int):
    """The choice of the mass is free: all of them, not the best alone."""
    for prior in TABLES[:3]:
        for mass in (1, 7, WHOLE // 5, WHOLE // 2, WHOLE - 1, WHOLE):
            found = set(laws(Refinement(prior, nano, "statistical", mass)).values())
            for law, other in itertools.permutations(found, 2):
                assert excess(law, other, exp_below(nano)) == 0


def test_the_test_of_privacy_can_fail():
    """A tenth less epsilon than the law has is found; between two values of one unit the loss is twice epsilon."""
    prior = TABLES[0]
    one = Refinement.statistical(prior, NANO)
    found = set(laws(one).values())
    assert max(excess(x, y, exp_below(NANO * 9 // 10)) for x, y in itertools.permutations(found, 2)) > 0
    individual = Refinement.individual(prior, NANO)
    low, high = individual.pmf(0.0), individual.pmf(3.0)
    assert excess(low, high, exp_below(19 * NANO // 10)) > 0
    assert excess(low, high, exp_below(2 * NANO)) == 0


def definition(refinement: Refinement, distances: list[Fraction]) -> list[Fraction]:
    """The refined law by the thesis: balls and outside sets ring by ring, the ring between getting what is left."""
    weights = prior_law(refinement.prior)
    up, down, near = refinement.up, refinement.down, refinement.near
    rings = [
        [index for index, distance in enumerate(distances) if distance == radius]
        for radius in sorted(set(distances))
    ]
    ball, inside, outside = 0, Fraction(0), Fraction(0)
    while ball < len(rings) and inside + sum(weights[i] for i in rings[ball]) <= near:
        inside += sum(weights[i] for i in rings[ball])
        ball += 1
    factors = [down] * len(weights)
    for ring in rings[:ball]:
        for index in ring:
            factors[index] = up
    if ball < len(rings) and inside < near:
        outside = 1 - inside - sum(weights[i] for i in rings[ball])
        between = (1 - up * inside - down * outside) / (1 - inside - outside)
        for index in rings[ball]:
            factors[index] = between
    return [factor * weight for factor, weight in zip(factors, weights, strict=True)]


@pytest.mark.parametrize("nano", EPSILONS)
@pytest.mark.parametrize("make", [Refinement.statistical, Refinement.balanced, Refinement.individual])
def test_the_law_is_the_definition(make: Make, nano: int):
    for prior in TABLES:
        refinement = make(prior, nano)
        for truth, law in laws(refinement).items():
            if isinstance(truth, float) and not math.isfinite(truth):
                continue
            if prior.distance == "absolute" and truth is not None:
                distances = [abs(Fraction(value) - Fraction(truth)) for value in prior.values]
            elif truth in prior.values:
                here = prior.values.index(truth)
                match prior.distance:
                    case "discrete":
                        distances = [Fraction(i != here) for i in range(len(prior.values))]
                    case "rank":
                        distances = [Fraction(abs(i - here)) for i in range(len(prior.values))]
                    case rows:
                        distances = [Fraction(entry) for entry in rows[here]]
            else:
                assert law == prior_law(prior)
                continue
            assert list(law) == definition(refinement, distances)


@pytest.mark.parametrize("nano", EPSILONS)
def test_factors_use_all_of_epsilon(nano: int):
    prior = TABLES[0]
    statistical, balanced = Refinement.statistical(prior, nano), Refinement.balanced(prior, nano)
    individual = Refinement.individual(prior, nano)
    assert statistical.up / statistical.down == balanced.up / balanced.down == 1 / statistical.q
    assert individual.down == individual.q
    if nano < 20 * NANO:
        assert float(individual.up) == pytest.approx(math.exp(nano / NANO), rel=1e-3)
        assert float(statistical.up / statistical.down) == pytest.approx(math.exp(nano / NANO))
        assert float(balanced.up) == pytest.approx(math.exp(nano / NANO / 2), rel=1e-3)


def expected(refinement: Refinement) -> float:
    """The expected distance, value by value."""
    prior = refinement.prior
    total = Fraction(0)
    for value, weight in zip(prior.values, prior.weights, strict=True):
        law = zip(prior.values, refinement.pmf(value), strict=True)
        total += Fraction(weight, WHOLE) * sum(p * abs(Fraction(x) - Fraction(value)) for x, p in law)
    return float(total)


@pytest.mark.parametrize("delta", DELTAS[:3])
@pytest.mark.parametrize("nano", EPSILONS)
def test_expected_distance(nano: int, delta: Fraction):
    for prior in TABLES[:5]:
        for make in (Refinement.statistical, Refinement.individual):
            refinement = make(prior, nano, delta)
            assert refinement.expected_distance == pytest.approx(expected(refinement), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("nano", EPSILONS)
def test_statistical_has_the_least_expected_distance(nano: int):
    for prior in TABLES:
        best = Refinement.statistical(prior, nano)
        assert best.expected_distance <= Refinement.balanced(prior, nano).expected_distance + 1e-12
        for mass in range(WHOLE // 64, WHOLE + 1, WHOLE // 64):
            other = Refinement(prior, nano, "statistical", mass)
            assert best.expected_distance <= other.expected_distance + 1e-12


def test_delta_takes_the_farthest_first():
    prior = TABLES[0]
    plain = Refinement.statistical(prior, NANO)
    for delta in (Fraction(1, 1000), Fraction(1, 100)):
        moved = Refinement.statistical(prior, NANO, delta)
        share = delta * plain.q / (1 + plain.q)
        law, base = moved.pmf(0.0), plain.pmf(0.0)
        assert base[3] - law[3] == law[0] - base[0]
        assert float(base[3] - law[3]) == pytest.approx(float(share), rel=1e-6)
        assert law[1:3] == base[1:3]
        individual = Refinement.individual(prior, NANO, delta)
        gained = individual.pmf(0.0)[0] - Refinement.individual(prior, NANO).pmf(0.0)[0]
        assert float(gained) == pytest.approx(float(delta * plain.q), rel=1e-6)


# The thesis' numbers: ch. 5, with the corrections named in the module.


@pytest.mark.parametrize(
    ("epsilon", "variance", "size", "hit"),
    [
        (0.1, 0.0772, 0.4750, 0.525),
        (math.log(2), 0.0463, 0.3333, 0.667),
        (1, 0.0345, 0.2689, 0.731),
        (2, 0.0123, 0.1192, 0.881),
    ],
)
def test_uniform_prior_on_the_unit_interval(epsilon: float, variance: float, size: float, hit: float):
    refinement = Refinement.individual(priors.uniform(0, 1), round(epsilon * NANO))
    law = np.array([float(p) for p in refinement.pmf(0.5)])
    values = np.array(refinement.prior.values)
    assert round(float(law @ (values - 0.5) ** 2), 4) == variance
    assert round(float(refinement.near), 4) == size
    assert round(float(refinement.near * refinement.up), 3) == hit
    near = np.abs(values - 0.5) < size / 2
    assert law[near].sum() == pytest.approx(hit, abs=0.002)  # a value of the lattice has up to 0.0037


def test_a_rare_boolean():
    refinement = Refinement.individual(priors.nominal([0, 1], [0.99, 0.01]), NANO)
    assert round(float(refinement.pmf(0)[1]), 7) == 0.0036788
    assert round(float(refinement.pmf(1)[1]), 7) == 0.0271828


def test_an_even_boolean():
    refinement = Refinement.individual(priors.nominal([0, 1], [0.5, 0.5]), NANO)
    assert round(float(refinement.pmf(0)[1]), 4) == 0.1839
    assert round(float(refinement.pmf(1)[1]), 4) == 0.8161


@pytest.mark.parametrize("text", ["uniform", "normal", "lognormal"])
def test_a_lattice_is_private_between_its_ends_and_its_middle(text: str):
    prior = {
        "uniform": priors.uniform(0, 1),
        "normal": priors.normal(0, 1),
        "lognormal": priors.lognormal(0, 1),
    }[text]
    for delta in DELTAS[:2]:
        statistical = Refinement.statistical(prior, NANO, delta)
        individual = Refinement.individual(prior, NANO, delta)
        found = [-5.0, 0.0, 0.37, 0.5, 1.0, 12.0]
        for one, other in itertools.permutations(map(statistical.pmf, found), 2):
            assert excess(one, other, exp_below(NANO)) <= delta
        known = prior_law(prior)
        for one in map(individual.pmf, found):
            assert excess(one, known, exp_below(NANO)) <= delta
            assert excess(known, one, exp_below(NANO)) <= delta


@pytest.mark.parametrize(
    "prior",
    [
        priors.lognormal(200, 4),
        priors.lognormal(-200, 0.01),
        priors.table([-1e99, 1e100, 2e100], [1, 1, 1]),
        priors.table([0, 1e-99], [1, 1]),
        priors.custom([1, 2], [1, 1], [[0, 1e100], [1e-300, 0]]),
    ],
    ids=lambda prior: str(prior.values[-1]),
)
def test_the_largest_and_smallest_numbers_are_answered(prior: Prior):
    for make in (Refinement.statistical, Refinement.individual):
        refinement = make(prior, NANO, Fraction(1, 1000))
        assert math.isfinite(refinement.expected_distance)
        for truth in [0, 1, -1, 5e-324, 1.7e308, -1.7e308, math.inf, -math.inf, math.nan, 10**400, None]:
            assert refinement.release(truth) in prior.values
            assert refinement.release_all([truth])[0] in prior.values
        if prior.distance == "absolute":
            found = refinement.release_numbers(np.array([0.0, 5e-324, 1.7e308, -np.inf, np.nan]))
            assert set(found.tolist()) <= set(prior.values)


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10)])
@pytest.mark.parametrize("make", [Refinement.statistical, Refinement.individual])
@pytest.mark.parametrize("prior", [t for t in TABLES if len(t.values) > 1], ids=lambda p: str(p.values))
def test_draws_follow_the_pmf(
    prior: Prior, make: Make, delta: Fraction, fits: Callable[..., bool]
):  # false alarm 1e-6 each, below 1e-3 for all 32 * 8
    refinement, count = make(prior, NANO, delta), 20_000
    for truth in [*prior.values, *([4.5, 1e9] if not prior.labelled else []), None]:
        law = refinement.pmf(truth)
        drawn = refinement.release_all([truth] * count)
        counts = [drawn.count(value) for value in prior.values]
        assert all(p or not c for p, c in zip(law, counts, strict=True))
        likely = [(p, c) for p, c in zip(law, counts, strict=True) if p * count > 6]
        if len(likely) > 1:
            rest = sum(p for p, _ in likely)
            assert fits([c for _, c in likely], [p / rest for p, _ in likely])


@pytest.mark.statistical
def test_draws_for_many_truths_at_once_are_each_its_own(fits: Callable[..., bool]):  # false alarm 1e-6 each
    refinement = Refinement.individual(TABLES[2], NANO, Fraction(1, 50))
    values = np.array([-3.0, 0.5, 8.5, np.nan])
    drawn = refinement.release_numbers(np.tile(values, 20_000)).reshape(-1, 4)
    for column, truth in enumerate(values.tolist()):
        law = zip(refinement.prior.values, refinement.pmf(truth), strict=True)
        cells = [(int((drawn[:, column] == value).sum()), p) for value, p in law if p]
        assert fits([count for count, _ in cells], [p for _, p in cells])


def test_the_answer_is_one_value_of_the_prior():
    assert Refinement.individual(TABLES[5], 60 * NANO).release("b") == "b"  # false alarm below 1e-15
    answer = Refinement.statistical(priors.normal(44, 6), NANO).release(44.31)
    assert type(answer) is float
    assert answer in priors.normal(44, 6).values
    assert Refinement.individual(priors.point(5), NANO).release(None) == 5


def test_as_many_words_for_every_truth():
    refinement = Refinement.individual(priors.normal(44, 6), NANO, Fraction(1, 10**6))
    taken: list[int] = []

    def counted(count: int) -> bytes:
        taken.append(count)
        return os.urandom(count)

    for truth in [44.0, 20.0, 1e9, None]:
        refinement.release(truth, counted)
    # A fourth number is drawn for one in 16 million.
    assert taken[:3] == taken[3:6] == taken[6:9] == [8, 8, 8]


def test_the_same_words_give_the_same_answer(scripted: Callable[..., Words]):
    refinement = Refinement.individual(priors.uniform(0, 1), NANO)
    near, far = 1 << 60, (1 << 64) - 2  # below and above 1 - e**-1
    assert refinement.release(0.5, scripted(near, 0, 0)) == pytest.approx(0.5 - 0.2689 / 2, abs=0.001)
    assert refinement.release(0.5, scripted(far, 0, 0)) == 0.0
    assert refinement.release(0.5, scripted(far, WHOLE - 1, 0)) == 1.0
    assert refinement.release(None, scripted(near, 0, WHOLE - 1)) == 1.0


def test_a_refinement_is_a_value():
    one, other = (Refinement.statistical(priors.normal(44, 6), NANO) for _ in range(2))
    assert one == other == Refinement(one.prior, NANO, "statistical", one.mass)
    assert hash(one) == hash(other)
    assert one.loss == Loss(NANO)


@pytest.mark.parametrize("make", [Refinement.statistical, Refinement.balanced, Refinement.individual])
def test_what_is_out_of_range_is_refused(make: Make):
    for nano, delta in [(LEAST_NANO - 1, 0), (-NANO, 0), (0, 0), (NANO, -1), (NANO, 1)]:
        with pytest.raises(InvalidMechanism):
            make(TABLES[0], nano, Fraction(delta))


@pytest.mark.parametrize(
    ("kind", "mass"),
    [
        ("statistical", 0),
        ("statistical", WHOLE + 1),
        ("individual", WHOLE // 10),
        ("individual", 0),
        ("both", WHOLE),
    ],
)
def test_a_mass_that_is_not_private_is_refused(kind: str, mass: int):
    with pytest.raises(InvalidMechanism):
        Refinement(TABLES[0], NANO, kind, mass)


def test_planning_and_a_release_are_quick(work: Callable[[float], AbstractContextManager[None]]):
    prior = priors.normal(43.5, 6)
    with work(2):  # ten times what it takes
        refinement = Refinement.statistical(prior, NANO)
        assert refinement.expected_distance > 0
    refinement.release(44)
    with work(0.1):  # ten times what it takes
        for _ in range(100):
            refinement.release(44)
