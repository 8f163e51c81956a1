"""Which limit is hit, what is left of it, and what is said."""

from fractions import Fraction

import pytest

from dpproxy.accounting.limits import LimitReached, check, count, instant, tightest
from dpproxy.accounting.model import MAX_NANO, NANO, NO_DELTA, Account, Cost, Debit
from dpproxy.accounting.windows import Standing
from udfs.conversion import within
from udfs.privacy import Loss

BUDGET = Account.budget("research")
DELTA = Fraction(1, 10**6)
RHO = within(Loss.of(Fraction(2)), DELTA / 2).rho
ZCDP = Debit(BUDGET, 2 * NANO, DELTA / 2, RHO)


def test_under_zcdp_a_limit_is_of_rho_exactly():
    price = Cost.of(NANO // 100)
    many = int(RHO / price.rho)
    spent = sum([price] * many, Cost())
    before = sum([price] * (many - 1), Cost())
    check(Standing(ZCDP, before), price)
    with pytest.raises(LimitReached) as caught:
        check(Standing(ZCDP, spent), price)
    assert many > 1000  # by the plain sum, 200 of them are all of epsilon 2
    assert caught.value.message.startswith('privacy budget "research" has 0.0')
    assert str(caught.value.detail).startswith("Its limit is 2 epsilon with delta 1e-6 over all statements, ")


def test_what_is_left_of_rho_is_the_largest_epsilon_that_still_fits():
    spent = Cost(0, NO_DELTA, RHO / 3)
    left = ZCDP.left(spent)
    assert left is not None
    check(Standing(ZCDP, spent), Cost.of(left))
    with pytest.raises(LimitReached) as caught:
        check(Standing(ZCDP, spent), Cost.of(left + 1))
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("ask for less: SET dp.epsilon = 0.")


def test_under_zcdp_the_sum_of_epsilons_does_not_matter():
    check(Standing(ZCDP, Cost(MAX_NANO, NO_DELTA, NO_DELTA)), Cost.of(NANO // 10))


def test_delta_of_releases_has_its_own_limit():
    asked = Cost.of(NANO // 10, DELTA / 2)
    check(Standing(ZCDP, Cost()), asked)
    with pytest.raises(LimitReached, match="has delta 4e-7 left"):
        check(Standing(ZCDP, Cost(0, DELTA / 10, NO_DELTA)), asked)


@pytest.mark.parametrize(
    ("account", "named"),
    [
        (Account.session("s", "b"), "this session has"),
        (Account.user("b", "ann"), 'user "ann" of privacy budget "b" has'),
        (Account.budget("b"), 'privacy budget "b" has'),
        (Account.ceiling("people", "1:north"), 'the privacy ceiling of "people" has'),
    ],
)
def test_the_limit_is_named_and_the_block_is_not(account: Account, named: str):
    with pytest.raises(LimitReached) as caught:
        check(Standing(Debit(account, 1), Cost()), Cost.of(2))
    assert caught.value.message == f"{named} 0.000000001 epsilon left, the statement asks for 0.000000002"


def test_how_often_a_price_can_be_paid():
    price = Cost.of(NANO // 10, DELTA / 20)
    basic = Standing(Debit(BUDGET, NANO, DELTA), Cost(NANO // 4, NO_DELTA))
    assert count([basic], price) == 7
    assert count([basic, Standing(ZCDP, Cost())], price) == 7
    assert count([Standing(ZCDP, Cost())], price) == 10  # of delta; of rho more
    assert count([Standing(ZCDP, Cost())], Cost.of(NANO // 10)) == int(RHO * 200)
    assert count([Standing(Debit(BUDGET), Cost())], price) is None
    assert count([Standing(Debit(BUDGET, 1), Cost(nano=5))], price) == 0
    assert count([basic], Cost()) is None


def test_the_tightest_limit():
    assert tightest([Standing(Debit(BUDGET), Cost())]) is None
    assert tightest([Standing(Debit(BUDGET, 9), Cost(4)), Standing(Debit(BUDGET, 8), Cost(5))]) == 3
    assert tightest([Standing(Debit(BUDGET, 3), Cost(4))]) == 0


def test_moments_are_told_in_utc():
    assert str(instant(1_767_225_600_000_000)) == "2026-01-01 00:00:00"
