"""Insensitive microaggregation: one record replaced by another changes every cluster in at most one record.

A fixed sequence of total orders of all possible records, by the distance to a reference point and then by
content; each cluster is the k least of the records left, in the next order; what is left after the last whole
cluster joins it. Source: thesis ch.6. Proof: ``insensitive.md``.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize import taxonomy
from dpproxy.anonymize.model import Attribute, ConceptGraph, Domain, Progress, Table, silent
from dpproxy.anonymize.space import ends, is_ordered, size

Integers = npt.NDArray[np.int64]

UNIT_BITS: Final = 20
"""Distances of one attribute are whole numbers up to 2**20, that of its two ends."""
MOST_CORNERS: Final = 64
"""So many corners are taken in turn, and then again from the first."""
MOST_TURNED: Final = 12
"""The most attributes with corners in turn."""


def low_and_high(domain: Domain) -> tuple[int, int]:
    """The two ends of a domain: those of an order, the boundaries of a taxonomy, the first and last of a list."""
    if isinstance(domain, ConceptGraph):
        return taxonomy.boundaries(domain)
    return ends(domain) if is_ordered(domain) else (0, size(domain) - 1)


def point(attributes: Sequence[Attribute]) -> Table:
    """The corner of all low ends, shape (1, attributes)."""
    return np.array([[low_and_high(a.domain)[0] for a in attributes]], dtype=np.int64)


def corners(attributes: Sequence[Attribute]) -> Table:
    """Corners of the domain, each followed by the unused one that most attributes differ from; (corners, attributes).

    Ties go to the corner that comes first in the alphabetical order of (low, high).
    """
    every = np.arange(1 << len(attributes))
    left = np.ones(every.size, dtype=np.bool_)
    sequence = [0]
    left[0] = False
    while len(sequence) < min(every.size, MOST_CORNERS):
        differ = np.bitwise_count(every ^ sequence[-1]).astype(np.int64)
        chosen = int(np.argmax(np.where(left, differ, -1)))
        left[chosen] = False
        sequence.append(chosen)
    bits = np.array(sequence)[:, None] >> np.arange(len(attributes))[::-1] & 1
    both = np.array([low_and_high(a.domain) for a in attributes], dtype=np.int64)
    result: Table = np.where(bits == 1, both[:, 1], both[:, 0])
    return result


def squared_distances(rows: Table, attributes: Sequence[Attribute], reference: Integers) -> Integers:
    """Return the squared distance of each row to one record: a whole number that depends on the two alone."""
    total = np.zeros(len(rows), dtype=np.int64)
    for column, (attribute, value) in enumerate(zip(attributes, reference, strict=True)):
        steps = _steps(rows[:, column], attribute.domain, int(value))
        total += steps * steps
    return total


def _steps(values: Integers, domain: Domain, reference: int) -> Integers:
    if isinstance(domain, ConceptGraph):
        semantic: Integers = (taxonomy.distances(domain)[reference] << UNIT_BITS) // max(
            taxonomy.width(domain), 1
        )
        return semantic[values]
    if not is_ordered(domain):
        return np.where(values != reference, 1 << UNIT_BITS, 0)
    low, high = ends(domain)
    coarser = max(0, (high - low).bit_length() + UNIT_BITS - 62)
    apart = np.abs(values - reference) >> coarser
    result: Integers = (apart << UNIT_BITS) // max((high - low) >> coarser, 1)
    return result


def arranged(
    rows: Table, attributes: Sequence[Attribute], references: Table, k: int, progress: Progress = silent
) -> Integers:
    """Return the rows in the order of their clusters, shape (rows,): ``sizes`` says how many each has."""
    from dpproxy.anonymize import turns  # noqa: PLC0415 - the compiler is imported when a view is built

    orders = np.empty((len(references), len(rows)), dtype=np.int64)
    for place, reference in enumerate(references):
        progress(place / (len(references) + 1))
        orders[place] = _ordered(rows, squared_distances(rows, attributes, reference))
    return orders[0] if len(orders) == 1 else turns.in_turn(orders, k)


def _ordered(rows: Table, distances: Integers) -> Integers:
    """The rows by distance, those at equal distances by content."""
    order = np.argsort(distances, kind="stable")
    equal = np.diff(distances[order]) == 0
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    among = order[tied]
    order[tied] = among[np.lexsort((*rows[among].T[::-1], distances[among]))]
    return order


def sizes(rows: int, k: int) -> Integers:
    """How many rows each cluster has: k, and the last one the rest besides; there are at least k rows."""
    result = np.full(rows // k, k, dtype=np.int64)
    result[-1] += rows % k
    return result
