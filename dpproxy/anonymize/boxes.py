"""Attributes as lines of positions that boxes are cut from: where to cut, how long a side is, what is in the middle.

Numbers and ordered values stand in their order. Concepts of a taxonomy stand in a walk from the root, each before what
is below it, so that every subtree is an interval (by its first parent, where a concept has several). Only declared
facts are used.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize import axes, taxonomy
from dpproxy.anonymize.axes import Axis
from dpproxy.anonymize.model import Attribute, Taxonomy
from dpproxy.anonymize.space import is_ordered, size

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Line(Protocol):
    """One attribute; intervals are given by their first and last position, each an array."""

    @property
    def last(self) -> int:
        """The last position; the first is 0."""
        ...

    @property
    def depth(self) -> int:
        """So many cuts in a row, or a few more, and single positions are left."""
        ...

    def positions(self, values: Integers) -> Integers:
        """From values of the attribute."""
        ...

    def values(self, positions: Integers) -> Integers:
        """Back to values."""
        ...

    def sides(self, first: Integers, last: Integers) -> Floats:
        """How long intervals are; 0 for a single position."""
        ...

    def cuts(self, first: Integers, last: Integers) -> Integers:
        """The last position of the left part of each interval that has two or more."""
        ...


@dataclass(frozen=True, slots=True)
class Ruler:
    """Values with an order; ``unit`` is the length of one step."""

    axis: Axis
    unit: float

    @property
    def last(self) -> int:
        return self.axis.steps

    @property
    def depth(self) -> int:
        return self.last.bit_length()

    def positions(self, values: Integers) -> Integers:
        return self.axis.coordinates(values)

    def values(self, positions: Integers) -> Integers:
        return self.axis.values(positions)

    def sides(self, first: Integers, last: Integers) -> Floats:
        result: Floats = np.multiply(last - first, self.unit, dtype=np.float64)
        return result

    def cuts(self, first: Integers, last: Integers) -> Integers:
        result: Integers = (first + last) // 2
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """Values without an order.

    Attributes:
        places: the value at each position.
        at: the position of each value.
        joints: how deep position p + 1 stands; one level above it hangs together with p. Shape (positions - 1,).
        table: distances between positions, shape (positions, positions), 1 for the largest.
        spread: whether rows of an interval take any of its values; otherwise they take the least marginal.
    """

    places: Integers
    at: Integers
    joints: Integers
    table: Floats = field(repr=False)
    spread: bool

    @property
    def last(self) -> int:
        return self.places.size - 1

    @property
    def depth(self) -> int:
        return 2 * self.last.bit_length() if self.joints.any() else self.last.bit_length()

    def positions(self, values: Integers) -> Integers:
        return self.at[values]

    def values(self, positions: Integers) -> Integers:
        return self.places[positions]

    def sides(self, first: Integers, last: Integers) -> Floats:
        return np.array([self.table[a : b + 1, a : b + 1].max() for a, b in zip(first, last, strict=True)])

    def cuts(self, first: Integers, last: Integers) -> Integers:
        """Where, in the middle half, subtrees meet nearest to the root; of several places the most central."""
        result = (first + last) // 2
        for place, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            if a < b:
                outer = (b - a - 1) // 4
                found = self.joints[a + outer : b - outer]
                loose = a + outer + np.flatnonzero(found == found.min())
                result[place] = loose[np.argmin(np.abs(2 * loose - (a + b - 1)))]
        return result

    def centre(self, first: int, last: int) -> int:
        """The least marginal position of an interval."""
        return first + int(np.argmin(self.table[first : last + 1, first : last + 1].sum(axis=0)))


def lines(attributes: Sequence[Attribute], *, scaled: bool) -> tuple[Line, ...]:
    """One line for each attribute; ``scaled`` measures sides by the declared width, otherwise in steps."""
    return tuple(_line(a, scaled=scaled) for a in attributes)


def _line(attribute: Attribute, *, scaled: bool) -> Line:
    domain = attribute.domain
    if is_ordered(domain):
        axis = axes.axis(domain)
        return Ruler(axis, 1 / max(axis.steps, 1) if scaled else float(1 << axis.shift))
    if isinstance(domain, Taxonomy):
        return _walk(domain)
    places = np.arange(size(domain))
    return Walk(
        places,
        places,
        np.zeros(max(places.size - 1, 0), dtype=np.int64),
        1.0 - np.eye(places.size),
        spread=True,
    )


@lru_cache(maxsize=64)
def _walk(domain: Taxonomy) -> Walk:
    taxonomy.ancestors(domain)  # refuses circles
    children: list[list[int]] = [[] for _ in domain.parents]
    roots: list[int] = []
    for place, parents in enumerate(domain.parents):
        (children[parents[0]] if parents else roots).append(place)
    places, joints = [], []
    waiting = [(0, root) for root in reversed(roots)]
    while waiting:
        depth, place = waiting.pop()
        places.append(place)
        joints.append(depth)
        waiting += [(depth + 1, child) for child in reversed(children[place])]
    order = np.array(places, dtype=np.int64)
    at = np.empty_like(order)
    at[order] = np.arange(order.size)
    table = taxonomy.distances(domain)[np.ix_(order, order)] / max(taxonomy.width(domain), 1)
    return Walk(order, at, np.array(joints[1:], dtype=np.int64), table, spread=False)
