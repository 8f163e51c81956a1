"""Attributes as lines of positions: a box is an interval of positions on each line.

A line says where an interval is cut, how long it is and which position is its middle. Ordered values have their order.
Concepts of a taxonomy are in depth-first preorder, so that every subtree is an interval (a concept with several
parents is placed under the first). Lines are made from the declared domain alone, never from rows.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dpproxy.anonymize import axes, taxonomy
from dpproxy.anonymize.axes import Scale
from dpproxy.anonymize.model import Attribute, ConceptGraph
from dpproxy.anonymize.space import is_ordered, size
from dpproxy.values.structs import PartlyShown

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Line(Protocol):
    """The positions of one attribute. Intervals are two arrays: their first and their last positions, both included."""

    @property
    def last(self) -> int:
        """The last position; the first is 0."""

    @property
    def depth(self) -> int:
        """About how many successive cuts reduce the whole line to single positions."""

    def positions(self, values: Integers) -> Integers:
        """Convert values of the attribute to positions."""

    def values(self, positions: Integers) -> Integers:
        """Convert positions to values of the attribute."""

    def sides(self, first: Integers, last: Integers) -> Floats:
        """The length of each interval; 0 for a single position."""

    def cuts(self, first: Integers, last: Integers) -> Integers:
        """Where to cut each interval: the last position of its left part. Intervals have two positions or more."""


class Ruler(Struct, frozen=True):
    """The line of an ordered attribute; ``unit`` is the length of one step of its axis."""

    axis: Scale
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


class Walk(PartlyShown, Struct, frozen=True, eq=False):
    """The line of an attribute without an order: nominal values, or a depth-first walk through a taxonomy.

    Attributes:
        places: shape (positions,): the value at each position.
        at: shape (values,): the position of each value.
        joints: shape (positions - 1,): element p is the depth in the taxonomy of the concept at position p + 1. Its
            parent is the nearest common ancestor of positions p and p + 1: a small depth is a good place to cut.
        table: shape (positions, positions): distances, scaled so that the largest is 1.
        spread: whether synthetic rows of an interval take its values uniformly; otherwise all take the interval's
            least marginal value (see ``centre``).
    """

    HIDDEN = frozenset({"table"})

    places: Integers
    at: Integers
    joints: Integers
    table: Floats
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
        """Cut in the middle half of each interval, where the common ancestor of both sides is nearest to the root.

        Among equals the most central position is taken. An interval of one position is returned uncut.
        """
        result = (first + last) // 2
        for place, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            if a < b:
                outer = (b - a - 1) // 4
                found = self.joints[a + outer : b - outer]
                loose = a + outer + np.flatnonzero(found == found.min())
                result[place] = loose[np.argmin(np.abs(2 * loose - (a + b - 1)))]
        return result

    def centre(self, first: int, last: int) -> int:
        """The least marginal position of an interval: the one with the least sum of distances to all others."""
        return first + int(np.argmin(self.table[first : last + 1, first : last + 1].sum(axis=0)))


def lines(attributes: Sequence[Attribute], *, scaled: bool) -> tuple[Line, ...]:
    """One line for each attribute; ``scaled`` divides the lengths of ordered attributes by their declared widths."""
    return tuple(_line(a, scaled=scaled) for a in attributes)


def _line(attribute: Attribute, *, scaled: bool) -> Line:
    domain = attribute.domain
    if is_ordered(domain):
        axis = axes.axis(domain)
        return Ruler(axis, 1 / max(axis.steps, 1) if scaled else float(1 << axis.shift))
    if isinstance(domain, ConceptGraph):
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
def _walk(domain: ConceptGraph) -> Walk:
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
