"""Several quantiles at once: their scores and joint law from the definition, their privacy, and their errors."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from msgspec.structs import replace

from udfs.mechanisms import quantiles
from udfs.mechanisms.levels import ONE
from udfs.mechanisms.quantile import Quantile
from udfs.mechanisms.quantiles import Quantiles, Split, _Cells
from udfs.privacy import LEAST_NANO, NANO, InvalidMechanism, Loss

TOP = 2
SMALL = [
    Quantiles(0, TOP, (1, 3), 4, 1, NANO, parts=2),
    Quantiles(0, TOP, (1, 2), 3, 1, NANO, parts=3),
    Quantiles(0, TOP, (1, 2), 3, 2, NANO, parts=2),
    Quantiles(0, TOP, (1, 2, 3), 4, 1, 2 * NANO, parts=2),
]
DATA = [data for size in range(4) for data in itertools.combinations_with_replacement(range(TOP + 1), size)]
CONFIDENCE = Fraction(39, 40)
Rows = Sequence[int]


def histogram(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    values, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return values, counts


def scores(mechanism: Quantiles, split: Split, rows: Rows, left: int, right: int) -> list[int]:
    """Of each point between two cuts: parts of rows counted one by one."""
    parts = [
        point
        for row in rows
        for point in range(row * mechanism.parts, (row + 1) * mechanism.parts)
        if left <= point < right
    ]
    a, b = split.aim.as_integer_ratio()
    aim = a * len(parts)
    return [-abs(b * sum(part < point for part in parts) - aim) for point in range(left, right)]


def found(mechanism: Quantiles, split: Split, rows: Rows, left: int, right: int) -> list[int]:
    """The same from the pieces that points are drawn from: how far each is below the best."""
    values, counts = histogram(rows)
    starts = values * mechanism.parts
    cells = _Cells(starts, starts + mechanism.parts, counts, np.zeros(values.size, dtype=np.int64))
    there = np.array([0])
    runs = mechanism._runs(split, cells, np.array([left]), np.array([right]), there)
    pieces = mechanism._pieces(split, runs)
    assert pieces.lengths.tolist() == [pieces.sizes.size]
    by_point = {
        start + direction * place: score - slope * place
        for score, size, slope, start, direction in zip(
            *(column.tolist() for column in pieces[:5]), strict=True
        )
        for place in range(size)
    }
    assert len(by_point) == sum(pieces.sizes)
    return [by_point[point] for point in range(left, right)]


def below_the_best(mechanism: Quantiles, split: Split, rows: Rows, left: int, right: int) -> list[int]:
    """Scores less the best one, as far as points are within reach."""
    listed = scores(mechanism, split, rows, left, right)
    far = 96 * -(-mechanism.spread(split) * NANO // mechanism.share)
    return [max(score - max(listed), -far) for score in listed]


def law(mechanism: Quantiles, rows: Rows) -> dict[tuple[int, ...], Fraction]:
    """The joint probability of all cuts, from the definition."""
    many = len(mechanism.numerators)
    laws = {(0, *[-1] * many, mechanism.points): Fraction(1)}
    for split in mechanism.splits:
        after = {}
        power = Fraction(mechanism.mechanism(split).ratio, ONE)
        for cuts, chance in laws.items():
            left, right = cuts[split.left], cuts[split.right]
            if left == right:
                after[*cuts[: split.place], left, *cuts[split.place + 1 :]] = chance
                continue
            listed = scores(mechanism, split, rows, left, right)
            masses = [power ** (max(listed) - s) for s in listed]
            for place, mass in enumerate(masses):
                key = (*cuts[: split.place], left + place, *cuts[split.place + 1 :])
                after[key] = chance * mass / sum(masses)
        laws = after
    return laws


def test_splits_take_as_many_levels_as_their_number_has_digits():
    for many, levels in ((1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (19, 5)):
        mechanism = Quantiles(0, 9, tuple(range(1, many + 1)), many + 1, 1, NANO)
        assert mechanism.levels == levels == max(split.level for split in mechanism.splits)
        assert sorted(split.place for split in mechanism.splits) == list(range(1, many + 1))
        assert mechanism.loss == Loss(NANO)


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_scores_are_those_of_the_definition(mechanism: Quantiles):
    for rows, split in itertools.product(DATA, mechanism.splits):
        for left, right in itertools.combinations(range(mechanism.points + 1), 2):
            expected = below_the_best(mechanism, split, rows, left, right)
            assert found(mechanism, split, rows, left, right) == expected


def test_scores_of_many_rows_are_those_of_the_definition():
    """Where a cell is cut into pieces, and as far as points beyond reach, which score alike."""
    mechanism = Quantiles(0, TOP, (1, 3), 4, 1, 5 * NANO, parts=64)
    rows = [0] * 9 + [1] * 30 + [2] * 2
    for split in mechanism.splits:
        expected = below_the_best(mechanism, split, rows, 5, 150)
        assert found(mechanism, split, rows, 5, 150) == expected
    for nano in (200 * NANO, 10**5 * NANO):
        mechanism = replace(mechanism, nano=nano)
        split = mechanism.splits[0]
        expected = below_the_best(mechanism, split, rows, 0, 192)
        assert min(expected) == -96 * -(-mechanism.spread(split) * NANO // mechanism.share)
        assert found(mechanism, split, rows, 0, 192) == expected


@pytest.mark.parametrize("many", [10**4, 10**8, 10**15])
@pytest.mark.parametrize("epsilon", [1, 10**5])
def test_many_rows_of_one_value_do_not_put_all_points_out_of_reach(many: int, epsilon: int):
    """No point splits them exactly: the nearest is farther off than what is within reach of the aim."""
    counts = [many + 7 * value % 13 * many // 20 for value in range(20)]
    cumulated = np.cumsum(np.array(counts, dtype=object))
    exactly = [int(np.searchsorted(cumulated, Fraction(n, 4) * cumulated[-1])) for n in (1, 2, 3)]
    mechanism = Quantiles(0, 19, (1, 2, 3), 4, 1, epsilon * NANO)
    assert mechanism.release(list(range(20)), counts) == exactly


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_no_unit_changes_a_probability_by_more_than_epsilon_allows(mechanism: Quantiles):
    """Every data set of up to 3 rows, every way to add up to ``rows``, and every way in which all cuts can fall."""
    worst = Fraction(1)
    laws = {rows: law(mechanism, rows) for rows in DATA}
    added = [rows for rows in DATA if 0 < len(rows) <= mechanism.rows]
    for rows, more in itertools.product(DATA, added):
        both = tuple(sorted(rows + more))
        if both in laws:
            ratios = [laws[rows][cuts] / laws[both][cuts] for cuts in laws[rows]]
            worst = max(worst, *ratios, *(1 / ratio for ratio in ratios))
    power = Fraction(1)
    for level in range(1, mechanism.levels + 1):
        power *= max(
            1 / Fraction(mechanism.mechanism(split).ratio, ONE) ** mechanism.spread(split)
            for split in mechanism.splits
            if split.level == level
        )
    assert 1 < worst <= power
    assert power <= Fraction(np.exp(mechanism.nano / NANO)) * (1 + Fraction(1, 10**9))


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_draws_follow_the_law(mechanism: Quantiles, fits: Callable[..., bool]):  # false alarm 1e-6 each
    rows, many = (0, 1, 1), 4000
    values, counts = (np.tile(column, many) for column in histogram(rows))
    drawn = mechanism.release_each(values, counts, np.full(many, 2))
    expected: Counter[tuple[int, ...]] = Counter()
    for cuts, chance in law(mechanism, rows).items():
        expected[tuple(min(c, mechanism.points - 1) // mechanism.parts for c in cuts[1:-1])] += chance
    shown = Counter(map(tuple, drawn.tolist()))
    cells = sorted(expected)
    assert set(shown) <= set(cells)
    assert fits(np.array([shown[cell] for cell in cells]), [expected[cell] for cell in cells])


def test_quantiles_come_in_order_and_within_bounds():
    mechanism = Quantiles(-7, 9, (1, 2, 3, 4, 5, 6), 7, 1, NANO)
    for values, counts in (
        ([], []),
        ([3], [50]),
        ([-(10**30), 0, 10**30], [2**70, 1, 2**70]),
        ([9, -7], [1, -5]),
    ):
        for _ in range(20):
            drawn = mechanism.release(values, counts)
            assert drawn == sorted(drawn)
            assert -7 <= drawn[0] <= drawn[-1] <= 9


def test_rows_of_one_value_are_shared_among_both_sides():
    """Half of all rows are 40, which is the middle quantile: both sides keep their ranks."""
    values, counts = np.array([10, 30, 40, 60, 90]), np.array([2000, 1000, 6000, 1000, 2000])
    assert Quantiles(0, 99, (4, 6, 8), 12, 1, 100 * NANO).release(values, counts) == [40, 40, 40]
    assert Quantiles(0, 99, (1, 6, 11), 12, 1, 100 * NANO).release(values, counts) == [10, 40, 90]


@pytest.mark.statistical
def test_ranks_are_within_the_error_that_is_stated():
    """Of 400 draws; false alarm: 40 or more of 20 expected, 1e-5 if each just kept to it."""
    data = np.random.default_rng(5).integers(0, 60000, 1000)
    values, counts = histogram(data)
    mechanism = Quantiles(0, 65535, tuple(range(1, 10)), 10, 1, NANO)
    allowed = np.array(mechanism.rank_errors(Fraction(19, 20)))
    drawn = mechanism.release_each(np.tile(values, 400), np.tile(counts, 400), np.full(400, values.size))
    below = np.searchsorted(np.sort(data), drawn, side="left")
    upto = np.searchsorted(np.sort(data), drawn, side="right")
    aims = np.arange(1, 10) * 100
    off = np.maximum(np.maximum(below - aims, aims - upto), 0)
    assert ((off > allowed).sum(axis=0) < 40).all()


def worst(mechanism: Quantiles, place: int, chance: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows among which the splits that a quantile follows from are all off by nearly the most, with about that chance.

    Above the aim of each, moved by the errors of those before, is a gap that holds its share of all points; below it
    are so many rows of one value that one of their points is at the aim, and the next as far below it as the gap above.
    """
    of, way = {split.place: split for split in mechanism.splits}, set[int]()
    left = [place]
    while left:
        if (split := of.get(left.pop())) is not None:
            way.add(split.place)
            left += [split.left, split.right]
    gap = mechanism.points // mechanism.parts // len(way) - 3
    each = chance ** (1 / len(way))
    folds = np.log(gap * mechanism.parts) + np.log((1 - each) / each)
    off = {0: 0.0, len(mechanism.numerators) + 1: 0.0}
    own = {split: round(mechanism.fold(of[split]) * folds) for split in way}
    for split in mechanism.splits:
        if split.place in way:
            before = (1 - split.aim) * Fraction(off[split.left]) + split.aim * Fraction(off[split.right])
            off[split.place] = float(before) + own[split.place]
    apart, done, values, counts = 2048 * max(own.values()), 0, list[int](), list[int]()
    for number, split in enumerate(sorted(way)):
        end = round(split * apart + off[split])
        values += [number * (gap + 2), number * (gap + 2) + 1]
        counts += [end - 1024 * own[split] - done, 1024 * own[split]]
        done = end
    return (
        np.array([*values, mechanism.high]),
        np.array([*counts, apart * mechanism.denominator - done]),
    )


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("many", "place", "high", "chance"),
    [
        (3, 1, 99, 0.055),
        (3, 2, 99, 0.07),
        (5, 2, 99, 0.03),
        (9, 3, 99, 0.03),
        (9, 4, 99, 0.03),
        (9, 4, 65535, 0.05),
        (19, 8, 99, 0.05),
        (19, 9, 99, 0.05),
        (19, 9, 65535, 0.05),
    ],
)
def test_the_error_that_is_stated_is_near_the_least_that_holds_whatever_the_rows_are(
    many: int, place: int, high: int, chance: float
):
    """Three tenths above at most: of 2,000 draws 5 % are that far off; of the 7 % or more that are expected, under 5 %
    are once in 10**4 times or less.
    """
    mechanism = Quantiles(0, high, tuple(range(1, many + 1)), many + 1, 1, NANO)
    values, counts = worst(mechanism, place, chance)
    drawn = mechanism.release_each(np.tile(values, 2000), np.tile(counts, 2000), np.full(2000, values.size))[
        :, place - 1
    ]
    ranks = np.concatenate([[0], np.cumsum(counts)])
    below, upto = (ranks[np.searchsorted(values, drawn, side=side)] for side in ("left", "right"))
    aim = place * int(counts.sum()) / mechanism.denominator
    off = np.maximum(np.maximum(below - aim, aim - upto), 0)
    stated = mechanism.rank_errors(Fraction(19, 20))[place - 1]
    assert float(np.mean(off > stated)) < 0.075
    assert float(np.quantile(off, 0.95)) >= stated / 1.3


@pytest.mark.parametrize("scales", [(1.0, 1.0), (1.0, 0.3), (0.3, 1.0)])
@pytest.mark.parametrize("points", [1024, 20_000])
def test_nested_splits_keep_to_their_bound_against_any_scores(scales: tuple[float, float], points: int):
    """Two splits, the second below the first: each way to share what is stated among both, chances added up exactly.

    The score of each point of the first is as high as with that of the second makes an error beyond what is stated.
    """
    first, second = scales
    stated, below, most = quantiles._nested(scales, points, 0.05), np.arange(points), 0.0
    for share in np.linspace(0, 1, 41):
        for spare in (0.0, 0.5, 1.0, second / (first + second)):
            near = share * stated / second + spare * np.log(np.maximum(below, 1) / points)
            near = np.maximum(near, 0)
            far = np.maximum(stated - second * near, 0) / first
            chances = np.exp(-far)
            others = np.maximum(below - 1, 0) * np.exp(-near)
            beyond = float(chances @ (others / (1 + others)))
            most = max(most, beyond / (1 + float(chances.sum())))  # 1 is of a point that is near
    assert 0.01 < most <= 0.05


@pytest.mark.parametrize("scales", [(1.0,), (1.0, 1.0), (1.0, 0.5, 0.25), (3.0, 3.0, 2.0, 0.1)])
@pytest.mark.parametrize("missed", [0.5, 0.05, 1e-9])
def test_sums_of_logistic_numbers_are_at_most_what_is_said(scales: tuple[float, ...], missed: float):
    """Against the tail by a far finer sum, cut at 120, at the middle of its cells."""
    found = quantiles.logistic_sum(scales, missed, 8)
    step = 0.05
    places = np.arange(-2400, 2401) * step
    law, lowest = np.ones(1), 0.0
    for scale in scales:
        tails = 1 / (1 + np.exp(np.clip((places - step / 2) / scale, -700, 700)))
        law, lowest = np.convolve(law, np.append(tails[:-1] - tails[1:], tails[-1])), lowest + places[0]
    tail = 1 - np.cumsum(law)
    assert tail[round((found - lowest) / step) + 2] <= missed * 1.01 + 1e-12
    assert found <= sum(scales) * np.log(len(scales) / missed)


@pytest.mark.statistical
def test_they_are_nearer_than_as_many_single_ones_for_the_same_epsilon():
    """By the mean square of 60 draws of nine each: 2.2 times nearer; under 1.5 is beyond 6 deviations."""
    many, rows = 60, 3000
    data = np.sort(np.random.default_rng(3).integers(0, 65536, rows))
    values, counts = (np.tile(column, many) for column in histogram(data))
    lengths, numerators = np.full(many, values.size // many), np.arange(1, 10)

    def error(drawn: np.ndarray) -> float:
        below, upto = (np.searchsorted(data, drawn, side=side) for side in ("left", "right"))
        aim = numerators * rows / 10
        return float(np.mean(np.maximum(np.maximum(below - aim, aim - upto), 0) ** 2))

    joint = Quantiles(0, 65535, tuple(numerators.tolist()), 10, 1, NANO)
    single = [Quantile(0, 65535, n, 10, 1, NANO // 9) for n in numerators.tolist()]
    alone = np.column_stack([one.release_each(values, counts, lengths) for one in single])
    assert error(alone) > 1.5**2 * error(joint.release_each(values, counts, lengths))


@pytest.mark.parametrize(
    "parameters",
    [
        (9, 0, (1, 2), 3, 1, NANO),
        (0, 2**53, (1, 2), 3, 1, NANO),
        (0, 9, (), 3, 1, NANO),
        (0, 9, (2, 1), 3, 1, NANO),
        (0, 9, (1, 1), 3, 1, NANO),
        (0, 9, (0, 1), 3, 1, NANO),
        (0, 9, (1, 3), 3, 1, NANO),
        (0, 9, (1, 2), 10**4 + 1, 1, NANO),
        (0, 9, (1, 2), 3, 0, NANO),
        (0, 9, (1, 2), 3, 2**40, NANO),
        (0, 9, (1, 2), 3, 1, 2 * LEAST_NANO - 1),
    ],
)
def test_parameters_outside_their_range_are_refused(
    parameters: tuple[int, int, tuple[int, ...], int, int, int],
):
    with pytest.raises(InvalidMechanism):
        Quantiles(*parameters)


def test_a_histogram_needs_as_many_values_as_counts():
    with pytest.raises(InvalidMechanism):
        Quantiles(0, 9, (1, 2), 3, 1, NANO).release([1, 2], [1])
