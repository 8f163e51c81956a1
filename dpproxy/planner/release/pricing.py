"""What a compiled statement costs, and with what noise: one fold over what it releases.

A statement is compiled without its loss: each release is a ``Draft``, which says what part of the plan it is at any
loss. Once all of them are known, each has an equal share of the statement's loss, and those that cost delta one of its
delta. What follows from noise was written down as figures, which are known then.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from msgspec import Struct

from dpproxy.algebra.figures import Figure
from dpproxy.algebra.plan import Drawn, Part
from dpproxy.planner.release.allocation import TooLittle
from dpproxy.values.errors import TooComplex
from dpproxy.values.structs import PartlyCompared
from udfs.privacy import NANO, Loss

LEAST_DELTA = Fraction(1, 10**30)
"""A delta is a multiple of it."""
TURNS = 4
"""How many releases cost delta follows from the share of each, which follows from how many these are."""


class Terms(NamedTuple):
    """What a statement may cost, or one release of it; ``concentrated`` where losses add up as rho."""

    loss: Loss
    delta: Fraction = Fraction(0)
    concentrated: bool = False


ANY_TERMS = Terms(Loss(NANO), Fraction(1, 10**6))
"""Of what nothing is released of."""


class Price(NamedTuple):
    """A part of the plan, and what its noise follows from."""

    part: Part
    source: object = None


class Draft(Struct, frozen=True):
    """One release as it is compiled: a part in which what follows from its loss is left open, and what says that.

    Two that are computed alike and ``drawn`` alike are one, whatever it costs.
    """

    part: Part
    """With the exact stage cut as far as it may have to be."""
    drawn: tuple[object, ...]
    """All that its noise follows from but the loss."""
    price: Callable[[Part, Terms], Price]
    rest: bool = False
    """It takes what others leave of its portion."""

    @property
    def alike(self) -> tuple[object, ...]:
        """What tells it from others."""
        return self.part.query, self.drawn, self.part.keys, self.part.inputs, self.part.vacuous


class Source(PartlyCompared, Figure, frozen=True):
    """What the noise of a release follows from, by its number: alike where it is ``drawn`` alike."""

    UNCOMPARED = frozenset({"number"})

    number: int = 0
    drawn: tuple[object, ...] = ()

    def __hash__(self) -> int:
        return hash(self.made)


def priced(drafts: Sequence[Draft], terms: Terms, losses: Sequence[Drawn] | None) -> list[Price]:
    """The parts of a statement that may cost so much; ``losses`` are those of parts that are known.

    Errors: ``TooLittle`` (22023) for a loss that cannot be shared; what drafts refuse.
    """
    shares, selections = max(1, charged(drafts)), 1
    for _ in range(TURNS):
        each = [
            Terms(_share(d, n, terms.loss, shares, losses), _delta(terms, selections), terms.concentrated)
            for n, d in enumerate(drafts)
        ]
        try:
            found = [draft.price(draft.part, own) for draft, own in zip(drafts, each, strict=True)]
        except TooLittle as error:
            raise error.of(terms.loss, shares) from None
        count = max(1, sum(1 for p in found if p.part.delta and not p.part.vacuous))
        if count == selections:
            return found
        selections = count
    raise TooComplex("the statement has too many parts that depend on each other")


def charged(drafts: Sequence[Draft]) -> int:
    """How many releases draw noise; those that share one portion are one."""
    return ceil(sum(d.part.portion for d in drafts if not d.part.vacuous))


def _share(draft: Draft, number: int, loss: Loss, shares: int, losses: Sequence[Drawn] | None) -> Loss:
    if losses is not None and number < len(losses):
        return losses[number].loss
    whole, portion = loss.nano // shares, draft.part.portion
    return Loss(whole - int(whole * (1 - portion)) if draft.rest else int(whole * portion))


def _delta(terms: Terms, selections: int) -> Fraction:
    """A whole number of steps, so that sums stay short."""
    return Fraction(int(terms.delta / selections / LEAST_DELTA), 1) * LEAST_DELTA
