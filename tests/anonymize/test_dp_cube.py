"""Cubes: what they cost, the law of their noise, how far one unit moves what is drawn for, and what is made of it."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpproxy.anonymize import dp_cube
from dpproxy.anonymize.dp_cube import FARTHEST, Figure, Shape, coarser, fit, marginals, planned, tables
from dpproxy.anonymize.model import (
    Anonymized,
    Attribute,
    Categories,
    InvalidOption,
    OptionValue,
    Progress,
    Table,
    ViewBuild,
    ViewRequest,
    silent,
)
from dpproxy.anonymize.strategies import Axis
from tests.anonymize.audited import least_epsilon
from tests.words import same_words
from udfs.mechanisms import Gaussian
from udfs.privacy import NANO, Loss
from udfs.randomness import Words

SHAPE = Shape((Axis(3), Axis(13, ordered=True), Axis(2)), (1, 250), 2)
FIGURES = (
    Figure("count", (Fraction(1), Fraction(0)), 6),
    Figure("total", (Fraction(250), Fraction(1)), 3),
)
NONE = Fraction(0)


def request(shape: Shape = SHAPE, **options: OptionValue) -> ViewRequest:
    attributes = tuple(Attribute(f"d{i}", Categories(a.cells, a.ordered)) for i, a in enumerate(shape.axes))
    return ViewRequest(attributes, {"epsilon": 1, **options})


def built(shape: Shape = SHAPE, **options: OptionValue) -> ViewBuild:
    return dp_cube.check(request(shape, **options), shape, FIGURES)


def cells(shape: Shape, filled: dict[tuple[int, ...], tuple[int, ...]]) -> Table:
    """The table of some cells, measures as their column has them."""
    rows = [[*place, *(m + FARTHEST for m in measures)] for place, measures in filled.items()]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(shape.axes) + len(shape.widths))


def test_what_is_promised_is_known_before_a_row_is_read() -> None:
    build = built(epsilon=Fraction(1, 2))
    assert (build.loss, build.delta) == (Loss(500_000_000), 0)
    assert build.columns == ("d0", "d1", "d2", "count", "total")
    assert "0.5" in build.guarantee
    assert "78 cells" in build.error


@pytest.mark.parametrize("options", [{"epsilon": 0}, {"delta": 1}, {"k": 3}])
def test_options_are_checked(options: dict[str, OptionValue]) -> None:
    with pytest.raises(InvalidOption):
        built(**options)


def test_too_many_cells_or_too_little_epsilon_are_refused() -> None:
    with pytest.raises(InvalidOption, match="cells"):
        built(Shape((Axis(1000), Axis(1000)), (1, 250), 1))
    with pytest.raises(InvalidOption, match="dimensions"):
        built(Shape((Axis(2),) * 9, (1, 250), 1))
    with pytest.raises(InvalidOption, match="too small"):
        built(Shape((Axis(3),), (1, 250), 100), epsilon=Fraction(1, 20))


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 10), Fraction(1), Fraction(123_456_789, 10**9), Fraction(50)]
)
@pytest.mark.parametrize("delta", [NONE, Fraction(1, 10**6)])
def test_parts_of_all_marginals_for_all_rows_keep_to_the_whole(
    rows: int, epsilon: Fraction, delta: Fraction
) -> None:
    strategy = planned(Shape(SHAPE.axes, SHAPE.widths, rows), Loss.of(epsilon), delta)
    spent = sum(m.nano for m in strategy.mechanisms.values())
    if strategy.concentrated:
        assert all(isinstance(m, Gaussian) for m in strategy.mechanisms.values())
        assert spent * rows**2 <= dp_cube.within(Loss.of(epsilon), delta).nano
    else:
        assert spent * rows <= epsilon * NANO
        assert spent * rows > epsilon * NANO - rows  # nothing is left but what rounding leaves
    assert all(m.widths == SHAPE.widths for m in strategy.mechanisms.values())


def test_gaussian_noise_is_taken_where_it_is_less() -> None:
    many = Shape((Axis(5),) * 5, (1,), 1)
    assert planned(many, Loss.of(Fraction(1)), Fraction(1, 1000)).concentrated
    assert not planned(Shape((Axis(5),), (1,), 1), Loss.of(Fraction(1)), Fraction(1, 10**9)).concentrated


def test_the_neighbours_of_all_small_tables_are_one_box_apart_in_each_marginal() -> None:
    """Every cell that one row can be in, every corner of its box: one block moves, inside the box."""
    rng = np.arange(3 * 13 * 2) * 7919 % 101
    data = {
        place: (int(rng[i]), int(rng[-i])) for i, place in enumerate(product(range(3), range(13), range(2)))
    }
    exact = tables(SHAPE, cells(SHAPE, data))
    strategy = planned(SHAPE, Loss.of(Fraction(1)), NONE)
    for place, corner in product(data, product((-1, 1), (-250, 0, 250))):
        one = {**data, place: tuple(m + c for m, c in zip(data[place], corner, strict=True))}
        other = tables(SHAPE, cells(SHAPE, one))
        for level, mechanism in strategy.mechanisms.items():
            moves = [
                coarser(SHAPE, b, level) - coarser(SHAPE, a, level) for a, b in zip(exact, other, strict=True)
            ]
            moved = np.any([m != 0 for m in moves], axis=0)
            assert moved.sum() == 1
            assert all(np.abs(m).max() <= w for m, w in zip(moves, mechanism.widths, strict=True))


def test_noise_is_that_of_the_mechanism_exactly() -> None:
    """Over 2,000 draws of 26 blocks each: every count of a value within 5.5 sd, of the same words."""
    shape = Shape((Axis(2), Axis(13, ordered=True)), (1,), 1)
    strategy = planned(shape, Loss.of(Fraction(2)), NONE)
    level = max(strategy.mechanisms)
    law = strategy.mechanisms[level]
    exact, words = tables(shape, cells(shape, {(1, 4): (17,)})), same_words()
    found = np.concatenate(
        [
            (marginals(strategy, exact, words, silent)[level][0] - coarser(shape, exact[0], level)).ravel()
            for _ in range(2000)
        ]
    ).astype(np.int64)
    for value in range(-4, 5):
        chance = float(law.pmf([value]))
        assert abs((found == value).mean() - chance) < 5.5 * (chance * (1 - chance) / len(found)) ** 0.5


def test_cells_agree_with_what_was_released_where_there_is_no_noise_to_speak_of() -> None:
    build = built(epsilon=10**6)
    data = {(0, 0, 0): (5, 100), (2, 12, 1): (7, -3), (1, 6, 0): (1, 250)}
    made = build.make(cells(SHAPE, data), same_words(), silent).rows
    assert made.shape == (78, 5)
    shown = {tuple(row[:3]): (row[3] - FARTHEST, row[4] - FARTHEST) for row in made.tolist()}
    for place in product(range(3), range(13), range(2)):
        count, total = data.get(place, (0, 0))
        assert shown[place][0] / 10**6 == pytest.approx(count, abs=0.1)
        assert shown[place][1] / 10**3 == pytest.approx(250 * count + total, abs=30)


def test_errors_are_as_predicted() -> None:
    """The variance over 400 builds is within 1 +- 0.37 times the prediction: 5 sd of a variance, of the same words."""
    strategy = planned(SHAPE, Loss.of(Fraction(1)), NONE)
    exact = tables(SHAPE, cells(SHAPE, {(1, 6, 0): (1, 250)}))
    words = same_words()
    fitted = [fit(strategy, marginals(strategy, exact, words, silent)) for _ in range(400)]
    for level in ((0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 2, 1)):
        for measure, width in enumerate(SHAPE.widths):
            figure = Figure("x", tuple(Fraction(int(i == measure)) for i in range(2)), 0)
            blocks = [axis.blocks[n] for axis, n in zip(SHAPE.axes, level, strict=True)]
            sums = [
                each[measure][tuple(slice(b) for b in blocks)].sum()
                - exact[measure][tuple(slice(b) for b in blocks)].sum()
                for each in fitted
            ]
            assert np.mean(np.square(sums)) / strategy.sd(figure, level) ** 2 == pytest.approx(1, abs=0.37), (
                width
            )


def test_the_widest_sums_do_not_overflow() -> None:
    shape = Shape((Axis(40), Axis(40)), (10**18,), 1)
    data = dict.fromkeys(product(range(40), range(40)), (FARTHEST,))
    [whole] = [coarser(shape, table, (0, 0)) for table in tables(shape, cells(shape, data))]
    assert whole[0, 0] == 1600 * FARTHEST


def test_the_promise_holds_on_neighbours() -> None:
    """A lower bound of the loss at 99.9 %, from 500 builds a side: two rows of one unit, in one cell and in two."""
    shape = Shape((Axis(3), Axis(2)), (1,), 2)
    figures = (Figure("count", (Fraction(1),), 0),)
    build = dp_cube.check(request(shape, epsilon=1), shape, figures)

    def figures_first(rows: Table, words: Words, progress: Progress) -> Anonymized:
        made = build.make(rows, words, progress)
        return Anonymized(made.rows[:, ::-1])

    own = ViewBuild(build.guarantee, build.loss, figures_first)
    base = {(0, 0): (3,), (1, 1): (4,)}
    for more in ({(0, 0): (5,)}, {(0, 0): (4,), (1, 1): (5,)}):
        found = least_epsilon(own, cells(shape, base), cells(shape, {**base, **more}), 2 * FARTHEST + 8)
        assert found <= 1
