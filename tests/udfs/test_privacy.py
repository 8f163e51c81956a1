"""The vocabulary: losses round up, exact values stay hidden."""

from fractions import Fraction

import pytest

from udfs.privacy import WIDEST, Concentrated, Exact, InvalidMechanism, Loss, Released, check_norm


def test_a_loss_is_rounded_up():
    assert Loss.of(Fraction(1, 3)).nano == 333_333_334
    assert Loss.of(Fraction(1, 10)) == Loss(10**8)
    assert Loss(10**8).epsilon == Fraction(1, 10)


def test_losses_are_ordered():
    assert Loss(1) < Loss(2)


def test_an_exact_value_does_not_show():
    assert "271828" not in f"{Exact(271828)} {Exact([271828])!r}"


def test_a_released_value_carries_its_loss():
    assert Released(7, Loss(5)).loss == Loss(5)


def test_a_concentrated_loss_is_rounded_up():
    assert Concentrated.of(Fraction(1, 3)) == Concentrated(333_333_334)
    assert Concentrated(10**8).rho == Fraction(1, 10)


def test_a_pure_loss_is_concentrated():
    assert Concentrated.of_pure(Loss.of(Fraction(1))) == Concentrated(5 * 10**8)
    assert Concentrated.of_pure(Loss(1)) == Concentrated(1)  # epsilon**2 / 2 is far below


@pytest.mark.parametrize(("widths", "norm"), [((), 1), ((-1,), 1), ((WIDEST + 1,), 1), ((1,), 0)])
def test_sensitivities_out_of_range_are_refused(widths: tuple[int, ...], norm: int):
    check_norm((0, WIDEST), 1)
    with pytest.raises(InvalidMechanism):
        check_norm(widths, norm)
