"""The interactive protocols: answered within the limit, refused beyond it, data untouched by what is refused."""

import threading
from fractions import Fraction

import pytest

from udfs.mechanisms import Gaussian, Laplace, Staircase
from udfs.privacy import NANO, Concentrated, InvalidMechanism, Loss
from udfs.protocols import Filter, Interactive, Refused


class Known:
    """A refinement that answers what it was asked with."""

    def __init__(self, nano: int, delta: Fraction = Fraction(0)) -> None:
        self.loss, self.delta = Loss(nano), delta

    def release(self, truth: str) -> str:
        return truth


def never() -> list[int]:
    raise AssertionError("a refused query touched the data")


def test_noise_is_answered_up_to_the_limit_and_no_further():
    session = Interactive(Filter(Loss(NANO)))
    for nano in (NANO // 2, NANO // 4, NANO // 4):
        assert len(session.ask(lambda: [3, 4], Staircase.best((1, 1), nano))) == 2
    assert session.remaining() == Loss(0)
    with pytest.raises(Refused):
        session.ask(never, Laplace.best((1,), NANO // 1000))


def test_what_is_refused_costs_nothing_and_a_smaller_query_is_answered():
    session = Interactive(Filter(Loss(NANO)))
    with pytest.raises(Refused):
        session.ask(never, Laplace.best((1,), NANO + 1))
    session.ask(lambda: [0], Laplace.best((1,), NANO))


def test_what_is_answered_is_charged_before_the_data_is_touched():
    session = Interactive(Filter(Loss(NANO)))
    with pytest.raises(AssertionError):
        session.ask(never, Staircase.best((1,), NANO))
    assert session.remaining() == Loss(0)


def test_refinements_share_the_limit_with_noise():
    session = Interactive(Filter(Loss(NANO), Fraction(1, 100)))
    assert session.refine(lambda: "flu", Known(NANO // 2, Fraction(1, 100))) == "flu"
    with pytest.raises(Refused):
        session.refine(lambda: "flu", Known(NANO // 4, Fraction(1, 10**9)))
    session.ask(lambda: [1], Staircase.best((1,), NANO // 2))
    with pytest.raises(Refused):
        session.refine(lambda: "flu", Known(1))


def test_a_limit_of_rho_takes_pure_losses_too():
    account = Filter(Concentrated(NANO))
    session = Interactive(account)
    session.ask(lambda: [1], Gaussian.best((1,), NANO // 2))
    session.ask(lambda: [1], Staircase.best((1,), NANO))
    assert account.remaining() == Concentrated(0)


def test_what_cannot_be_accounted_is_an_error():
    with pytest.raises(InvalidMechanism):
        Interactive(Filter(Loss(NANO))).ask(never, Gaussian.best((1,), NANO))
    for wrong in (Loss(-1), Concentrated(-1)):
        with pytest.raises(InvalidMechanism):
            Filter(Concentrated(NANO)).spend(wrong)
    with pytest.raises(InvalidMechanism):
        Filter(Loss(NANO)).spend(Loss(1), Fraction(-1))


def test_exactly_as_many_as_fit_when_many_ask_at_once():
    session, answered = Interactive(Filter(Loss(NANO))), []

    def ask() -> None:
        for _ in range(20):
            try:
                answered.append(session.ask(lambda: [0], Laplace.best((1,), NANO // 10)))
            except Refused:
                return

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answered) == 10
