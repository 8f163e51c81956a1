"""Bounds of quantiles: their scores and law from the definition, their privacy, what they hold, and their draws."""

import itertools
import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction

import numpy as np
import pytest

from udfs.mechanisms.bounds import GROWTH, QuantileBounds
from udfs.mechanisms.levels import ONE
from udfs.mechanisms.quantile import FARTHEST, Quantile
from udfs.privacy import NANO, InvalidMechanism, Loss

TOP = 3
SURE = Fraction(19, 20)
FRACTIONS = [(0, 1), (1, 1), (1, 2), (3, 4), (1, 10)]
SMALL = [
    QuantileBounds(Quantile(0, TOP, a, b, rows, 3 * NANO), SURE) for a, b in FRACTIONS for rows in (1, 2)
]
DATA = [data for size in range(4) for data in itertools.combinations_with_replacement(range(TOP + 1), size)]
Ends = tuple[int, int]


def histogram(rows: Sequence[int]) -> tuple[list[int], list[int]]:
    counted = Counter(rows)
    return sorted(counted), [counted[value] for value in sorted(counted)]


def reach(mechanism: QuantileBounds, point: int) -> list[Ends]:
    """What each distance reaches: of a minimum the lower bound is that of all points, of a maximum the upper one."""
    of = mechanism.of
    a, b = of.fraction
    return [
        (max(of.low, point - far) if a else of.low, min(of.high, point + far) if a < b else of.high)
        for far in mechanism.distances[0]
    ]


def margin(mechanism: QuantileBounds, rows: Sequence[int], ends: Ends) -> Fraction | float:
    """How many rows the rank of the quantile is from those of points outside, counted one by one."""
    of, (low, high) = mechanism.of, ends
    rank = Fraction(of.numerator, of.denominator) * len(rows)
    below = rank - sum(row < low for row in rows) if low > of.low else float("inf")
    above = sum(row <= high for row in rows) - rank if high < of.high else float("inf")
    return min(below, above)


def law(mechanism: QuantileBounds, rows: Sequence[int], point: int) -> dict[Ends, Fraction]:
    """The probabilities of all bounds from the definition."""
    power, (_, b) = Fraction(mechanism.mechanism.ratio, ONE), mechanism.of.fraction
    masses: dict[Ends, Fraction] = {}
    before = -float("inf")
    for ends, weight in zip(reach(mechanism, point), mechanism.distances[1], strict=True):
        now = margin(mechanism, rows, ends)
        off = max(mechanism.aim - b * now, b * before - mechanism.aim, 0)
        masses[ends] = masses.get(ends, Fraction(0)) + (
            weight * power ** int(off) if off < float("inf") else 0
        )
        before = now
    return {ends: mass / sum(masses.values()) for ends, mass in masses.items()}


@pytest.mark.parametrize("mechanism", [m for m in SMALL if m.of.rows == 1], ids=str)
def test_the_law_is_that_of_the_definition(mechanism: QuantileBounds):
    for rows, point in itertools.product(DATA, range(TOP + 1)):
        found = mechanism.pmf(*histogram(rows), point)
        assert sum(found.values()) == 1
        expected = law(mechanism, rows, point)
        assert all(abs(found[ends] - share) < Fraction(1, 10**30) for ends, share in expected.items())


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_no_unit_changes_a_probability_by_more_than_epsilon_allows(mechanism: QuantileBounds):
    """Every data set of up to 3 rows, and every way to add up to ``rows`` of them, around every point."""
    limit, worst = 1 / Fraction(mechanism.mechanism.ratio, ONE) ** mechanism.mechanism.spread, Fraction(0)
    added = [rows for rows in DATA if 0 < len(rows) <= mechanism.of.rows]
    for point in range(TOP + 1):
        laws = {rows: law(mechanism, rows, point) for rows in DATA}
        for rows, more in itertools.product(DATA, added):
            both = laws.get(tuple(sorted(rows + more)))
            for ends, share in laws[rows].items() if both else ():
                if share or both[ends]:
                    worst = max(worst, share / both[ends], both[ends] / share)
    assert 1 < worst <= limit


def chances(
    mechanism: QuantileBounds, values: Sequence[int], counts: Sequence[int], point: int
) -> list[tuple[Ends, float]]:
    """As ``pmf``, in floating point: rows may be many."""
    given = (np.array(each, dtype=np.int64) for each in (values, counts, [len(values)], [point]))
    [scores], [weights], [ends] = mechanism._scores(*given)
    logs = np.where(weights > 0, scores * -math.log(mechanism.mechanism.ratio / ONE), -np.inf)
    masses = weights * np.exp(logs - logs.max())
    return [((low, high), p) for (low, high), p in zip(ends.tolist(), masses / masses.sum(), strict=True)]


def ranked(mechanism: QuantileBounds, rows: Sequence[int]) -> list[int]:
    """The rows that a quantile may be read as, or between."""
    of, last = mechanism.of, len(rows) - 1
    share = Fraction(of.numerator, of.denominator)
    places = {
        math.floor(share * last),
        math.ceil(share * last),
        max(0, min(last, math.ceil(share * len(rows)) - 1)),
    }
    return [sorted(rows)[place] for place in places]


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("nano", [NANO // 10, NANO, 20 * NANO])
@pytest.mark.parametrize("confidence", [Fraction(1, 2), SURE, Fraction(999, 1000)])
def test_they_hold_the_quantile_whatever_the_rows_and_the_point(
    fraction: tuple[int, int], nano: int, confidence: Fraction
):
    mechanism = QuantileBounds(Quantile(0, 40, *fraction, 1, nano), confidence)
    for rows in [range(41), [3] * 300 + [4, 39], [0] * 9 + [40] * 9, [20] * 40, [7], [0, 39] * 50, [1] * 99]:
        values = ranked(mechanism, list(rows))
        for point in (0, 1, 7, 20, 39, 40):
            found = chances(mechanism, *histogram(rows), point)
            held = sum(p for (low, high), p in found if low <= min(values) and max(values) <= high)
            assert held >= confidence, (rows, point)


def test_no_smaller_aim_would_hold():
    """Of rows between which there is no point: all shorter distances are beyond, as far as they can just be."""
    mechanism = QuantileBounds(Quantile(0, 2**20, 1, 2, 1, NANO // 100), SURE)
    found = chances(mechanism, [0, 2**20], [mechanism.aim, mechanism.aim - 2], 2**20 - 4)
    missed = sum(p for (low, _), p in found if low > 0)
    assert 1 - SURE > missed > Fraction(2, 3) * (1 - SURE)


@pytest.mark.parametrize("high", [0, 1, 7, 1000, 65535, FARTHEST])
def test_shorter_distances_weigh_little_and_the_last_reaches_all(high: int):
    farther, weights = QuantileBounds(Quantile(0, high, 1, 2, 1, NANO), SURE).distances
    assert farther[-1] == high
    assert len(farther) < 5 + 6 * high.bit_length() / 2
    for place, weight in enumerate(weights):
        assert sum(weights[:place]) <= GROWTH * weight
        assert not place or farther[place - 1] < farther[place] <= farther[place - 1] * 4 // 3 + 1


def test_rows_that_lie_dense_have_short_bounds():
    """Beside the same, shifted in a domain a thousand times as wide: as short."""
    for high in (10**4, 10**7):
        mechanism = QuantileBounds(Quantile(0, high, 1, 2, 1, NANO), SURE)
        rows = np.arange(2000, 8000)
        found = chances(mechanism, rows.tolist(), [1] * rows.size, 5000)
        assert sum(p for (low, upper), p in found if upper - low <= 2 * 15) > SURE


def test_lists_are_read_as_each_alone():
    mechanism = QuantileBounds(Quantile(0, 20, 9, 10, 2, NANO), SURE)
    each = [([], []), ([3, 5, 20], [1, 2, 3]), ([], []), ([0], [4]), ([7, 2, 7], [1, 2**62, 1])]
    values, counts = (
        np.array(list(itertools.chain(*column)), dtype=np.int64) for column in zip(*each, strict=True)
    )
    points, lengths = np.array([4, 5, 20, 0, 30]), np.array([0, 3, 0, 1, 3])
    together = mechanism._scores(values, counts, lengths, points)
    for place, (own, many) in enumerate(each):
        alone = mechanism._scores(
            np.array(own, dtype=np.int64), np.array(many, dtype=np.int64), lengths[[place]], points[[place]]
        )
        for part, whole in zip(alone, together, strict=True):
            assert part[0].tolist() == whole[place].tolist()
    assert mechanism.release_each(values, counts, lengths, points).shape == (5, 2)
    empty = np.array([], dtype=np.int64)
    assert mechanism.release_each(empty, empty, empty, empty).tolist() == []


@pytest.mark.parametrize(
    ("values", "counts"),
    [([4, -9, 3, 3, 1], [1, 1, 1, 2, 0]), ([-(10**30), 3, 10**30], [1, 3, 1]), ([0, 1, 3], [1, -4, 4])],
)
def test_any_histogram_is_read(values: list[int], counts: list[int]):
    """Unordered, repeated, outside the bounds, with counts of nothing or less."""
    mechanism = SMALL[4]
    rows = [
        min(max(value, 0), TOP)
        for value, count in zip(values, counts, strict=True)
        for _ in range(max(count, 0))
    ]
    for point in (-3, 2, 9):
        expected = mechanism.pmf(*histogram(rows), max(0, min(TOP, point)))
        assert mechanism.pmf(values, counts, point) == expected


def test_what_is_out_of_range_is_refused():
    right = Quantile(0, 9, 1, 2, 1, NANO)
    assert QuantileBounds.around(Quantile.inner(0, 9, 1, 1, NANO), SURE).loss == Loss(NANO)
    for of, confidence in [
        (Quantile(0, 9, 0, 1, 1, NANO, inside=1), SURE),
        (Quantile(-FARTHEST, FARTHEST, 1, 2, 1, NANO), SURE),
        (right, Fraction(0)),
        (right, Fraction(1)),
    ]:
        with pytest.raises(InvalidMechanism):
            QuantileBounds(of, confidence)
    with pytest.raises(InvalidMechanism):
        QuantileBounds(right, SURE).release([77123, 3], [1], 5)
    with pytest.raises(InvalidMechanism):
        QuantileBounds(right, SURE).release_each(
            *np.zeros((3, 1), dtype=np.int64), np.zeros(2, dtype=np.int64)
        )


def test_many_values_are_quick(work: Callable[[float], AbstractContextManager[None]]):
    values, counts = np.arange(65_536), np.ones(65_536, dtype=np.int64)
    mechanism = QuantileBounds(Quantile(0, 65_535, 19, 20, 1, NANO), SURE)
    mechanism.release(values, counts, 7)
    with work(0.5):
        for _ in range(5):
            mechanism.release(values, counts, 60_000)


@pytest.mark.statistical
@pytest.mark.parametrize(("numerator", "denominator"), FRACTIONS)
def test_draws_follow_the_law(
    numerator: int, denominator: int, fits: Callable[..., bool]
):  # false alarm 1e-6 each, 5 of them
    mechanism, count = QuantileBounds(Quantile(-3, 9, numerator, denominator, 1, NANO // 4), SURE), 20_000
    values, counts = histogram([-3, -1, -1, 0, *[4] * 9, 5, 6, 9])
    drawn = mechanism.release_each(
        np.tile(values, count),
        np.tile(counts, count),
        np.full(count, len(values)),
        np.full(count, 4),
        os.urandom,
    )
    shares, found = mechanism.pmf(values, counts, 4), Counter(map(tuple, drawn.tolist()))
    assert set(found) <= set(shares)
    likely = [ends for ends, p in shares.items() if p * count > 8]
    assert (
        count - sum(found[ends] for ends in likely) < 250
    )  # expected at most 8 of each: false alarm below 1e-30
    whole = sum(shares[ends] for ends in likely)
    assert fits(np.array([found[ends] for ends in likely]), [shares[ends] / whole for ends in likely])
