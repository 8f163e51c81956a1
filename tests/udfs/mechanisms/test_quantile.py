"""Quantiles: their scores and law from the definition, their privacy, their errors in rank, and their draws."""

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import spearmanr

from udfs.mechanisms.levels import ONE
from udfs.mechanisms.quantile import FARTHEST, OUTSIDE, Quantile
from udfs.privacy import LEAST_NANO, NANO, InvalidMechanism, Loss

TOP = 3
SHAPES = [(0, 1, 0), (1, 1, 0), (1, 2, 0), (1, 4, 0), (9, 10, 0), (0, 1, 2), (3, 3, 1)]
"""Quantile and rows inside."""
SMALL = [Quantile(0, TOP, a, b, rows, NANO, inside) for a, b, inside in SHAPES for rows in (1, 2)]
DATA = [data for size in range(5) for data in itertools.combinations_with_replacement(range(TOP + 1), size)]


def histogram(rows: Sequence[int]) -> tuple[list[int], list[int]]:
    counted = Counter(rows)
    return sorted(counted), [counted[value] for value in sorted(counted)]


def score(mechanism: Quantile, rows: Sequence[int], point: int) -> Fraction:
    """How many rows the point is off, counted one by one; negative."""
    rank = Fraction(mechanism.numerator, mechanism.denominator) * len(rows)
    rank += mechanism.inside if not mechanism.numerator else -mechanism.inside
    least, most = sum(row < point for row in rows), sum(row <= point for row in rows)
    return -max(Fraction(0), least - rank, rank - most)


def law(mechanism: Quantile, rows: Sequence[int]) -> list[Fraction]:
    """The probabilities of all points from the definition."""
    power, steps = Fraction(mechanism.mechanism.ratio, ONE), mechanism.fraction[1]
    scores = [score(mechanism, rows, x) * steps for x in range(mechanism.low, mechanism.high + 1)]
    masses = [power ** int(max(scores) - s) for s in scores]
    return [mass / sum(masses) for mass in masses]


def pmf(mechanism: Quantile, rows: Sequence[int]) -> list[Fraction]:
    return [mechanism.pmf(*histogram(rows), x) for x in range(mechanism.low, mechanism.high + 1)]


@pytest.mark.parametrize("mechanism", [m for m in SMALL if m.rows == 1], ids=str)
def test_the_law_is_that_of_the_definition(mechanism: Quantile):
    for rows in DATA:
        assert pmf(mechanism, rows) == law(mechanism, rows)
        assert sum(law(mechanism, rows)) == 1


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_no_unit_changes_a_probability_by_more_than_epsilon_allows(mechanism: Quantile):
    """Every data set of up to 4 rows, and every way to add up to ``rows`` of them."""
    worst = Fraction(0)
    laws = {rows: law(mechanism, rows) for rows in DATA}
    added = [rows for rows in DATA if 0 < len(rows) <= mechanism.rows]
    for rows, more in itertools.product(DATA, added):
        both = tuple(sorted(rows + more))
        if both in laws:
            ratios = [p / r for p, r in zip(laws[rows], laws[both], strict=True)]
            worst = max(worst, *ratios, *(1 / ratio for ratio in ratios))
    limit = 1 / Fraction(mechanism.mechanism.ratio, ONE) ** mechanism.spread
    assert 1 < worst <= limit


@pytest.mark.parametrize("mechanism", [m for m in SMALL if m.rows == 1], ids=str)
def test_the_spread_is_tight(mechanism: Quantile):
    """Some row moves two points' scores that far apart: no less of a spread would be private."""
    widest = Fraction(0)
    sizes = range(12) if mechanism.denominator == 10 else range(5)
    some = [(value,) * size for size in sizes for value in range(TOP + 1)]
    for rows, row in itertools.product([*DATA, *some], range(TOP + 1)):
        moves = [score(mechanism, (*rows, row), x) - score(mechanism, rows, x) for x in range(TOP + 1)]
        widest = max(widest, max(moves) - min(moves))
    assert widest * mechanism.fraction[1] == mechanism.spread


def test_the_spread_of_extremes_is_half():
    """They only fall as rows are added, so that all scores move the same way."""
    for numerator in (0, 5):
        mechanism = Quantile(0, TOP, numerator, 5, 3, NANO)
        assert mechanism.spread == 3
        for rows, row in itertools.product(DATA, range(TOP + 1)):
            moves = [score(mechanism, (*rows, row), x) - score(mechanism, rows, x) for x in range(TOP + 1)]
            assert max(moves) <= 0


def test_ties_have_all_their_ranks():
    """Of 90 rows at 1 and 100 at 2 the median is 2, although no row but its own stands in its way."""
    mechanism = Quantile(0, TOP, 1, 2, 1, NANO)
    probabilities = [mechanism.pmf([1, 2], [90, 100], x) for x in range(TOP + 1)]
    assert probabilities[2] > Fraction(9, 10)


def test_no_rows_are_answered_by_any_point():
    mechanism = Quantile(-5, 4, 1, 3, 1, NANO)
    assert {mechanism.pmf([], [], x) for x in range(-5, 5)} == {Fraction(1, 10)}
    assert mechanism.pmf([], [], 5) == mechanism.pmf([], [], -6) == 0
    assert {mechanism.release([], []) for _ in range(300)} == set(range(-5, 5))  # false alarm 2e-13


@pytest.mark.parametrize(
    ("values", "counts"),
    [([7, -9, 3, 3, 1], [1, 1, 1, 2, 0]), ([-(10**30), 3, 10**30], [1, 3, 1]), ([0, 1, 3], [1, -4, 4])],
)
def test_any_histogram_is_read(values: list[int], counts: list[int]):
    """Unordered, repeated, outside the bounds, with counts of nothing or less."""
    mechanism = Quantile(0, TOP, 1, 2, 1, NANO)
    rows = [
        min(max(value, 0), TOP)
        for value, count in zip(values, counts, strict=True)
        for _ in range(max(count, 0))
    ]
    assert [mechanism.pmf(values, counts, x) for x in range(TOP + 1)] == law(mechanism, rows)


def test_counts_may_be_as_large_as_they_like():
    mechanism = Quantile(0, 10, 1, 2, 1, NANO)
    assert mechanism.release([2, 7, 8], [10**30, 10**30, 1]) in (2, 3, 4, 5, 6, 7)
    assert Quantile(0, 10, 1, 1, 1, NANO).release([2, 7, 9], [2**62, 2**62, 2**62]) >= 9
    assert mechanism.release(np.array([3]), np.array([2**62])) == 3


def test_lists_are_read_as_each_alone():
    mechanism = Quantile(0, 20, 9, 10, 2, NANO)
    each = [([3, 5, 20], [1, 2, 3]), ([], []), ([0], [4]), ([7, 2, 7], [1, 1, 1])]
    flat = [np.array(list(itertools.chain(*column)), dtype=np.int64) for column in zip(*each, strict=True)]
    together = mechanism._cells(*flat, np.array([len(values) for values, _ in each]))
    alone = [
        mechanism._cells(
            np.array(values, dtype=np.int64), np.array(counts, dtype=np.int64), np.array([len(values)])
        )
        for values, counts in each
    ]
    for parts, whole in zip(zip(*alone, strict=True), together, strict=True):
        assert np.concatenate(parts).tolist() == whole.tolist()
    assert mechanism.release_each(*flat, np.array([3, 0, 1, 3])).shape == (4,)
    empty = np.array([], dtype=np.int64)
    assert mechanism.release_each(empty, empty, empty).tolist() == []


def test_a_histogram_needs_as_many_values_as_counts():
    with pytest.raises(InvalidMechanism):
        Quantile(0, 1, 1, 2, 1, NANO).release([77123, 3], [1])


@pytest.mark.parametrize(
    "mechanism", [Quantile(0, 40, a, b, 1, NANO) for a, b, inside in SHAPES if b < 10 and not inside], ids=str
)
@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(95, 100)])
def test_rank_errors_hold(mechanism: Quantile, confidence: Fraction):
    most = mechanism.rank_error(confidence)
    for rows in [range(41), [3] * 30 + [4, 39], [0] * 9 + [40] * 9, [20] * 40, [], [7]]:
        probabilities = zip(range(41), pmf(mechanism, rows), strict=True)
        assert sum(p for x, p in probabilities if -score(mechanism, rows, x) <= most) >= confidence


def test_rank_errors_of_a_median_by_number():
    assert Quantile(0, 10**6, 1, 2, 1, NANO).rank_error(Fraction(95, 100)) == 17
    assert Quantile(0, 10**6, 1, 2, 1, NANO // 10).rank_error(Fraction(95, 100)) == 168
    assert Quantile(7, 7, 1, 2, 1, NANO).rank_error(Fraction(95, 100)) == 0


@pytest.mark.parametrize("numerator", [0, 1])
def test_an_inner_extreme_is_rarely_beyond_all_rows(numerator: int):
    low, high, at = 0, 10**9, 12_345
    mechanism = Quantile.inner(low, high, numerator, 1, NANO)
    assert mechanism.spread == 2
    assert 1 - mechanism.pmf([at], [2 * mechanism.inside], at) <= OUTSIDE
    assert mechanism.rank_error(Fraction(95, 100)) == 2 * mechanism.inside - 1
    plain = Quantile(low, high, numerator, 1, 1, NANO)
    assert plain.pmf([at], [2 * mechanism.inside], at) < Fraction(1, 10**4)  # whose rank is as good


@pytest.mark.parametrize(
    "wrong",
    [
        {"low": 1, "high": 0},
        {"high": FARTHEST + 1},
        {"low": -FARTHEST - 1},
        {"numerator": -1},
        {"numerator": 3},
        {"denominator": 0},
        {"denominator": 10**6 + 1},
        {"rows": 0},
        {"rows": 2**41},
        {"nano": LEAST_NANO - 1},
        {"inside": 1},
        {"numerator": 0, "inside": -1},
        {"numerator": 0, "inside": 2**60},
    ],
)
def test_what_is_out_of_range_is_refused(wrong: dict[str, int]):
    right = {"low": 0, "high": 1, "numerator": 1, "denominator": 2, "rows": 1, "nano": NANO}
    assert Quantile(**right).loss == Loss(NANO)
    with pytest.raises(InvalidMechanism):
        Quantile(**(right | wrong))


def test_the_widest_lattice():
    mechanism = Quantile(-FARTHEST, FARTHEST, 1, 2, 1, NANO)
    rows = range(-500, 500)
    drawn = [mechanism.release(list(rows), [1] * 1000) for _ in range(20)]
    error = mechanism.rank_error(1 - Fraction(1, 10**11))  # false alarm 2e-10
    assert max(abs(value) for value in drawn) <= error + 1


def test_many_values_are_quick(work: Callable[[float], AbstractContextManager[None]]):
    values = np.arange(65_536) * 1000
    counts = np.ones(65_536, dtype=np.int64)
    mechanism = Quantile(0, 2**30, 19, 20, 1, NANO)
    mechanism.release(values, counts)
    with work(0.5):  # twenty times what it takes
        for _ in range(5):
            mechanism.release(values, counts)


@pytest.mark.statistical
@pytest.mark.parametrize(("numerator", "denominator", "inside"), SHAPES)
def test_draws_follow_the_law(
    numerator: int, denominator: int, inside: int, fits: Callable[..., bool]
):  # false alarm 1e-6 each, 7 of them
    mechanism, count = Quantile(-3, 9, numerator, denominator, 1, 2 * NANO, inside), 20_000
    values, counts = histogram([-3, -1, -1, 0, 4, 4, 4, 5, 9])
    drawn = mechanism.release_each(
        np.tile(values, count), np.tile(counts, count), np.full(count, len(values)), os.urandom
    )
    probabilities = [mechanism.pmf(values, counts, x) for x in range(-3, 10)]
    likely = [i for i, p in enumerate(probabilities) if p * count > 8]
    found = np.bincount(drawn + 3, minlength=13)
    assert found.size == 13
    assert found.sum() - found[likely].sum() < 250  # expected at most 104: false alarm below 1e-30
    assert fits(found[likely], [probabilities[i] / sum(probabilities[j] for j in likely) for i in likely])


@pytest.mark.statistical
def test_time_does_not_tell_the_answer():
    """Rank correlation of seconds and what was drawn, 1,000 draws: false alarm 1e-6 at 4.9 / sqrt(n)."""
    mechanism = Quantile(0, 10**6, 1, 2, 1, NANO // 100)
    values, counts = np.arange(500) * 100, np.ones(500, dtype=np.int64)
    mechanism.release(values, counts)
    seconds, drawn = [], []
    for _ in range(1_000):
        start = time.perf_counter()
        drawn.append(mechanism.release(values, counts))
        seconds.append(time.perf_counter() - start)
    assert abs(spearmanr(seconds, drawn).statistic) < 4.9 / 1_000**0.5
