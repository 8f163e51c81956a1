"""Declared limits, and that concentrated ones hold: against Google's accountant and against numerical integration."""

import math
from fractions import Fraction

import pytest
from dp_accounting import DpEvent, GaussianDpEvent, LaplaceDpEvent, SelfComposedDpEvent
from dp_accounting.rdp import RdpAccountant
from scipy.integrate import quad

from dpproxy.accounting.accounts import as_epsilon, limited
from dpproxy.accounting.model import NANO, Account, Cost
from dpproxy.policy.interval import CalendarInterval, Step

BUDGET = Account.budget("research")
DELTA = Fraction(1, 10**6)
MONTH = CalendarInterval(1, Step.MONTH)


def test_a_plain_limit_is_the_sum_of_epsilon_and_that_of_delta():
    debit = limited(BUDGET, Fraction(3, 2), DELTA, MONTH)
    assert (debit.limit, debit.delta_limit, debit.rho_limit, debit.refresh) == (
        3 * NANO // 2,
        DELTA,
        None,
        MONTH,
    )
    assert as_epsilon(Cost(7, DELTA, Fraction(1)), debit) == 7


def test_without_epsilon_there_is_no_limit():
    debit = limited(BUDGET, None, DELTA, MONTH, concentrated=True)
    assert (debit.limit, debit.delta_limit, debit.rho_limit, debit.refresh) == (None, None, None, MONTH)


def test_a_concentrated_limit_is_the_greatest_rho_that_half_of_delta_allows():
    debit = limited(BUDGET, Fraction(2), DELTA, concentrated=True)
    assert debit.delta_limit == DELTA / 2
    assert debit.rho_limit is not None
    full = Cost(0, Fraction(0), debit.rho_limit)
    assert as_epsilon(full, debit) <= 2 * NANO
    assert as_epsilon(full + Cost(rho=Fraction(1, NANO)), debit) > 2 * NANO
    assert as_epsilon(Cost(), debit) == 0


def test_without_delta_a_concentrated_limit_allows_nothing():
    assert limited(BUDGET, Fraction(2), Fraction(0), concentrated=True).rho_limit == 0


def fill(epsilon: Fraction, each: int) -> int:
    """How many releases of ``each`` nano-epsilon a concentrated limit lets through."""
    debit = limited(BUDGET, epsilon, DELTA, concentrated=True)
    assert debit.rho_limit is not None
    return int(debit.rho_limit / Cost.of(each).rho)


@pytest.mark.parametrize(
    ("epsilon", "each"),
    [
        (Fraction(1), NANO // 100),
        (Fraction(1), NANO // 20),
        (Fraction(2), NANO // 4),
        (Fraction(8), NANO // 100),
        (Fraction(8), NANO // 2),
    ],
)
def test_what_fills_a_limit_is_within_it_by_googles_accountant(epsilon: Fraction, each: int):
    """Gaussian releases that buy rho = e**2 / 2, and Laplace ones of e, as many as the ledger lets through."""
    count, e = fill(epsilon, each), each / NANO
    assert count > 0
    for one in (GaussianDpEvent(1 / e), LaplaceDpEvent(1 / e)):
        event: DpEvent = SelfComposedDpEvent(one, count)
        accountant = RdpAccountant()
        accountant.compose(event)
        assert accountant.get_epsilon(float(DELTA / 2)) <= float(epsilon) * (1 + 1e-3)  # its grid of orders


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(8)])
def test_what_fills_a_limit_is_within_it_by_integration(epsilon: Fraction):
    """The sum of Gaussian releases is one Gaussian: its delta at the limit, integrated over the privacy loss."""
    each = NANO // 100
    rho = fill(epsilon, each) * (each / NANO) ** 2 / 2
    # The loss of a Gaussian of rho is normal with mean rho and variance 2 rho.
    sd = math.sqrt(2 * rho)

    def integrand(loss: float) -> float:
        density = math.exp(-((loss - rho) ** 2) / (4 * rho)) / (sd * math.sqrt(2 * math.pi))
        return density * -math.expm1(float(epsilon) - loss)

    found, error = quad(integrand, float(epsilon), rho + 40 * sd, points=[float(epsilon) + sd], limit=200)
    assert found + error < float(DELTA / 2)
    assert found > float(DELTA) / 100  # and not far below: the limit is not given away


def test_small_statements_fit_far_more_often_than_the_plain_sum():
    assert fill(Fraction(2), NANO // 100) > 1000
    assert 2 * NANO // (NANO // 100) == 200
