"""The mechanism of least expected error: reference values, limits, and that it is the least."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from fractions import Fraction

import pytest

from udfs.calibration import calibrate
from udfs.choose import Choice, candidates, choose
from udfs.mechanisms import Gaussian, Laplace, Staircase
from udfs.privacy import NANO, Concentrated, InvalidMechanism, Loss

ONE = Loss(NANO)
MILLIONTH = Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("components", "each"), [(1, 1.918), (2, 3.971), (4, 9.998), (10, 44.0)]
)  # 1,000 steps a sensitivity, next to the continuum's reference numbers
def test_a_joint_draw_is_best_where_delta_is_not_allowed(components: int, each: float):
    found = choose((1000,) * components, ONE)
    assert isinstance(found.mechanism, Staircase)
    assert found.error / components == pytest.approx(each, rel=2e-3)
    laplace = next(c for c in candidates((1000,) * components, ONE) if isinstance(c.mechanism, Laplace))
    assert laplace.error / components == pytest.approx(2 * components**2, rel=1e-3)


def test_error_is_that_of_the_mechanism():
    for widths in [(1,), (3, 500, 0), (7, 7, 7, 7)]:
        for choice in candidates(widths, ONE, MILLIONTH):
            sds = zip(choice.mechanism.noise_sd(), widths, strict=True)
            assert choice.error == pytest.approx(sum((sd / w) ** 2 for sd, w in sds if w), rel=1e-6)


def test_many_measures_with_delta_get_the_gaussian():
    few, many = choose((10,) * 3, ONE, MILLIONTH), choose((10,) * 300, ONE, MILLIONTH)
    assert isinstance(few.mechanism, Staircase)
    assert isinstance(many.mechanism, Gaussian)
    assert many.mechanism.nano == calibrate((10,) * 300, ONE, MILLIONTH)
    assert not isinstance(choose((10,) * 300, ONE).mechanism, Gaussian)


def test_a_limit_of_rho():
    rho = Concentrated.of_pure(ONE)
    found = {type(c.mechanism): c.mechanism for c in candidates((10, 10), rho)}
    assert found[Gaussian].loss == rho
    assert found[Staircase].loss == ONE
    assert isinstance(choose((10,) * 4, rho).mechanism, Gaussian)
    for odd in (501, 12_345_677):
        for choice in candidates((10,), Concentrated(odd)):
            loss = choice.mechanism.loss
            assert (loss if isinstance(loss, Concentrated) else Concentrated.of_pure(loss)).nano <= odd


def test_the_least_comes_first():
    for widths in [(1,), (5, 9), (2,) * 40]:
        errors = [c.error for c in candidates(widths, ONE, Fraction(1, 100))]
        assert errors == pytest.approx(sorted(errors))
        assert len(errors) == 3


def test_equal_errors_go_to_the_staircase():
    """For a count it is two-sided geometric, like the discrete Laplace mechanism."""
    assert isinstance(choose((1,), ONE).mechanism, Staircase)


def test_what_nobody_can_move_has_no_error():
    assert choose((0, 0), ONE) == Choice(Staircase((0, 0), NANO, (0, 0)), 0.0)


def test_too_small_a_loss_is_refused():
    with pytest.raises(InvalidMechanism):
        choose((1,), Loss(10))
    assert isinstance(choose((1,), Loss(10**5), Fraction(1, 10)).mechanism, Gaussian)


def test_choosing_again_is_free(work: Callable[[float], AbstractContextManager[None]]):
    choose((3, 5, 8), ONE, MILLIONTH)
    with work(0.1):  # it takes about 1 ms
        for _ in range(1000):
            choose((3, 5, 8), ONE, MILLIONTH)
