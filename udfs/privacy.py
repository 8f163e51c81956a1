"""The vocabulary of privacy as values: losses, and data before and after a mechanism."""

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from udfs.randomness import Integers, Words

T_co = TypeVar("T_co", covariant=True)

NANO = 10**9
LEAST_NANO = NANO // 1000
"""The least epsilon of a mechanism, 1/1000, in nano-epsilon."""


class InvalidMechanism(ValueError):
    """A mechanism's parameter is outside its range; carries public values only."""


@dataclass(frozen=True, slots=True, order=True)
class Loss:
    """What a release costs: pure epsilon in whole nano-epsilon (rounded up by whoever makes it).

    >>> Loss.of(Fraction(1, 3))
    Loss(nano=333333334)
    """

    nano: int

    @staticmethod
    def of(epsilon: Fraction) -> "Loss":
        """The least loss that is at least ``epsilon``."""
        return Loss(-(-epsilon.numerator * NANO // epsilon.denominator))

    @property
    def epsilon(self) -> Fraction:
        """The loss in nats."""
        return Fraction(self.nano, NANO)


@dataclass(frozen=True, slots=True)
class Exact(Generic[T_co]):
    """A value computed from private data; it may reach a mechanism and nothing else.

    The representation hides the value, so that neither a log line nor a traceback releases it.
    """

    value: T_co

    def __repr__(self) -> str:
        return "Exact(<hidden>)"


@dataclass(frozen=True, slots=True)
class Released(Generic[T_co]):
    """A value a mechanism has paid for; post-processing keeps it released."""

    value: T_co
    loss: Loss


class Mechanism(Protocol):
    """A source of additive integer noise; frozen and hashable, so that its draws can be prepared."""

    @property
    def loss(self) -> Loss:
        """What one release of the whole vector costs."""
        ...

    def noise_sd(self) -> tuple[float, ...]:
        """Return the standard deviation of each component."""
        ...

    def half_width(self, confidence: Fraction | float) -> tuple[int, ...]:
        """Return the half-width of each component's interval around 0."""
        ...

    def draw(self, count: int, words: Words = os.urandom) -> Integers:
        """Draw ``count`` noise vectors, shape (count, d)."""
        ...
