"""Integer coordinates for ordered attributes, from 0, with few enough bits that sums over all rows fit 64 bits."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dpproxy.anonymize.model import Attribute, Domain
from dpproxy.anonymize.space import ends, is_ordered

Integers = npt.NDArray[np.int64]

BITS: Final = 36
"""Coordinates have at most so many bits: wider domains use coarser steps. Sums over 2**26 rows stay below 2**62."""


class Scale(Struct, frozen=True):
    """Maps the values ``low`` to ``high`` to the coordinates 0 to ``steps``; one step is 2**shift values wide."""

    low: int
    high: int
    shift: int

    @property
    def steps(self) -> int:
        """The largest coordinate."""
        return (self.high - self.low) >> self.shift

    def coordinates(self, values: Integers) -> Integers:
        """Convert values to coordinates; a value outside the domain is clamped to its nearer end."""
        result: Integers = (np.clip(values, self.low, self.high) - self.low) >> self.shift
        return result

    def values(self, coordinates: Integers) -> Integers:
        """Convert coordinates to values (the least of each step); a coordinate outside 0 to ``steps`` is clamped."""
        result: Integers = self.low + (np.clip(coordinates, 0, self.steps).astype(np.int64) << self.shift)
        return result


def axis(domain: Domain) -> Scale:
    """The axis of an ordered domain."""
    low, high = ends(domain)
    return Scale(low, high, max(0, (high - low).bit_length() - BITS))


def ordered(attributes: Sequence[Attribute]) -> dict[int, Scale]:
    """The axes of the ordered attributes, by column."""
    return {place: axis(a.domain) for place, a in enumerate(attributes) if is_ordered(a.domain)}
