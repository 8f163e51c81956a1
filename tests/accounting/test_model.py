from collections.abc import Callable
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dpproxy.accounting.model import (
    MAX_NANO,
    NANO,
    Account,
    AccountKind,
    Charge,
    Debit,
    account_of,
    format_delta,
    format_epsilon,
    key_of,
    nano_limit,
)
from udfs.privacy import Loss


def test_names_cannot_run_into_each_other():
    assert Account.user("a/b", "c") != Account.user("a", "b/c")
    assert Account.budget("x") != Account.ceiling("x")


@pytest.mark.parametrize("kind", AccountKind)
def test_an_account_survives_its_columns(kind: AccountKind):
    account = Account(kind, "n", "m", "b", 7)
    assert account_of(key_of(account)) == account


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="stranger"):
        account_of(("stranger", "", "", "", 0))


@pytest.mark.parametrize(
    "change",
    [
        {"nano": 0},
        {"nano": -1},
        {"nano": MAX_NANO + 1},
        {"statement": b"short"},
        {"release": b""},
        {"debits": (Debit(Account.budget("b")), Debit(Account.budget("b"), 5))},
        {"debits": (Debit(Account.budget("b"), -1),)},
        {"debits": (Debit(Account.budget("b"), MAX_NANO + 1),)},
        {"debits": (Debit(Account.budget("b"), None, Fraction(-1, 10)),)},
        {"delta": Fraction(-1, 10)},
        {"delta": Fraction(1)},
        {"label": "\ud800"},
        {"debits": (Debit(Account.user("b", "\udfff")),)},
    ],
)
def test_a_charge_the_ledger_could_not_hold_is_refused(make: Callable[..., Charge], change: dict[str, Any]):
    with pytest.raises(ValueError, match=r"."):
        replace(make(), **change)


@given(st.fractions(min_value=0, max_value=10**6))
def test_losses_round_up_and_limits_down(epsilon: Fraction):
    loss, limit = Loss.of(epsilon).nano, nano_limit(epsilon)
    assert limit <= epsilon * NANO <= loss
    assert loss - limit == (0 if (epsilon * NANO).denominator == 1 else 1)


def test_a_huge_limit_is_held_to_what_an_account_can_hold():
    assert nano_limit(Fraction(10**20)) == MAX_NANO


@given(st.integers(min_value=0, max_value=MAX_NANO))
def test_epsilon_is_printed_exactly(nano: int):
    assert Fraction(format_epsilon(nano)) == Fraction(nano, NANO)


@given(st.fractions(min_value=0, max_value=1))
def test_a_delta_for_people_is_never_below_what_is_paid_nor_above_what_is_left(delta: Fraction):
    paid, left = Fraction(format_delta(delta)), Fraction(format_delta(delta, ROUND_FLOOR))
    assert left <= delta <= paid
    assert paid - left <= delta / 10**5
