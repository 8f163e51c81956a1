"""The discrete Gaussian mechanism: its Renyi divergences, figures and draws, OpenDP beside it."""

import itertools
import math
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest

from udfs.mechanisms import MECHANISMS, Gaussian
from udfs.privacy import NANO, Concentrated, InvalidMechanism

dp.enable_features("contrib")

SMALL = [
    Gaussian(widths, nano, norm)
    for widths, norm in [((1,), 1), ((3,), 1), ((2,), 2), ((1, 1), 2), ((1, 3), 1), ((2, 0), 1)]
    for nano in (NANO // 200, NANO // 2, 8 * NANO)
]


def law(mechanism: Gaussian, index: int) -> tuple[dict[int, Decimal], Decimal]:
    """Weights of one component out to 1e-60 of the peak, and their sum."""
    width = mechanism.widths[index]
    if not width:
        return {0: Decimal(1)}, Decimal(1)
    ratio = mechanism.ratios[index]
    assert ratio is not None
    rate = -Decimal(ratio.top).ln() + ratio.bits * Decimal(2).ln()
    reach = math.isqrt(int(140 / rate)) + 1
    weights = {z: (-rate * z * z).exp() for z in range(-reach, reach + 1)}
    return weights, sum(weights.values())


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_renyi_divergences_stay_below_order_times_rho(mechanism: Gaussian):
    """Every shift of one unit, orders from next to 1 to 64, summed over the law: the definition of rho-zCDP."""
    rho = Fraction(mechanism.nano, NANO)
    with localcontext(Context(prec=50)):
        laws = [law(mechanism, index) for index in range(len(mechanism.widths))]
        worst, farthest = Decimal(0), Fraction(0)
        reaches = [math.isqrt(mechanism.norm * w * w) for w in mechanism.widths]
        for shift in itertools.product(*(range(-r, r + 1) for r in reaches)):
            pairs = zip(shift, mechanism.widths, strict=True)
            moved = sum((Fraction(s * s, w * w) for s, w in pairs if w), Fraction(0))
            if moved > mechanism.norm:
                continue
            farthest = max(farthest, moved / mechanism.norm)
            for order in (Decimal("1.01"), Decimal("1.5"), Decimal(2), Decimal(8), Decimal(64)):
                divergence = sum(
                    renyi(weights, mass, s, order) for (weights, mass), s in zip(laws, shift, strict=True)
                )
                worst = max(worst, divergence / order)
        assert worst <= Decimal(rho.numerator) / rho.denominator * (1 + Decimal("1e-30"))
        if (
            mechanism.nano < 8 * NANO
        ):  # where the lattice is finer than the noise the bound is almost attained
            assert worst > Decimal(float(rho * farthest * Fraction(9, 10)))


def renyi(weights: dict[int, Decimal], mass: Decimal, shift: int, order: Decimal) -> Decimal:
    """The divergence of the law from itself moved by ``shift``."""
    if not shift:
        return Decimal(0)
    rate = -weights[1].ln()
    low, high = min(weights), max(weights)
    # Over the moved law's main part too: the integrand peaks (order - 1) shifts away.
    away = int((order - 1) * abs(shift)) + 1
    total = sum(
        (-rate * (order * z * z + (1 - order) * (z - shift) ** 2)).exp()
        for z in range(low - away, high + away + 1)
    )
    return (total / mass).ln() / (order - 1)


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_each_ratio_is_just_above_the_exponential(mechanism: Gaussian):
    for width, ratio in zip(mechanism.widths, mechanism.ratios, strict=True):
        if ratio is None:
            assert not width
            continue
        exponent = Decimal(mechanism.nano) / (NANO * mechanism.norm * width * width)
        exact = Fraction(Context(prec=60).exp(-exponent))
        assert exact <= ratio.fraction <= exact + Fraction(2, 2**ratio.bits)


def test_weights_are_relative_probabilities():
    mechanism = Gaussian((1, 2, 0), NANO, 3)
    first, second, _ = mechanism.ratios
    assert first is not None
    assert second is not None
    assert mechanism.weight((2, -3, 0)) == first.fraction**4 * second.fraction**9
    assert mechanism.weight((0, 0, 0)) == 1
    assert mechanism.weight((0, 0, 1)) == 0


@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 0.999999])
@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_figures_are_those_of_the_law(mechanism: Gaussian, confidence: float):
    for index, (sd, h) in enumerate(zip(mechanism.noise_sd(), mechanism.half_width(confidence), strict=True)):
        weights, mass = law(mechanism, index)
        variance = sum(w * z * z for z, w in weights.items()) / mass
        assert sd == pytest.approx(float(variance) ** 0.5, rel=1e-9)
        inside = [sum(w for z, w in weights.items() if abs(z) <= size) / mass for size in (h, h - 1, h - 2)]
        assert inside[0] >= Decimal(str(confidence)) * (1 - Decimal("1e-20"))
        assert h == 0 or (inside[1] if sd < 16 else inside[2]) < Decimal(str(confidence))


def test_sizes_of_wide_noise():
    mechanism = Gaussian.best((10**30,), NANO // 2)
    assert mechanism.noise_sd()[0] == pytest.approx(1e30)
    assert mechanism.half_width(0.95)[0] == pytest.approx(1.959963985e30)
    assert mechanism.half_width(0.5)[0] == pytest.approx(0.6744897502e30)


def test_equal_parts_for_each_component():
    assert Gaussian.best((3, 0, 5), NANO) == Gaussian((3, 0, 5), NANO, 2)
    assert Gaussian.best((0,), NANO).draw(3).tolist() == [[0], [0], [0]]
    sds = Gaussian.best((100, 1000), NANO).noise_sd()
    assert [sds[0] / 100, sds[1] / 1000] == pytest.approx([1, 1])  # sqrt(2 / (2 rho))


def test_a_huge_rho_gives_next_to_no_noise():
    assert not Gaussian.best((1, 3), 10**12 * NANO).draw(1000).any()  # false alarm below 1e-15


@pytest.mark.parametrize(
    ("widths", "nano", "norm"),
    [((), NANO, 1), ((1,), 0, 1), ((1,), -1, 1), ((-1,), NANO, 1), ((10**38,), NANO, 1), ((1,), NANO, 0)],
)
def test_what_is_out_of_range_is_refused(widths: tuple[int, ...], nano: int, norm: int):
    with pytest.raises(InvalidMechanism):
        Gaussian(widths, nano, norm)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5])
def test_confidence_is_a_probability(confidence: float):
    with pytest.raises(InvalidMechanism):
        Gaussian.best((1,), NANO).half_width(confidence)


def test_loss_and_name():
    assert Gaussian.best((1, 2), 123_456_789).loss == Concentrated(123_456_789)
    assert MECHANISMS["gaussian"] is Gaussian


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_draws_follow_the_law(mechanism: Gaussian, fits: Callable[..., bool]):
    """False alarm 1e-6 for each component of each, 21 of them."""
    drawn = mechanism.draw(20_000)
    for index in range(len(mechanism.widths)):
        weights, mass = law(mechanism, index)
        likely = [z for z, w in weights.items() if w / mass * 20_000 > 8]
        reach = max(likely)
        column = drawn[:, index]
        outside = int((np.abs(column) > reach).sum())
        assert outside < 60 + 20_000 * 2 * sum(w for z, w in weights.items() if z > reach) / mass
        if reach:  # otherwise there is one cell
            counts = [int((column == z).sum()) for z in likely]
            whole = sum(weights[z] for z in likely)
            assert fits(counts, [Fraction(weights[z] / whole) for z in likely])


@pytest.mark.statistical
@pytest.mark.parametrize("width", [2, 40, 10**6])
def test_opendp_draws_the_same(width: int, fits: Callable[..., bool]):
    """OpenDP's draws against the law and ours against the same, in 20 cells: false alarm 1e-6 each."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    theirs = dp.m.make_gaussian(*space, scale=float(width))([0] * 20_000)
    ours = Gaussian.best((width,), NANO // 2).draw(20_000)[:, 0]  # sigma = width
    quantiles = [-1.645, -1.282, -0.842, -0.524, -0.253, 0.0, 0.253, 0.524, 0.842, 1.282, 1.645]
    edges = sorted({round(x * width) for x in quantiles})
    if width < 100:
        weights = {z: math.exp(-z * z / (2 * width**2)) for z in range(-12 * width, 12 * width + 1)}
        mass = sum(weights.values())
        below = [sum(w for z, w in weights.items() if z <= e) / mass for e in edges]
    else:
        below = [math.erfc(-(e + 0.5) / (width * math.sqrt(2))) / 2 for e in edges]
    cells = np.diff([0.0, *below, 1.0])
    for drawn in (np.array(theirs), ours):
        counts = np.bincount(np.searchsorted(edges, drawn), minlength=len(cells))
        assert fits(counts.tolist(), cells)
