"""What private methods ask for."""

from fractions import Fraction

import pytest

from dpproxy.anonymize import price
from dpproxy.anonymize.model import Attribute, InvalidOption, LatticeDomain, OptionValue, ViewRequest
from udfs.privacy import LEAST_NANO, Loss


def request(**options: OptionValue) -> ViewRequest:
    return ViewRequest((Attribute("a", LatticeDomain(0, 9)),), options)


def test_epsilon() -> None:
    assert price.epsilon(request(epsilon=Fraction(1, 2))) == Loss(500_000_000)
    for wrong in ({}, {"epsilon": 0}, {"epsilon": -1}, {"epsilon": 10**7}, {"epsilon": "much"}):
        with pytest.raises(InvalidOption) as caught:
            price.epsilon(request(**wrong))
        assert caught.value.option == "epsilon"


def test_delta() -> None:
    assert price.delta(request()) == 0
    assert price.delta(request(delta=Fraction(1, 10**6))) == Fraction(1, 10**6)
    with pytest.raises(InvalidOption):
        price.delta(request(delta=1))


def test_cluster_size() -> None:
    assert price.cluster_size(request()) is None
    assert price.cluster_size(request(k="auto")) is None
    assert price.cluster_size(request(k=7)) == 7
    with pytest.raises(InvalidOption):
        price.cluster_size(request(k=1))


def test_counting_the_rows_is_a_small_part_and_never_below_the_least() -> None:
    assert price.counting(Loss(10**9)) == Loss(50_000_000)
    assert price.counting(Loss(10**7)).nano == LEAST_NANO


def test_parts_and_columns_are_enough() -> None:
    price.enough(Loss(LEAST_NANO))
    with pytest.raises(InvalidOption):
        price.enough(Loss(LEAST_NANO - 1))
    with pytest.raises(InvalidOption):
        price.attributes(ViewRequest((), {}))


def test_losses_for_people() -> None:
    assert price.shown(Loss(1_500_000_000)) == "1.5"
    assert price.shown(Fraction(1, 10**6)) == "1e-06"
