"""The discrete Laplace mechanism: exact probabilities, privacy over every shift, moments, draws, OpenDP beside it."""

import itertools
import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import opendp.prelude as dp
import pytest

from udfs.mechanisms import MECHANISMS, Laplace, Staircase
from udfs.privacy import LEAST_NANO, NANO, InvalidMechanism, Loss

dp.enable_features("contrib")

SMALL = [
    Laplace(widths, nano, norm)
    for widths, norm in [
        ((1,), 1),
        ((3,), 1),
        ((7,), 2),
        ((1, 1), 2),
        ((1, 3), 1),
        ((2, 0), 1),
        ((1, 1, 2), 3),
    ]
    for nano in (NANO // 10, NANO, 4 * NANO)
]


def shifts(mechanism: Laplace) -> list[tuple[int, ...]]:
    """Every change of one unit."""
    everywhere = itertools.product(
        *(range(-w * mechanism.norm, w * mechanism.norm + 1) for w in mechanism.widths)
    )
    return [
        s
        for s in everywhere
        if sum(Fraction(abs(v), w) for v, w in zip(s, mechanism.widths, strict=True) if w) <= mechanism.norm
    ]


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_mass_is_one(mechanism: Laplace):
    """Point by point in each component; what is beyond falls by q each step."""
    for index, width in enumerate(mechanism.widths):
        alone = Laplace((width,), mechanism.nano, mechanism.norm)
        inside = sum(alone.pmf((z,)) for z in range(-5, 6))
        ratio = mechanism.ratios[index]
        beyond = 2 * alone.pmf((6,)) / (1 - ratio.fraction) if ratio else 0
        assert inside + beyond == 1
    origin = [Laplace((w,), mechanism.nano, mechanism.norm).pmf((2 * w,)) for w in mechanism.widths]
    assert mechanism.pmf([2 * w for w in mechanism.widths]) == math.prod(origin)  # independent


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_no_shift_of_one_unit_changes_a_probability_by_more_than_e_to_epsilon(mechanism: Laplace):
    pmf = cache(mechanism.pmf)
    points = list(itertools.product(*(range(-2, 3) if w else (0,) for w in mechanism.widths)))
    moved = [(z, tuple(map(sum, zip(z, s, strict=True)))) for z in points for s in shifts(mechanism)]
    worst = max(pmf(z) / pmf(other) for z, other in moved)
    bound = Fraction(Context(prec=60).exp(Decimal(mechanism.nano) / NANO))
    assert bound * (1 - Fraction(1, 10**15)) < worst <= bound  # attained: nothing is given away


def test_a_shift_beyond_the_norm_would_cost_more():
    mechanism = Laplace((1, 1), NANO, 1)
    assert mechanism.pmf((0, 0)) / mechanism.pmf((1, 1)) > Fraction(math.e**1.99)


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_variance_is_that_of_the_pmf(mechanism: Laplace):
    for index, width in enumerate(mechanism.widths):
        alone = Laplace((width,), mechanism.nano, mechanism.norm)
        q = float(alone.pmf((1,)) / alone.pmf((0,)))
        reach = int(80 * width * mechanism.norm * NANO / mechanism.nano)
        partial = 2 * float(alone.pmf((0,))) * math.fsum(q**z * z * z for z in range(1, reach + 1))
        assert partial == pytest.approx(float(mechanism.variance()[index]), rel=1e-9)
        assert mechanism.noise_sd()[index] == pytest.approx(partial**0.5)


@pytest.mark.parametrize("confidence", [Fraction(1, 100), 0.5, 0.95, 0.999999])
@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_half_widths_are_the_least(mechanism: Laplace, confidence: Fraction | float):
    wanted = Fraction(str(confidence)) if isinstance(confidence, float) else confidence
    for index, h in enumerate(mechanism.half_width(confidence)):
        ratio = mechanism.ratios[index]
        q = ratio.fraction if ratio else Fraction(0)

        def inside(size: int, q: Fraction = q) -> Fraction:
            return 1 - 2 * q ** (size + 1) / (1 + q)

        assert inside(h) >= wanted
        assert h == 0 or inside(h - 1) < wanted


def test_a_count_gets_what_the_staircase_gives():
    for z in range(-5, 6):
        laplace, staircase = Laplace.best((1,), NANO).pmf((z,)), Staircase.best((1,), NANO).pmf((z,))
        assert float(laplace / staircase) == pytest.approx(1, abs=1e-15)


def test_best_takes_the_box():
    assert Laplace.best((3, 0, 5), NANO) == Laplace((3, 0, 5), NANO, 2)
    assert Laplace.best((0,), NANO).draw(3).tolist() == [[0], [0], [0]]
    assert Laplace.best((4, 0), NANO).half_width(0.5)[1] == 0


@pytest.mark.parametrize(
    ("widths", "nano", "norm"),
    [((), NANO, 1), ((1,), LEAST_NANO - 1, 1), ((-1,), NANO, 1), ((10**38,), NANO, 1), ((1,), NANO, 0)],
)
def test_what_is_out_of_range_is_refused(widths: tuple[int, ...], nano: int, norm: int):
    with pytest.raises(InvalidMechanism):
        Laplace(widths, nano, norm)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5])
def test_confidence_is_a_probability(confidence: float):
    with pytest.raises(InvalidMechanism):
        Laplace.best((1,), NANO).half_width(confidence)


def test_loss_and_name():
    assert Laplace.best((1, 2), 123_456_789).loss == Loss(123_456_789)
    assert MECHANISMS["laplace"] is Laplace


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [m for m in SMALL if m.nano >= NANO], ids=str)
def test_draws_follow_the_pmf(mechanism: Laplace, fits: Callable[..., bool]):
    """False alarm 1e-6 for each component of each, 22 of them."""
    drawn = mechanism.draw(20_000)
    for index, width in enumerate(mechanism.widths):
        if not width:
            assert not drawn[:, index].any()
            continue
        alone = Laplace((width,), mechanism.nano, mechanism.norm)
        reach = next(z for z in itertools.count() if alone.pmf((z + 1,)) * 20_000 < 10)
        cells = [alone.pmf((z,)) for z in range(-reach, reach + 1)]
        column = np.clip(drawn[:, index], -reach - 1, reach + 1) + reach + 1
        counts = np.bincount(column, minlength=2 * reach + 3).tolist()
        ends = counts[0] + counts[-1]
        if (1 - sum(cells)) * 20_000 > 8:
            assert fits([*counts[1:-1], ends], [*cells, 1 - sum(cells)])
        else:
            assert ends < 60  # expected at most 8: false alarm below 1e-25
            assert fits(counts[1:-1], [p / sum(cells) for p in cells])


@pytest.mark.statistical
@pytest.mark.parametrize("width", [1, 40, 10**6])
def test_opendp_draws_the_same(width: int, fits: Callable[..., bool]):
    """OpenDP's draws against our probabilities and ours against the same, in 20 cells: false alarm 1e-6 each."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = dp.m.make_laplace(*space, scale=float(width))([0] * 20_000)
    ours = Laplace.best((width,), NANO).draw(20_000)[:, 0]
    q = math.exp(-1 / width)
    edges = sorted({round(s * width * math.log(1 / (1 - i / 10))) for i in range(10) for s in (-1, 1)})
    below = [1 - q ** (e + 1) / (1 + q) if e >= 0 else q**-e / (1 + q) for e in edges]
    cells = np.diff([0.0, *below, 1.0])
    for drawn in (np.array(theirs), ours):
        counts = np.bincount(np.searchsorted(edges, drawn), minlength=len(cells))
        assert fits(counts.tolist(), cells)
