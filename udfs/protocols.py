"""The two interactive protocols over any accountant: an analyst's queries are answered up to a limit of the loss.

The loss of a query is charged before its data is read. A query that would exceed the limit is refused; that depends on
the losses of the queries, never on data. An analyst may choose each loss in the light of earlier answers: sums are a
privacy filter for pure losses and for rho (Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters", 2016;
Feldman, Zrnic, "Individual privacy accounting via a Renyi filter", 2021). Source: Soria-Comas, "Improving data utility
in differential privacy and k-anonymity", 2013, ch. 5, protocols 1 and 2.
"""

import threading
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol, TypeVar

from udfs.functions.joint import Joint
from udfs.pool import Pool
from udfs.privacy import Concentrated, InvalidMechanism, Loss
from udfs.release import release

T_contra = TypeVar("T_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
A = TypeVar("A")


class Refused(Exception):
    """A query would exceed the limit; nothing was charged and no data was read."""


class Accountant(Protocol):
    """Adds up the losses of one protected data set; ``spend`` is atomic, because threads may call it concurrently."""

    def spend(self, loss: Loss | Concentrated, delta: Fraction) -> bool:
        """Charge a loss irrevocably and return true; if it would exceed the limit, charge nothing, return false."""

    def remaining(self) -> Loss | Concentrated:
        """The loss that can still be spent."""


class Refining(Protocol[T_contra, T_co]):
    """A mechanism that answers with one draw from a prior whose masses are moved towards the truth."""

    @property
    def loss(self) -> Loss:
        """The loss of one answer."""

    @property
    def delta(self) -> Fraction:
        """The delta of one answer."""

    def release(self, truth: T_contra) -> T_co:
        """Draw one answer."""


class Filter:
    """An accountant in memory: losses add up to at most ``limit``, deltas to at most ``delta``.

    Under a limit of rho a pure loss counts as epsilon**2 / 2; under a pure limit there is no rho.

    >>> account = Filter(Loss(10**9))
    >>> account.spend(Loss(6 * 10**8)), account.spend(Loss(6 * 10**8)), account.remaining()
    (True, False, Loss(nano=400000000))
    """

    def __init__(self, limit: Loss | Concentrated, delta: Fraction = Fraction(0)) -> None:
        self._limit, self._delta = limit, delta
        self._spent, self._spent_delta = 0, Fraction(0)
        self._lock = threading.Lock()

    def spend(self, loss: Loss | Concentrated, delta: Fraction = Fraction(0)) -> bool:
        """See ``Accountant``. Errors: InvalidMechanism for a loss that is not of the limit's kind, or negative."""
        nano = self._nano(loss)
        if nano < 0 or delta < 0:
            raise InvalidMechanism("a loss is not negative")
        with self._lock:
            if self._spent + nano > self._limit.nano or self._spent_delta + delta > self._delta:
                return False
            self._spent += nano
            self._spent_delta += delta
            return True

    def remaining(self) -> Loss | Concentrated:
        """See ``Accountant``."""
        with self._lock:
            return type(self._limit)(self._limit.nano - self._spent)

    def _nano(self, loss: Loss | Concentrated) -> int:
        match self._limit, loss:
            case (Loss(), Loss(nano)) | (Concentrated(), Concentrated(nano)):
                return nano
            case (Concentrated(), Loss(nano)):
                return Concentrated.of_pure(Loss(nano)).nano if nano >= 0 else nano
            case _:
                raise InvalidMechanism("a limit of pure epsilon has no room for rho")


class Interactive:
    """Protocols 1 and 2: noise and refinement, each query with the loss its analyst chooses.

    >>> from udfs.mechanisms import Staircase
    >>> session = Interactive(Filter(Loss(10**9)))
    >>> len(session.ask(lambda: [120], Staircase.best((1,), 10**9)))
    1
    >>> session.ask(lambda: [120], Staircase.best((1,), 10**6))
    Traceback (most recent call last):
    udfs.protocols.Refused: the query would exceed the limit
    """

    def __init__(self, accountant: Accountant, pool: Pool | None = None) -> None:
        self._accountant, self._pool = accountant, pool

    def ask(self, query: Callable[[], Sequence[int | None]], mechanism: Joint) -> list[int]:
        """Answer a query with noise (protocol 1); see ``release``. Raises Refused."""
        self._charge(mechanism.loss, Fraction(0))
        return release(query(), mechanism, self._pool)

    def refine(self, query: Callable[[], T], refinement: Refining[T, A]) -> A:
        """Answer a query with a draw from the refined prior (protocol 2). Raises Refused."""
        self._charge(refinement.loss, refinement.delta)
        return refinement.release(query())

    def remaining(self) -> Loss | Concentrated:
        """The loss that can still be spent."""
        return self._accountant.remaining()

    def _charge(self, loss: Loss | Concentrated, delta: Fraction) -> None:
        if not self._accountant.spend(loss, delta):
            raise Refused("the query would exceed the limit")
