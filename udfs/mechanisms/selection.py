"""Which groups may be shown at all, where their keys are not public: the optimal rule, decided exactly.

A group of n units is kept with the greatest probabilities p(0) = 0, p(1), p(2), ... that (epsilon, delta) lets
follow one another; nothing but the decision is released, so a count of the group is another release. Source:
Desfontaines, Voss, Gipson, Mandayam, "Differentially private partition selection", PoPETs 2022, Theorem 1, here
with e**epsilon rounded down to a rational and every p(n) to a multiple of 2**-128. Proof: ``selection.md``.
"""

import os
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from udfs.mechanisms.exponential import Int64, whole
from udfs.mechanisms.levels import ratio
from udfs.privacy import LEAST_NANO, NANO, InvalidMechanism, Loss
from udfs.randomness import LAST_WORD, WORD, Words, Words64, word_array

SURE: Final = 2**128
"""Probability 1, in the unit of the table."""
LEAST_DELTA: Final = Fraction(1, 10**24)
"""The least delta for each group."""
LEAST_SHARE: Final = NANO // 10_000
"""The least epsilon for each group, so that the table has at most some million entries."""


class Selection(Struct, frozen=True):
    """Decide for each group whether to keep it, from how many distinct units it has.

    Shapes: ``(g,)`` counts in, ``(g,)`` booleans out; one element per group.
    Units: ``groups`` is the most groups of one unit; ``nano`` in nano-epsilon.
    Privacy: if one unit adds 1 to, or takes it from, the counts of at most ``groups`` groups, the decisions
        about all groups together cost ``loss`` and ``delta``. Groups of no units are never kept, so they need
        not be listed. The keys kept are released; the counts are not.
    Errors: InvalidMechanism.

    >>> Selection(1, 10**9, Fraction(1, 10**6)).threshold
    14
    """

    groups: int
    nano: int
    delta: Fraction

    def __post_init__(self) -> None:
        if self.nano < LEAST_NANO:
            raise InvalidMechanism("epsilon must be at least 0.001")
        if self.groups < 1 or self.nano < LEAST_SHARE * self.groups:
            raise InvalidMechanism("epsilon must be at least 0.0001 for each group of one unit")
        if not LEAST_DELTA * self.groups <= self.delta < 1:
            raise InvalidMechanism("delta must be below 1, and at least 10^-24 for each group of one unit")

    @property
    def loss(self) -> Loss:
        """What the decisions cost, besides ``delta``."""
        return Loss(self.nano)

    @property
    def threshold(self) -> int:
        """The least count that is kept at least half of the time."""
        high, _ = _table(self)
        return int(np.searchsorted(high, np.uint64(2**63)))

    @property
    def certain(self) -> int:
        """The least count that is always kept."""
        return int(_table(self)[0].size)

    def keep_probability(self, count: int) -> Fraction:
        """Return the exact probability that a group of ``count`` units is kept."""
        if count >= self.certain:
            return Fraction(1)
        high, low = _table(self)
        return Fraction(int(high[count]) << WORD | int(low[count]), SURE) if count > 0 else Fraction(0)

    def keep(self, counts: Sequence[int] | Int64, words: Words = os.urandom) -> NDArray[np.bool_]:
        """Decide for each group; negative counts count as 0."""
        high, low = _table(self)
        count = whole(counts, 0, high.size)
        place = np.minimum(count, high.size - 1)
        drawn, bound = word_array(count.size, words), high[place]
        result: NDArray[np.bool_] = (drawn < bound) | (count == high.size)
        for position in np.flatnonzero(drawn == bound):
            result[position] |= word_array(1, words)[0] < low[place[position]]
        return result


@lru_cache(maxsize=16)
def _table(selection: Selection) -> tuple[Words64, Words64]:
    """Return p(0), p(1), ... below 1 in units of 2**-128, as first and second words."""
    q = ratio(Fraction(selection.nano, selection.groups))
    share = int(selection.delta / selection.groups * SURE)
    table, kept = [], 0
    while kept < SURE:
        table.append(kept)
        rest = max(SURE - kept - share, 0)
        kept = min((kept << WORD) // q + share, SURE - -(-q * rest >> WORD))
    return (
        np.array([p >> WORD for p in table], dtype=np.uint64),
        np.array([p & LAST_WORD for p in table], dtype=np.uint64),
    )
