"""The types of differential privacy: losses, mechanisms, and values before and after a release."""

import os
from fractions import Fraction
from typing import Final, Generic, Protocol, TypeVar

from msgspec import Struct

from udfs.randomness import Integers, Words

T_co = TypeVar("T_co", covariant=True)

NANO = 10**9
LEAST_NANO = NANO // 1000
"""The least epsilon of a mechanism, 1/1000, in nano-epsilon."""


WIDEST: Final = 10**38 - 1
"""The largest sensitivity, in lattice steps: the largest NUMERIC(38)."""


class InvalidMechanism(ValueError):
    """A mechanism's parameter is outside its range; carries public values only."""


class Loss(Struct, frozen=True, order=True):
    """The loss of a release under pure differential privacy: epsilon, in whole nano-epsilon, rounded up (see ``of``).

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


class Concentrated(Struct, frozen=True, order=True):
    """The loss of a release under zero-concentrated differential privacy: rho, in whole nano-rho, rounded up.

    Several releases cost the sum of their rho; ``udfs.conversion`` converts it to epsilon and delta.

    >>> Concentrated.of_pure(Loss.of(Fraction(1, 10)))
    Concentrated(nano=5000000)
    """

    nano: int

    @staticmethod
    def of(rho: Fraction) -> "Concentrated":
        """The least loss that is at least ``rho``."""
        return Concentrated(-(-rho.numerator * NANO // rho.denominator))

    @staticmethod
    def of_pure(loss: Loss) -> "Concentrated":
        """The greatest rho of a release with a pure loss: epsilon**2 / 2."""
        return Concentrated.of(loss.epsilon**2 / 2)

    @property
    def rho(self) -> Fraction:
        """The loss as a number."""
        return Fraction(self.nano, NANO)


class Exact(Struct, Generic[T_co], frozen=True):
    """A value computed from private data, to be passed to mechanisms only.

    The representation hides the value, so that neither a log line nor a traceback reveals it.
    """

    value: T_co

    def __repr__(self) -> str:
        return "Exact(<hidden>)"


class Released(Struct, Generic[T_co], frozen=True):
    """The output of a mechanism whose loss has been charged, or anything computed from such outputs."""

    value: T_co
    loss: Loss


def check_norm(widths: tuple[int, ...], norm: int) -> None:
    """Refuse an empty list of sensitivities, sensitivities out of range, and a norm below 1."""
    if not widths:
        raise InvalidMechanism("a mechanism needs one sensitivity per component")
    if any(not 0 <= width <= WIDEST for width in widths):
        raise InvalidMechanism("a sensitivity must be a whole number between 0 and 10^38 - 1")
    if norm < 1:
        raise InvalidMechanism("the norm of a unit's change must be at least 1")


class Mechanism(Protocol):
    """A source of additive integer noise; frozen and hashable, so that draws can be made in advance (``udfs.pool``)."""

    @property
    def loss(self) -> Loss | Concentrated:
        """The loss of one release of the whole vector."""

    def noise_sd(self) -> tuple[float, ...]:
        """Return the standard deviation of each component."""

    def half_width(self, confidence: Fraction | float) -> tuple[int, ...]:
        """Return the half-width of each component's interval around 0."""

    def draw(self, count: int, words: Words = os.urandom) -> Integers:
        """Draw ``count`` noise vectors, shape (count, d)."""
