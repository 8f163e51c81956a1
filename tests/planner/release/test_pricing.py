from collections.abc import Callable
from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Drawn, Part
from dpproxy.planner.release.allocation import TooLittle
from dpproxy.planner.release.pricing import LEAST_DELTA, Draft, Price, Terms, charged, priced
from dpproxy.values.errors import TooComplex
from udfs.privacy import NANO, Loss

PART = Part(nodes.Select(), truncated=False, release="", keys=(), measures=1, box="", noise="", loss=Loss(1))


def plain(part: Part, terms: Terms) -> Price:
    return Price(replace(part, loss=terms.loss), terms)


def costly(part: Part, terms: Terms) -> Price:
    return Price(replace(part, loss=terms.loss, noise_delta=terms.delta), terms)


def draft(
    price: Callable[[Part, Terms], Price] = plain,
    *,
    vacuous: bool = False,
    portion: Fraction = Fraction(1),
    rest: bool = False,
) -> Draft:
    return Draft(replace(PART, vacuous=vacuous, portion=portion), (), price, rest)


def losses(*drafts: Draft, terms: Terms, known: tuple[Drawn, ...] | None = None) -> list[int]:
    return [price.part.loss.nano for price in priced(drafts, terms, known)]


@pytest.mark.parametrize("shares", [1, 3, 7])
def test_shares_never_add_up_to_more(shares: int):
    terms = Terms(Loss(NANO), Fraction(1, 10**6))
    found = priced([draft(costly)] * shares, terms, None)
    assert NANO - shares < sum(p.part.loss.nano for p in found) <= NANO
    delta = sum(p.part.delta for p in found)
    assert terms.delta - shares * LEAST_DELTA < delta <= terms.delta
    assert all((p.part.delta / LEAST_DELTA).denominator == 1 for p in found)


def test_what_releases_nothing_costs_nothing():
    drafts = [draft(), draft(vacuous=True), draft(costly)]
    assert charged(drafts) == 2
    found = priced(drafts, Terms(Loss(NANO), Fraction(1, 10**6)), None)
    assert [p.part.vacuous for p in found] == [False, True, False]
    assert found[0].part.loss == found[2].part.loss == Loss(NANO // 2)
    assert found[2].part.delta == Fraction(1, 10**6)  # which alone costs some


def test_what_shares_a_portion_is_one():
    third = Fraction(1, 3)
    drafts = [draft(portion=1 - third), draft(portion=third, rest=True), draft()]
    assert charged(drafts) == 2
    assert losses(*drafts, terms=Terms(Loss(11))) == [3, 2, 5]


def test_the_losses_of_stored_releases_come_first():
    assert losses(draft(), draft(), terms=Terms(Loss(10)), known=(Drawn(Loss(3)),)) == [3, 5]


def test_too_little_is_said_of_the_whole_statement():
    def refuse(_: Part, terms: Terms) -> Price:
        raise TooLittle(terms.loss, Loss(6), "to share", "ask for less")

    with pytest.raises(TooLittle, match="for 2 parts, each to share") as caught:
        priced([draft(), draft(refuse)], Terms(Loss(10)), None)
    assert caught.value.least == Loss(12)


def test_a_delta_that_nobody_takes_if_it_is_shared_is_no_plan():
    def either(part: Part, terms: Terms) -> Price:
        return (costly if terms.delta == Fraction(1, 2) else plain)(part, terms)

    with pytest.raises(TooComplex, match="depend on each other"):
        priced([draft(either)] * 2, Terms(Loss(NANO), Fraction(1, 2)), None)
