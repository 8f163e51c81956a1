"""Knowledge refinement: one draw from the analyst's prior, moved towards the truth as far as epsilon allows.

With probability ``down`` the answer is a draw from the prior; otherwise a draw from the prior's ``mass`` nearest to
the truth. So every value's probability is its prior one times a factor between ``down`` (far) and ``up``
(near); the ring of values between, all at one distance, gets one factor in between. Source: Soria-Comas,
"Improving data utility in differential privacy and k-anonymity", 2013, ch. 5, with P(U_u) and P(U_d)
exchanged in Algorithm 1, the ring's factor divided by the ring's mass, and less mass moved for delta.
Proof: ``refinement.md``.
"""

import os
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, Literal

import numpy as np
from msgspec import Struct

from udfs.mechanisms.balls import Cells, Floats, Space, Truth
from udfs.mechanisms.levels import ratio
from udfs.priors import WHOLE, Prior
from udfs.privacy import LEAST_NANO, InvalidMechanism, Loss
from udfs.randomness import LawTable, Words, below

Kind = Literal["statistical", "individual"]
KINDS: Final[tuple[Kind, ...]] = ("statistical", "individual")


class Refinement(Struct, frozen=True, dict=True):
    """Answer with one value of the prior.

    ``statistical``: the answer to a query over many, private whatever a unit changes in it. ``individual``:
    one unit's value; without the unit the answer is a draw from the prior, as for every truth that is None
    or that the prior cannot place.
    Units: ``nano`` in nano-epsilon; ``mass`` in 1 / ``WHOLE``, the prior mass of values made more likely.
    Privacy: one release costs ``loss`` and ``delta``. For ``individual`` that holds between the unit present and
        absent; between two values of it the loss is up to twice that.
    Errors: InvalidMechanism.

    >>> from udfs.priors import nominal
    >>> prior = nominal(["no", "yes"], [0.99, 0.01])
    >>> [round(float(p), 7) for p in Refinement.individual(prior, 10**9).pmf("yes")]
    [0.9728172, 0.0271828]
    """

    prior: Prior
    nano: int
    kind: Kind
    mass: int
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        _check(self.nano)
        if self.kind not in KINDS:
            raise InvalidMechanism("a refinement is statistical or individual")
        if not 0 <= self.delta < 1:
            raise InvalidMechanism("delta must be at least 0 and below 1")
        if not 1 <= self.mass <= WHOLE or self.up * self.q > (1 if self.kind == "individual" else self.down):
            raise InvalidMechanism("the mass of a refinement is outside its range")

    @staticmethod
    @lru_cache(maxsize=256)
    def individual(prior: Prior, nano: int, delta: Fraction = Fraction(0)) -> "Refinement":
        """Return the refinement of one unit's value, with factors e**epsilon and e**-epsilon."""
        _check(nano)
        q = Fraction(ratio(nano), 2**64)
        return Refinement(prior, nano, "individual", -(-WHOLE * q // (1 + q)), delta)

    @staticmethod
    @lru_cache(maxsize=256)
    def statistical(prior: Prior, nano: int, delta: Fraction = Fraction(0)) -> "Refinement":
        """Return the refinement of a query with the least expected distance where the prior is right."""
        return Refinement(prior, nano, "statistical", _best_mass(prior, nano), delta)

    @staticmethod
    @lru_cache(maxsize=256)
    def balanced(prior: Prior, nano: int, delta: Fraction = Fraction(0)) -> "Refinement":
        """Return the refinement of a query with factors e**(epsilon / 2) and e**-(epsilon / 2), up to rounding."""
        _check(nano)
        root = Fraction(ratio(Fraction(nano, 2)), 2**64)
        return Refinement(prior, nano, "statistical", max(round(WHOLE * root / (1 + root)), 1), delta)

    @property
    def loss(self) -> Loss:
        """The epsilon of one release."""
        return Loss(self.nano)

    @property
    def q(self) -> Fraction:
        """A rational that is at least e**-epsilon."""
        return Fraction(ratio(self.nano), 2**64)

    @property
    def near(self) -> Fraction:
        """The prior mass of the values made more likely: P(U_u)."""
        return Fraction(self.mass, WHOLE)

    @property
    def down(self) -> Fraction:
        """The factor of values far from the truth: a_d."""
        return self.q if self.kind == "individual" else self.q / (self.near * (1 - self.q) + self.q)

    @property
    def up(self) -> Fraction:
        """The factor of values near the truth: a_u."""
        return self.down + (1 - self.down) / self.near

    @property
    def kept(self) -> int:
        """The mass, in 1 / ``WHOLE``, that the draw from the prior leaves where it is; delta moves the rest."""
        share = self.q if self.kind == "individual" else self.q / (1 + self.q)
        return WHOLE - min(int(self.delta * share / self.down * WHOLE), WHOLE - self.mass)

    @property
    def expected_distance(self) -> float:
        """The expected distance of the answer from the truth, where the truth is drawn from the prior."""
        return self._law.expected_distance

    def pmf(self, truth: Truth) -> tuple[Fraction, ...]:
        """Return the exact probability of each value of the prior as the answer."""
        place = self._law.space.place([truth])
        return self._law.pmf(place)

    def release(self, truth: Truth, words: Words = os.urandom) -> float | str:
        """Return the answer: one draw."""
        return self.release_all([truth], words)[0]

    def release_all(self, truths: Sequence[Truth], words: Words = os.urandom) -> list[float | str]:
        """Return one draw for each truth."""
        values = self.prior.values
        return [values[index] for index in self._law.draw(self._law.space.place(truths), words).tolist()]

    def release_numbers(self, truths: Floats, words: Words = os.urandom) -> Floats:
        """Return one draw for each number (NaN: None), where values are numbers and their distance is absolute."""
        drawn: Floats = self._law.numbers[self._law.draw(self._law.space.place_numbers(truths), words)]
        return drawn

    @cached_property
    def _law(self) -> "_Law":
        return _Law(self)


class _Law:
    """The tables of a refinement: from the place of a truth to its answer."""

    def __init__(self, refinement: Refinement) -> None:
        self.space, self._down = _space(refinement.prior), refinement.down
        self._mass, self._kept = refinement.mass, refinement.kept
        near, far = self.space.balls(self._mass), self.space.balls(self._kept)
        self._near, self._far, self._apart = near, far, len(near.bounds)
        self._bounds = np.concatenate([near.bounds, far.bounds])
        self.numbers = np.array(() if refinement.prior.labelled else refinement.prior.values)
        self._prior_branch = LawTable(1, self._boundary)
        a, b, c, d, row = self._bounds.T
        sums = self.space.sums
        self._start, self._skip, self._inside = sums[row, c], sums[row, a], sums[row, b] - sums[row, a]
        self._ring = sums[row, d] - sums[row, c] - self._inside
        masses = np.repeat([self._mass, self._kept], [len(near.bounds), len(far.bounds)])
        # Privacy rests on this alone; which values are nearest is a matter of utility.
        holds = (self._inside <= masses) & (masses <= self._inside + self._ring)
        if not holds.all():
            raise AssertionError("a ball and its ring do not hold their mass")

    def _boundary(self, _: int, precision: int) -> tuple[int, int]:
        rest = 1 - self._down
        scaled = rest.numerator << precision
        return scaled // rest.denominator, -(-scaled // rest.denominator)

    def draw(self, places: Floats, words: Words) -> Cells:
        """Draw the index of one answer for each place; the number of draws does not depend on the places."""
        prior = self._prior_branch.draw(len(places), words)
        level = below(np.where(prior == 1, WHOLE, self._mass).astype(np.uint64), words)
        state = np.where(prior == 1, self._far.find(places) + self._apart, self._near.find(places))
        inside, skip = self._inside[state], self._skip[state]
        extra = below(np.maximum(self._ring[state], 1).astype(np.uint64), words)
        at_ring = self._start[state] + extra
        at_ring += np.where(at_ring >= skip, inside, 0)
        found = self._value(np.where(level < inside, skip + level, at_ring), state)
        moved = (prior == 1) & (level >= self._kept) & ~np.isnan(places)
        return np.where(moved, self.space.nearest(places), found)

    def _value(self, level: Cells, state: Cells) -> Cells:
        """Return the index of the value at a summed weight."""
        orders = self.space.orders
        row, count = self._bounds[state, 4], orders.shape[1]
        at = np.searchsorted(self.space.sums.ravel(), level, side="right") - 1 - row * (count + 1)
        found: Cells = orders[row, at]
        return found

    def pmf(self, place: Floats) -> tuple[Fraction, ...]:
        result = [Fraction(0)] * len(self.space.prior.values)
        absent = bool(np.isnan(place[0]))
        kept = WHOLE if absent else self._kept
        for state, mass, share in (
            (int(self._near.find(place)[0]), self._mass, (1 - self._down) / self._mass),
            (int(self._far.find(place)[0]) + self._apart, kept, self._down / WHOLE),
        ):
            a, b, c, d, row = self._bounds[state].tolist()
            ring = Fraction(mass - int(self._inside[state]), max(int(self._ring[state]), 1))
            for at in range(c, d):
                value = int(self.space.orders[row, at])
                result[value] += share * self.space.prior.weights[value] * (1 if a <= at < b else ring)
        if not absent:
            result[int(self.space.nearest(place)[0])] += self._down * (1 - Fraction(kept, WHOLE))
        return tuple(result)

    @property
    def expected_distance(self) -> float:
        weights = np.array(self.space.prior.weights) / WHOLE
        near, _ = self.space.distances(self._near)
        far, _ = self.space.distances(self._far)
        down = float(self._down)
        return float(weights @ (near / self._mass * (1 - down) + far / WHOLE * down))


def _check(nano: int) -> None:
    if nano < LEAST_NANO:
        raise InvalidMechanism("epsilon must be at least 0.001")


@lru_cache(maxsize=64)
def _space(prior: Prior) -> Space:
    return Space(prior)


@lru_cache(maxsize=1024)
def _best_mass(prior: Prior, nano: int) -> int:
    """Return the mass of least expected distance, by bisection.

    With p the mass, G(p) the expected sum of distances in balls, which is convex, and T = G(1) the expected
    distance is (q T + (1 - q) G(p)) / (q + (1 - q) p). It falls while G'(p) (q + (1 - q) p) is below
    q T + (1 - q) G(p), and then rises. Any choice that depends on the prior alone is private.
    """
    _check(nano)
    space, q = _space(prior), ratio(nano) / 2**64
    weights = np.array(prior.weights) / WHOLE
    whole = float(weights @ space.distances(space.balls(WHOLE))[0])

    def rises(mass: int) -> bool:
        total, radius = (float(weights @ each) for each in space.distances(space.balls(mass)))
        return radius * (q * WHOLE + (1 - q) * mass) >= q * whole + (1 - q) * total

    low, high = 1, WHOLE
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if rises(middle) else (middle + 1, high)
    return low
