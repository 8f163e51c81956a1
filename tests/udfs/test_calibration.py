"""What a Gaussian may be within an epsilon and a delta, against its exact law and against Google's accountant."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
from scipy.special import erfcx

from udfs.calibration import _mills, calibrate
from udfs.conversion import within
from udfs.mechanisms import Gaussian
from udfs.privacy import NANO, InvalidMechanism, Loss

DELTA = Fraction(1, 10**6)


def exact_delta(mechanism: Gaussian, moves: tuple[tuple[int, ...], ...], epsilon: float) -> float:
    """Of independent draws, one for each group: what is more than e**epsilon times as likely, added up."""
    exponents = [mechanism.nano / NANO / (mechanism.norm * width**2) for width in mechanism.widths]
    laws = [
        (exponent, shift)
        for group in moves
        for exponent, shift in zip(exponents, group, strict=True)
        if shift
    ]
    # The loss of an answer is a sum over components, and so is its distribution: one convolution for each.
    losses = {0.0: 1.0}
    for exponent, shift in laws:
        reach = math.isqrt(int(40 / exponent)) + 2
        weights = {z: math.exp(-exponent * z * z) for z in range(-reach, reach + 1)}
        mass = math.fsum(weights.values())
        longer: dict[float, float] = {}
        for (loss, chance), (z, weight) in product(losses.items(), weights.items()):
            at = round(loss + exponent * (2 * shift * z + shift * shift), 12)
            longer[at] = longer.get(at, 0.0) + chance * weight / mass
        losses = longer
    return math.fsum(
        chance * -math.expm1(epsilon - loss) for loss, chance in losses.items() if loss > epsilon
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("delta", [Fraction(1, 100), Fraction(1, 10**5)])
@pytest.mark.parametrize("width", [1, 2, 7])
def test_the_exact_delta_of_each_move_is_within_the_limit(epsilon: Fraction, delta: Fraction, width: int):
    mechanism = Gaussian.best((width,), calibrate((width,), Loss.of(epsilon), delta))
    deltas = [exact_delta(mechanism, ((move,),), float(epsilon)) for move in range(1, width + 1)]
    assert max(deltas) <= float(delta)
    if width == 7 and epsilon <= 1:
        assert max(deltas) >= 0.9 * float(delta)  # and little noise is added in vain


@pytest.mark.parametrize(
    ("boxes", "groups"), [(2, ((2, 6), (2, 6))), (4, ((4, 12),)), (4, ((2, 6), (-2, 6), (2, -6)))]
)
def test_so_is_that_of_a_unit_in_several_groups(boxes: int, groups: tuple[tuple[int, ...], ...]):
    """Two rows in two groups, two rows in one, and three groups; a box moves (2, 6) at most."""
    limit, delta = Loss.of(Fraction(2)), Fraction(1, 1000)
    mechanism = Gaussian.best((2, 6), calibrate((2, 6), limit, delta, boxes))
    assert exact_delta(mechanism, groups, float(limit.epsilon)) <= float(delta)


@pytest.mark.parametrize("delta", [Fraction(1, 10**4), DELTA, Fraction(1, 10**9)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)])
@pytest.mark.parametrize("boxes", [1, 9])
def test_wide_noise_is_as_little_as_the_continuous_law_allows(epsilon: Fraction, delta: Fraction, boxes: int):
    limit = Loss.of(epsilon)
    nano = calibrate((10_000, 0), limit, delta, boxes)
    sigma = math.sqrt(NANO / (2 * nano * boxes))
    least = from_gaussian_mechanism(sigma).get_delta_for_epsilon(float(epsilon))
    assert least == pytest.approx(float(delta), rel=0.01)
    assert nano / (within(limit, delta).nano // boxes) > 1.08


def test_it_is_never_less_than_what_follows_from_rho():
    for epsilon, width, boxes in product((1, 30), (1, 3), (1, 5)):
        limit = Loss.of(Fraction(epsilon))
        assert calibrate((width,), limit, DELTA, boxes) >= within(limit, DELTA).nano // boxes
    assert (
        calibrate((1,), Loss(50 * NANO), DELTA) == within(Loss(50 * NANO), DELTA).nano
    )  # no room for rounding


def test_ends():
    assert calibrate((0, 0), Loss(NANO), DELTA) == within(Loss(NANO), DELTA).nano
    assert calibrate((1,), Loss(1), Fraction(1, 10**30)) == 0
    assert calibrate((1,), Loss(10**6), DELTA, 10**12) == 0
    assert calibrate((1,), Loss(NANO), Fraction(99, 100)) >= within(Loss(NANO), Fraction(99, 100)).nano
    assert calibrate((1,) * 10, Loss(NANO), DELTA, 10**8) == within(Loss(NANO), DELTA).nano // 10**8
    assert calibrate((10**12,), Loss(10**6 * NANO), DELTA) > within(Loss(10**6 * NANO), DELTA).nano
    with pytest.raises(InvalidMechanism):
        calibrate((1,), Loss(NANO), Fraction(0))


@pytest.mark.parametrize("x", ["0", "0.001", "1", "3.7", "7.999999", "8", "8.5", "40"])
def test_the_mills_ratio(x: str):
    assert float(_mills(Decimal(x))) == pytest.approx(
        math.sqrt(math.pi / 2) * erfcx(float(x) / math.sqrt(2)), rel=1e-13
    )
