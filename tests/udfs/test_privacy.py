"""The vocabulary: losses round up, exact values stay hidden."""

from fractions import Fraction

from udfs.privacy import Exact, Loss, Released


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
