"""The exponential mechanism: its exact law, its privacy, how a draw is proposed and kept, and its draws."""

import itertools
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import spearmanr

from udfs.mechanisms import exponential
from udfs.mechanisms.exponential import LARGEST_SCORE, WIDEST_SPREAD, CandidateLists, Exponential, log2, whole
from udfs.mechanisms.levels import ONE
from udfs.privacy import LEAST_NANO, NANO, InvalidMechanism, Loss
from udfs.randomness import Words

MECHANISMS = [Exponential(spread, nano) for spread in (1, 2, 5) for nano in (NANO // 10, NANO, 4 * NANO)]
WEIGHTS: list[tuple[int, ...]] = [(1, 1, 1), (1, 5, 2)]


def array(*values: int):
    return np.array(values, dtype=np.int64)


def q(mechanism: Exponential) -> Fraction:
    return Fraction(mechanism.ratio, ONE)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_mass_is_one(mechanism: Exponential):
    for scores in itertools.product(range(3), repeat=3):
        for weights in WEIGHTS:
            assert sum(mechanism.pmf(scores, i, weights) for i in range(3)) == 1


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if m.spread < 5], ids=str)
def test_no_unit_changes_a_probability_by_more_than_epsilon_allows(mechanism: Exponential):
    """Every pair of score vectors of which the differences of scores differ by at most the spread."""
    worst = Fraction(0)
    moves = list(itertools.product(range(mechanism.spread + 1), repeat=3))
    for scores, weights in itertools.product(itertools.product(range(-2, 3), repeat=3), WEIGHTS):
        before = [mechanism.pmf(scores, i, weights) for i in range(3)]
        for move in moves:
            moved = [s + m for s, m in zip(scores, move, strict=True)]
            after = [mechanism.pmf(moved, i, weights) for i in range(3)]
            worst = max(worst, *(a / b for a, b in zip(after, before, strict=True)))
            worst = max(worst, *(b / a for a, b in zip(after, before, strict=True)))
    limit = 1 / q(mechanism) ** mechanism.spread
    assert limit / 2 < worst < limit  # it is approached as one candidate outweighs the rest
    assert Decimal(limit.numerator) / limit.denominator <= Context(prec=60).exp(
        Decimal(mechanism.nano) / NANO
    )


def test_the_limit_is_approached():
    mechanism = Exponential(2, NANO)
    before, after = mechanism.pmf([0, 0], 0, [1, 10**9]), mechanism.pmf([1, -1], 0, [1, 10**9])
    assert after / before > (1 - Fraction(1, 10**6)) / q(mechanism) ** 2


@pytest.mark.parametrize("nano", [LEAST_NANO, NANO, 200 * NANO])
@pytest.mark.parametrize("spread", [1, 3, 10**6, WIDEST_SPREAD])
@pytest.mark.parametrize("weights", [None, (1, 7, 0, 2**60, 3, 1)], ids=["alike", "weighted"])
def test_what_is_proposed_and_kept_is_the_law(spread: int, nano: int, weights: tuple[int, ...] | None):
    """Proposal times coins, recomputed as rationals: the same multiple of weight times power for all."""
    scores = array(5, 0, 40, -3, -(10**3), 4)
    lists = CandidateLists(
        Exponential(spread, nano), scores, array(6), None if weights is None else array(*weights)
    )
    scale, best = weights or (1,) * 6, 5 if weights else 40
    power, multiples = Fraction(lists._q, ONE), set()
    proposals = np.diff(lists._sums).tolist()
    for i in range(6):
        if not scale[i]:
            assert not proposals[i]
            continue
        d, halvings, above = (int(a[i]) for a in (lists._below, lists._halvings, lists._above))
        assert d == best - scores[i]
        coin = power**d * 2**halvings
        assert coin <= 1
        point = Fraction(scale[i], 2 ** int(lists._points[i]) if lists._points is not None else 1)
        assert point <= 1
        excess = Fraction(1, 2 ** max(above - lists._room, 0))
        multiples.add(proposals[i] * coin * point * excess / (scale[i] * power**d))
    assert len(multiples) == 1


def test_most_proposals_are_kept():
    """At least a quarter of their mass, but for scores whose halvings are rounded down further out."""
    for nano, spread in [(NANO, 2), (LEAST_NANO, WIDEST_SPREAD), (100 * NANO, 1)]:
        mechanism = Exponential(spread, nano)
        step = max(WIDEST_SPREAD * NANO // nano // 50, 1) if spread > 2 else 1
        scores = -step * np.arange(100, dtype=np.int64)
        lists = CandidateLists(mechanism, scores, array(100))
        kept = sum(mechanism.ratio**0 * (mechanism.ratio / ONE) ** int(d) for d in lists._below)
        assert kept > 0.25 * float(np.diff(lists._sums).sum()) / 2.0**lists._room


def test_chances_are_bounded_to_any_precision():
    lists = CandidateLists(Exponential(1, NANO), array(0, -3), array(2))
    for precision in (128, 256, 1024):
        low, high = lists._chance((3, int(lists._halvings[1])), precision)
        exact = q(Exponential(1, NANO)) ** 3 * 2 ** int(lists._halvings[1]) * 2**precision
        assert low <= exact <= high
        assert high - low <= 2


@pytest.mark.parametrize("size", [1, 2, 3, 2**32, 2**63 + 1, 2**64 - 1])
def test_the_logarithm_is_a_lower_bound(size: int):
    exact = -(Context(prec=60).ln(Decimal(size) / ONE)) / Context(prec=60).ln(Decimal(2)) * 2**55
    assert exact - 2 <= log2(size) <= exact


def test_scores_far_apart_take_no_longer(work: Callable[[float], AbstractContextManager[None]]):
    mechanism = Exponential.of(1, NANO)
    with work(1):  # fifty times what it takes
        assert mechanism.choose([0, 10**9, -(10**9), 2**61, -(10**40)]) == 3  # false alarm: e**-(10**9)
        mechanism.choose_each(array(*[0, 10**9] * 2000), np.full(2000, 2, dtype=np.int64))


def test_scores_beyond_the_limit_count_as_the_limit():
    assert whole([10**40, -(10**40), 3], -LARGEST_SCORE, LARGEST_SCORE).tolist() == [2**61, -(2**61), 3]
    assert whole([2**63, -1], -LARGEST_SCORE, LARGEST_SCORE).tolist() == [2**61, -1]  # floats to numpy
    assert whole(np.array([7], dtype=np.uint64), 0, 5).tolist() == [5]
    assert whole([], 0, 5).dtype == np.int64
    for wrong in ([77123.5], np.array([77123.0])):
        with pytest.raises(TypeError) as refused:
            whole(wrong, 0, 5)  # type: ignore[arg-type]
        assert "77123" not in str(refused.value)


@pytest.mark.parametrize(
    ("spread", "nano"), [(0, NANO), (-1, NANO), (WIDEST_SPREAD + 1, NANO), (1, LEAST_NANO - 1), (1, -NANO)]
)
def test_what_is_out_of_range_is_refused(spread: int, nano: int):
    with pytest.raises(InvalidMechanism):
        Exponential(spread, nano)


def test_lists_need_candidates_and_scores():
    mechanism = Exponential(1, NANO)
    for scores, lengths in [(array(), array(0)), (array(1, 2), array(1)), (array(1), array(1, 0))]:
        with pytest.raises(InvalidMechanism):
            mechanism.choose_each(scores, lengths)
    with pytest.raises(InvalidMechanism):
        mechanism.choose([])
    assert mechanism.choose_each(array(), array()).tolist() == []


def test_loss():
    assert Exponential.of(3, 12_345_678) == Exponential(6, 12_345_678)
    assert Exponential.of(3, 12_345_678).loss == Loss(12_345_678)


@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(95, 100), Fraction(999_999, 10**6)])
@pytest.mark.parametrize("weight", [2, 10, 10**18])
def test_shortfall_is_the_least_that_always_holds(weight: int, confidence: Fraction):
    """Against the worst scores there are: one good candidate, all others just out of reach."""
    mechanism = Exponential.of(1, NANO)
    s = mechanism.shortfall(weight, confidence)
    assert mechanism.pmf([0, -s - 1], 1, [1, weight - 1]) <= 1 - confidence
    assert s == 0 or mechanism.pmf([0, -s], 1, [1, weight - 1]) > 1 - confidence
    assert mechanism.shortfall(1, confidence) == 0


def test_shortfall_wants_a_confidence():
    for confidence in (0, 1, Fraction(3, 2)):
        with pytest.raises(InvalidMechanism):
            Exponential(1, NANO).shortfall(10, Fraction(confidence))


def test_a_coin_is_settled_by_further_words(scripted: Callable[..., Words]):
    lists = CandidateLists(Exponential(1, NANO), array(0, -3), array(2))
    coin = (3, int(lists._halvings[1]))  # of 188 binary digits
    low, _ = lists._chance(coin, 512)
    first, second = low >> 448, low >> 384 & 2**64 - 1
    cell = array(1)
    assert lists._near(cell, scripted(first - 1)).tolist() == [True]
    assert lists._near(cell, scripted(first + 1)).tolist() == [False]
    assert lists._near(cell, scripted(first, second - 1)).tolist() == [True]
    assert lists._near(cell, scripted(first, second + 1)).tolist() == [False]
    assert lists._near(cell, scripted(first, second, 0)).tolist() == [True]
    assert lists._near(cell, scripted(first, second, 2**64 - 1)).tolist() == [False]


def test_a_certain_coin_needs_no_further_words(scripted: Callable[..., Words]):
    lists = CandidateLists(Exponential(1, NANO), array(0, 0), array(2))
    assert lists._near(array(0), scripted(2**64 - 2)).tolist() == [True]
    assert lists._near(array(0), scripted(2**64 - 1, 2**64 - 1)).tolist() == [True]


def test_a_candidate_far_out_needs_its_zeros(scripted: Callable[..., Words]):
    """Proposals reach 60 halvings; a candidate 80 halvings out is kept once in 2**20 of its proposals."""
    lists = CandidateLists(Exponential(1, 10**6 * NANO), array(0, 0, -1), array(3), array(2**20, 1, 1))
    excess = int(lists._above[2]) - lists._room
    assert excess == 64 + 20 - 60
    assert np.diff(lists._sums).tolist() == [2**60, 2**40, 1]
    keep = [0] * 2  # the coin and the point; 24 bits follow
    assert lists._keep(array(2), scripted(*keep, 0))[1].tolist() == [True]
    assert lists._keep(array(2), scripted(*keep, 1))[1].tolist() == [False]


@pytest.mark.parametrize(
    "weights",
    [(1, -1, 1), (1, 1, 2**62 + 1), (0, 0, 1), (1, 2**63 - 1, 1)],
    ids=["negative", "more", "none", "most"],
)
def test_weights_that_no_proof_is_about_are_refused(weights: tuple[int, ...]):
    with pytest.raises(InvalidMechanism, match="weight"):
        CandidateLists(Exponential(1, NANO), array(0, 0, 0), array(2, 1), array(*weights))
    CandidateLists(Exponential(1, NANO), array(0, 0, 0), array(2, 1), array(0, 2**62, 1))


def test_scores_of_lists_are_held_as_those_of_one_are():
    far, least = 2**63 - 1, -(2**63)
    lists = CandidateLists(Exponential(1, NANO), array(far, least, 0, LARGEST_SCORE), array(4))
    assert lists._below.tolist() == [0, 2 * LARGEST_SCORE, LARGEST_SCORE, 0]


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("weights", [None, (4, 1, 0, 9, 3)], ids=["alike", "weighted"])
def test_draws_follow_the_law(
    mechanism: Exponential, weights: tuple[int, ...] | None, fits: Callable[..., bool]
):  # false alarm 1e-6 each, 18 of them, and for the points 2e-6 each
    scores, count = (0, 1, 5, 1, -1), 30_000
    held = None if weights is None else array(*weights)
    lists = CandidateLists(mechanism, array(*scores), array(5), held)
    cells, points = lists.draw(np.zeros(count, dtype=np.int64), os.urandom)
    law = [mechanism.pmf(scores, i, weights or ()) for i in range(5)]
    likely = [i for i in range(5) if law[i] * count > 8]
    counts = np.bincount(cells, minlength=5)
    assert counts.sum() - counts[likely].sum() < 60  # expected at most 32: false alarm below 1e-5
    assert len(likely) == 1 or fits(counts[likely], [law[i] / sum(law[j] for j in likely) for i in likely])
    if weights is not None:
        for cell in (0, 3):
            inside = np.bincount(points[cells == cell], minlength=weights[cell])
            assert inside.size == weights[cell]
            assert inside.sum() < 400 or fits(inside, [Fraction(1, weights[cell])] * weights[cell])


@pytest.mark.statistical
def test_lists_are_drawn_from_independently(fits: Callable[..., bool]):  # false alarm 2e-6
    mechanism, count = Exponential.of(1, NANO), 20_000
    chosen = mechanism.choose_each(np.tile(array(3, 1, 2, 0, 0), count), np.tile(array(3, 2), count)).reshape(
        count, 2
    )
    pairs = np.bincount(2 * chosen[:, 0] + chosen[:, 1], minlength=6)
    law = [mechanism.pmf([3, 1, 2], i) * mechanism.pmf([0, 0], j) for i in range(3) for j in range(2)]
    assert fits(pairs, law)


@pytest.mark.statistical
@pytest.mark.parametrize(("sensitivity", "nano"), [(1, NANO), (3, NANO // 2), (1, 3 * NANO)])
def test_opendp_chooses_the_same(sensitivity: int, nano: int, fits: Callable[..., bool]):
    """OpenDP's choices (the best after Gumbel noise) and ours, against our probabilities: false alarm 1e-6 each."""
    dp.enable_features("contrib")
    scores, size = [5, 4, 4, 6, 3, 6, 4, 5], 6_000
    mechanism = Exponential.of(sensitivity, nano)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    scale = float(Fraction(mechanism.spread * NANO, nano))
    theirs = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)
    drawn = mechanism.choose_each(np.tile(scores, size), np.full(size, len(scores)))
    law = [float(mechanism.pmf(scores, i)) for i in range(len(scores))]
    for chosen in ([theirs(scores) for _ in range(size)], drawn):
        assert fits(np.bincount(chosen, minlength=len(scores)).tolist(), law)


@pytest.mark.parametrize("cells", [(0, 0, 0, 0), (0, 1, 2, 3), (3, 3, 0, 0)])
def test_a_round_computes_as_much_whatever_it_proposes(
    cells: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
):
    """A likely distance is proposed more than once: computed once, it would make its round the shorter."""
    computed: list[int] = []
    climb = exponential._climb
    monkeypatch.setattr(
        exponential, "_climb", lambda ratio, far: (computed.append(far), climb(ratio, far))[1]
    )
    CandidateLists(Exponential(1, NANO), array(0, -1, -2, -3), array(4))._near(array(*cells), os.urandom)
    assert computed == list(cells)


@pytest.mark.statistical
def test_time_does_not_tell_the_choice():
    """Rank correlation of seconds and what was drawn, 2,000 draws: false alarm 1e-6 at 4.9 / sqrt(n)."""
    mechanism, scores = Exponential.of(1, NANO // 2), list(range(0, -50, -1))
    mechanism.choose(scores)
    seconds, chosen = [], []
    for _ in range(2_000):
        start = time.perf_counter()
        chosen.append(mechanism.choose(scores))
        seconds.append(time.perf_counter() - start)
    assert abs(spearmanr(seconds, chosen).statistic) < 4.9 / 2_000**0.5
