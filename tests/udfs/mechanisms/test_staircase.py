"""The staircase: its exact probabilities, its privacy, its moments and its draws."""

import itertools
import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from udfs.mechanisms import MECHANISMS, Shortest, Staircase
from udfs.privacy import LEAST_NANO, NANO, InvalidMechanism, Loss
from udfs.randomness import Words

SMALL = [
    Staircase(widths, nano, radii)
    for widths, radii in [
        ((1,), (0,)),
        ((1,), (2,)),
        ((3,), (1,)),
        ((7,), (9,)),
        ((1, 1), (0, 0)),
        ((1, 3), (0, 2)),
        ((2, 0), (1, 0)),
        ((1, 1, 2), (0, 1, 1)),
    ]
    for nano in (NANO // 10, NANO, 4 * NANO)
]


def box(mechanism: Staircase, level: int):
    """Every point of B_level."""
    sides = [r + level * d for r, d in zip(mechanism.radii, mechanism.widths, strict=True)]
    return itertools.product(*(range(-side, side + 1) for side in sides))


def points(mechanism: Staircase, level: int) -> int:
    return math.prod(2 * (r + level * d) + 1 for r, d in zip(mechanism.radii, mechanism.widths, strict=True))


def q(mechanism: Staircase) -> Fraction:
    return Fraction(mechanism.ratio, 2**64)


@pytest.mark.parametrize("nano", [NANO // 10, NANO // 2, NANO, 2 * NANO, 6 * NANO])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 12])
def test_no_radius_has_a_shorter_interval(width: int, nano: int):
    """Of all radii up to the width, exactly; of equal intervals the one of the least variance, but for 1 %."""
    found = Shortest.best((width,), nano)
    others = [Staircase((width,), nano, (radius,)) for radius in range(width + 1)]
    least = min(other.half_width(0.95) for other in others)
    assert found.half_width(0.95) == least
    variances = [other.variance() for other in others if other.half_width(0.95) == least]
    assert float(found.variance()[0]) <= 1.01 * float(min(variances)[0])


def test_the_shortest_interval_is_the_thesis_s():
    """Of width 1, length 5.9865 at d = .9933; in steps of 1/100,000."""
    found = Shortest.best((10**5,), NANO)
    assert found.radii[0] / 10**5 == pytest.approx(0.9933, abs=1e-3)
    assert (2 * found.half_width(0.95)[0] + 1) / 10**5 == pytest.approx(5.9865, abs=1e-4)
    assert (2 * Staircase.best((10**5,), NANO).half_width(0.95)[0] + 1) / 10**5 > 5.991


@pytest.mark.parametrize("widths", [(1,), (5,), (1, 3), (2, 0)])
def test_intervals_cost_no_privacy(widths: tuple[int, ...]):
    """A shift inside the box changes no probability by more than epsilon."""
    found = Shortest.best(widths, NANO)
    assert type(found) is Shortest
    limit = 1 / q(found)
    for z in box(found, 2):
        for shift in itertools.product(*({-w, 0, w} for w in widths)):
            assert found.pmf(z) <= limit * found.pmf([a + b for a, b in zip(z, shift, strict=True)])


@pytest.mark.parametrize("wide", [10**17, 10**19, 10**36])
def test_the_shortest_intervals_have_one_shape_however_wide_a_component_is(wide: int):
    found, narrow = (Shortest.best((width, 10 * width), NANO) for width in (wide, 10**9))
    assert [r / w for r, w in zip(found.radii, found.widths, strict=True)] == pytest.approx(
        [r / w for r, w in zip(narrow.radii, narrow.widths, strict=True)]
    )


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_mass_is_one(mechanism: Staircase):
    """A box summed point by point, and beyond it shell by shell in closed form."""
    inner = 2
    inside = sum(mechanism.pmf(z) for z in box(mechanism, inner))
    # Beyond: the sum over t > inner of (|B_t| - |B_(t-1)|) q**t / ((1 - q) mass), |B_t| a polynomial of degree d,
    # summed by finite differences: sum over s of C(s, k) q**s = q**k / (1 - q)**(k + 1).
    r, degree = q(mechanism), len(mechanism.widths)
    shells = [points(mechanism, t) - points(mechanism, t - 1) for t in range(inner + 1, inner + 2 + degree)]
    at_shell = mechanism.pmf(
        [r + (inner + 1) * d for r, d in zip(mechanism.radii, mechanism.widths, strict=True)]
    )
    beyond, order = Fraction(0), 0
    while shells:
        beyond += shells[0] * r**order / (1 - r) ** (order + 1)
        shells = [b - a for a, b in itertools.pairwise(shells)]
        order += 1
    assert inside + at_shell * beyond == 1


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_no_shift_of_one_unit_changes_a_probability_by_more_than_the_ratio(mechanism: Staircase):
    shifts = list(itertools.product(*(range(-d, d + 1) for d in mechanism.widths)))
    worst = Fraction(0)
    table = {z: mechanism.pmf(z) for z in box(mechanism, 3)}
    for z in box(mechanism, 2):
        for shift in shifts:
            worst = max(worst, table[z] / table[tuple(map(sum, zip(z, shift, strict=True)))])
    assert worst == 1 / q(mechanism)  # attained: no privacy is given away for nothing


@pytest.mark.parametrize("nano", [LEAST_NANO, NANO // 3, NANO, 44 * NANO, 10**6 * NANO])
def test_the_ratio_is_at_most_e_to_epsilon(nano: int):
    context = Context(prec=60, Emax=10**9)
    bound = context.exp(Decimal(nano) / NANO)
    assert Decimal(2**64) / Decimal(Staircase.best((1,), nano).ratio) <= bound


def test_pmf_is_the_mixture_of_boxes():
    mechanism, depth = Staircase((1, 3), NANO, (0, 2)), 60
    mass = sum(points(mechanism, t) * q(mechanism) ** t for t in range(depth))
    for z in [(0, 0), (1, 0), (0, 3), (2, 9), (-1, -5)]:
        mixed = sum(
            q(mechanism) ** t / mass
            for t in range(depth)
            if all(abs(v) <= r + t * d for v, r, d in zip(z, mechanism.radii, mechanism.widths, strict=True))
        )
        assert abs(mixed / mechanism.pmf(z) - 1) < Fraction(1, 10**20)


@pytest.mark.parametrize("mechanism", [m for m in SMALL if m.nano >= NANO and len(m.widths) < 3], ids=str)
def test_variance_is_that_of_the_pmf(mechanism: Staircase):
    depth = 14 if mechanism.nano == NANO else 6
    sums = [Fraction(0)] * len(mechanism.widths)
    mass = Fraction(0)
    for z in box(mechanism, depth):
        p = mechanism.pmf(z)
        mass += p
        sums = [s + p * v * v for s, v in zip(sums, z, strict=True)]
    assert 1 - mass < Fraction(1, 500)
    for exact, partial in zip(mechanism.variance(), sums, strict=True):
        assert partial <= exact
        assert exact - partial <= exact / 20


def test_a_count_gets_two_sided_geometric_noise():
    mechanism = Staircase.best((1,), NANO)
    r = q(mechanism)
    for z in range(-5, 6):
        assert mechanism.pmf([z]) == (1 - r) / (1 + r) * r ** abs(z)
    assert mechanism.variance() == (2 * r / (1 - r) ** 2,)
    assert mechanism.noise_sd()[0] == pytest.approx(1.35696, abs=1e-5)


def test_noise_does_not_depend_on_the_unit_of_measurement():
    coarse, fine = Staircase.best((10**3,), NANO), Staircase.best((10**6,), NANO)
    assert fine.noise_sd()[0] / coarse.noise_sd()[0] == pytest.approx(1000, rel=1e-3)


def test_a_width_of_zero_gets_no_noise():
    mechanism = Staircase.best((5, 0), NANO)
    assert mechanism.radii[1] == 0
    assert mechanism.variance()[1] == 0
    assert mechanism.half_width(0.95)[1] == 0
    assert mechanism.pmf((0, 1)) == 0
    assert not mechanism.draw(50)[:, 1].any()
    assert mechanism.variance()[0] == Staircase.best((5,), NANO).variance()[0]
    assert Staircase.best((0,), NANO).draw(3).tolist() == [[0], [0], [0]]


def test_a_huge_epsilon_gives_next_to_no_noise():
    assert not Staircase.best((3, 1), 10**6 * NANO).draw(1000).any()  # false alarm below 1e-15


@pytest.mark.parametrize(
    ("widths", "nano", "radii"),
    [
        ((), NANO, ()),
        ((1,), LEAST_NANO - 1, (0,)),
        ((1,), -NANO, (0,)),
        ((-1,), NANO, (0,)),
        ((10**38,), NANO, (0,)),
        ((1,), NANO, (-1,)),
        ((1,), NANO, (0, 0)),
        ((0,), NANO, (1,)),
    ],
)
def test_what_is_out_of_range_is_refused(widths: tuple[int, ...], nano: int, radii: tuple[int, ...]):
    with pytest.raises(InvalidMechanism):
        Staircase(widths, nano, radii)


def test_best_refuses_the_same():
    for widths, nano in [((), NANO), ((1,), 0), ((-2,), NANO)]:
        with pytest.raises(InvalidMechanism):
            Staircase.best(widths, nano)


def test_loss_and_name():
    assert Staircase.best((1, 2), 123_456_789).loss == Loss(123_456_789)
    assert MECHANISMS["staircase"] is Staircase


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5])
def test_confidence_is_a_probability(confidence: float):
    with pytest.raises(InvalidMechanism):
        Staircase.best((1,), NANO).half_width(confidence)


def test_planning_is_quick_at_the_least_epsilon(work: Callable[[float], AbstractContextManager[None]]):
    mechanism = Staircase.best((2**90, 3, 2**40), LEAST_NANO)
    mechanism.variance()
    with work(0.05):  # ten times what it takes
        mechanism.half_width(0.987)


@pytest.mark.parametrize("count", [0, 1, 40_000])
def test_shape_of_draws(count: int):
    drawn = Staircase.best((1, 100), NANO).draw(count)
    assert drawn.shape == (count, 2)
    assert drawn.dtype == np.int64


def test_wide_draws_are_python_integers():
    drawn = Staircase.best((10**37, 1), NANO // 100).draw(50)
    assert drawn.dtype == object
    assert all(type(value) is int for value in drawn.ravel().tolist())
    assert max(abs(value) for value in drawn[:, 0]) > 2**64
    assert len({value % 1000 for value in drawn[:, 0]}) > 20  # the low digits are noise, too


def test_the_same_words_give_the_same_draw(scripted: Callable[..., Words]):
    mechanism = Staircase.best((1,), NANO)
    words = [1 << 62, 1 << 63, 1 << 61, 5, 3, 2, 1]
    assert mechanism.draw(1, scripted(*words)).tolist() == mechanism.draw(1, scripted(*words)).tolist()


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [m for m in SMALL if m.nano >= NANO], ids=str)
def test_draws_follow_the_pmf(
    mechanism: Staircase, fits: Callable[..., bool]
):  # false alarm 1e-6 each, 16 of them
    count = 20_000
    cells = {z: mechanism.pmf(z) for z in box(mechanism, 2)}
    cells = {z: p for z, p in cells.items() if p * count > 8}
    drawn = list(map(tuple, mechanism.draw(count, os.urandom).tolist()))
    counts = [0] * len(cells)
    place = {z: i for i, z in enumerate(cells)}
    rest = 0
    for z in drawn:
        if z in place:
            counts[place[z]] += 1
        else:
            rest += 1
    remaining = 1 - sum(cells.values())
    if remaining * count > 8:
        assert fits([*counts, rest], [*cells.values(), remaining])
    else:
        assert rest < 60  # expected at most 8: false alarm below 1e-25
        assert fits(counts, [p / sum(cells.values()) for p in cells.values()])


@pytest.mark.statistical
@pytest.mark.parametrize(("widths", "nano"), [((10**6, 3), LEAST_NANO), ((2**80, 1), NANO)])
def test_half_widths_hold_what_they_promise(
    widths: tuple[int, ...], nano: int
):  # false alarm below 1e-6 each: 5 standard deviations
    mechanism, count = Staircase.best(widths, nano), 10_000
    drawn = mechanism.draw(count)
    for index, h in enumerate(mechanism.half_width(0.9)):
        inside = sum(abs(value) <= h for value in drawn[:, index].tolist())
        assert inside > 0.9 * count - 5 * (0.09 * count) ** 0.5
