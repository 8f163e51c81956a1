"""Concentrated losses in epsilon and delta, against Google's accountants."""

from fractions import Fraction

import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
from dp_accounting.rdp import RdpAccountant

from udfs.conversion import delta, epsilon, within
from udfs.privacy import NANO, Concentrated, InvalidMechanism, Loss

LOSSES = [
    (Fraction(1, 10**6), Fraction(1, 10**5)),
    (Fraction(1, 200), Fraction(1, 10**6)),
    (Fraction(1, 2), Fraction(1, 10**5)),
    (Fraction(5), Fraction(1, 10**9)),
    (Fraction(50), Fraction(1, 100)),
]


@pytest.mark.parametrize(("rho", "most"), LOSSES)
def test_epsilon_is_between_the_exact_one_and_that_of_a_grid_of_orders(rho: Fraction, most: Fraction):
    """A Gaussian's own curve lies below what follows from its rho; the best order is at least as good as any."""
    found = float(epsilon(Concentrated.of(rho), most).epsilon)
    sigma = float(1 / (2 * rho)) ** 0.5
    accountant = RdpAccountant()
    accountant.compose(GaussianDpEvent(sigma))
    on_grid = accountant.get_epsilon(float(most))
    assert found <= on_grid + 1e-9  # rounded up to nano
    if rho >= Fraction(1, 200):  # smaller ones have their best order beyond the grid
        assert found > on_grid * 0.999
        assert found > from_gaussian_mechanism(sigma).get_epsilon_for_delta(float(most))


@pytest.mark.parametrize(("rho", "most"), LOSSES)
def test_delta_is_the_inverse(rho: Fraction, most: Fraction):
    loss = Concentrated.of(rho)
    at = epsilon(loss, most)
    assert delta(loss, at) <= most
    assert delta(loss, Loss(at.nano - 1)) > most * (1 - Fraction(1, 10**6))


@pytest.mark.parametrize(("rho", "most"), LOSSES)
def test_within_is_the_greatest(rho: Fraction, most: Fraction):
    loss = Concentrated.of(rho)
    found = within(epsilon(loss, most), most)
    assert found >= loss
    assert epsilon(found, most) <= epsilon(loss, most)
    assert epsilon(Concentrated(found.nano + 1), most) > epsilon(loss, most)


def test_ends():
    assert epsilon(Concentrated(0), Fraction(1, 10)) == Loss(0)
    assert within(Loss(0), Fraction(1, 10**9)) == Concentrated(0)
    assert delta(Concentrated(10**6 * NANO), Loss(0)) == 1
    assert 0 < delta(Concentrated(1), Loss(10**6 * NANO)) < Fraction(1, 10**400)
    assert epsilon(Concentrated(10**12 * NANO), Fraction(1, 10**6)) > Loss(10**12 * NANO)


@pytest.mark.parametrize("wrong", [Fraction(0), Fraction(1), Fraction(-1, 2)])
def test_delta_is_a_probability(wrong: Fraction):
    with pytest.raises(InvalidMechanism):
        epsilon(Concentrated(1), wrong)
