"""Records as points: coordinates for numbers and ordered values, tables of distances for all others.

The distance of two records is the square root of the sum of squared distances of their values, each divided by the
scale of its attribute (thesis ch.6). Two different nominal values have distance 1; two concepts of a taxonomy have
their semantic distance divided by the largest in the taxonomy.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dpproxy.anonymize import taxonomy
from dpproxy.anonymize.model import Attribute, Categories, ConceptGraph, Domain, LatticeDomain, Table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SCALES: Final = ("range", "zscore", "none")
"""Scales of ordered attributes: the declared width, the standard deviation of the rows, or 1 (whole steps)."""
SUM_BITS: Final = 62
"""Sums of coordinates stay below 2 to this power."""


class Space(Struct, frozen=True):
    """The rows of some attributes, ready for distances.

    Attributes:
        steps: shape (ordered attributes, rows): integer coordinates from 0, whose sums fit 64 bits.
        weights: shape (ordered attributes,): the length of one step as a distance.
        codes: shape (other attributes, rows): indices of values in their domains.
        sizes: shape (other attributes,): the number of values of each domain.
        starts: shape (other attributes,): where each attribute's table begins in ``tables``; -1 for a nominal one,
            whose distances are all 1.
        tables: the integer distances between values: one flattened (values, values) table after the other.
        units: shape (other attributes,): the length of one unit of ``tables`` as a distance.
    """

    steps: Integers
    weights: Floats
    codes: Integers
    sizes: Integers
    starts: Integers
    tables: Integers
    units: Floats

    @property
    def rows(self) -> int:
        """The number of records."""
        return int(self.steps.shape[1])


def is_ordered(domain: Domain) -> bool:
    """Whether values are numbers or have a declared order."""
    match domain:
        case LatticeDomain():
            return True
        case Categories(ordered=ordered):
            return ordered
        case ConceptGraph():
            return False


def ends(domain: Domain) -> tuple[int, int]:
    """The least and the greatest value of an ordered domain."""
    return (domain.low, domain.high) if isinstance(domain, LatticeDomain) else (0, size(domain) - 1)


def size(domain: Domain) -> int:
    """The number of values of a domain."""
    match domain:
        case LatticeDomain(low=low, high=high):
            return high - low + 1
        case Categories(size=places):
            return places
        case ConceptGraph(parents=parents):
            return len(parents)


def space(rows: Table, attributes: Sequence[Attribute], scale: str = "range") -> Space:
    """Make points of ``rows``, which have one column for each of ``attributes``; ``scale`` is one of ``SCALES``.

    Errors: InvalidOption for a taxonomy on which distances are not defined.
    """
    ordered = [place for place, a in enumerate(attributes) if is_ordered(a.domain)]
    others = [place for place, a in enumerate(attributes) if not is_ordered(a.domain)]
    steps = np.empty((len(ordered), len(rows)), dtype=np.int64)
    weights = np.empty(len(ordered))
    for place, column in enumerate(ordered):
        steps[place], weights[place] = _coordinates(rows[:, column], attributes[column].domain, scale)
    starts, tables, units = _tables([attributes[column].domain for column in others])
    return Space(
        steps=steps,
        weights=weights,
        codes=np.ascontiguousarray(rows[:, others].T),
        sizes=np.array([size(attributes[column].domain) for column in others], dtype=np.int64),
        starts=starts,
        tables=tables,
        units=units,
    )


def _coordinates(values: Integers, domain: Domain, scale: str) -> tuple[Integers, float]:
    """Integer coordinates from 0, and the length of a step as a distance; steps are coarser if sums would not fit."""
    low, high = ends(domain)
    coarser = max(0, (high - low).bit_length() + len(values).bit_length() - SUM_BITS)
    steps: Integers = (values >> coarser) - (low >> coarser)
    if scale == "none":
        unit = 1.0
    elif scale == "zscore":
        unit = float(steps.std()) * 2.0**coarser if len(values) else 0.0
    else:
        unit = float(high - low)
    return steps, 2.0**coarser / unit if unit else 0.0


def _tables(domains: Sequence[Domain]) -> tuple[Integers, Integers, Floats]:
    starts, tables, units, begin = [], [np.empty(0, dtype=np.int64)], [], 0
    for domain in domains:
        if isinstance(domain, ConceptGraph):
            starts.append(begin)
            tables.append(taxonomy.distances(domain).ravel())
            units.append(1 / max(taxonomy.width(domain), 1))
            begin += tables[-1].size
        else:
            starts.append(-1)
            units.append(1.0)
    return np.array(starts, dtype=np.int64), np.concatenate(tables), np.array(units)


def centroids(rows: Table, attributes: Sequence[Attribute], labels: Integers, count: int) -> Table:
    """The centroid of each cluster, attribute by attribute.

    For ordered attributes it is the mean rounded to the nearest whole step (halves up), for nominal ones the most
    frequent value, on a taxonomy the least marginal one (the least sum of distances). Ties go to the first value.

    Args:
        rows: shape (rows, attributes).
        attributes: one for each column.
        labels: shape (rows,): the cluster of each row, below ``count``; no cluster is empty.
        count: how many clusters.

    Returns:
        Shape (count, attributes).
    """
    members = np.bincount(labels, minlength=count)
    order = np.argsort(labels, kind="stable")
    begins = np.cumsum(members) - members
    result = np.empty((count, len(attributes)), dtype=np.int64)
    for column, attribute in enumerate(attributes):
        values = rows[order, column]
        result[:, column] = (
            _means(values, members, begins)
            if is_ordered(attribute.domain)
            else _least_marginal(values, attribute.domain, members, begins)
        )
    return result


def _means(values: Integers, members: Integers, begins: Integers) -> Integers:
    # Quotients and remainders of the division by the cluster's size are summed separately, so that no sum overflows.
    each = np.repeat(members, members)
    whole = np.add.reduceat(values // each, begins)
    rest = np.add.reduceat(values % each, begins)
    result: Integers = whole + (2 * rest + members) // (2 * members)
    return result


def _least_marginal(values: Integers, domain: Domain, members: Integers, begins: Integers) -> Integers:
    table = taxonomy.distances(domain) if isinstance(domain, ConceptGraph) else None
    result = np.empty(len(members), dtype=np.int64)
    for place, (begin, count) in enumerate(zip(begins, members, strict=True)):
        found, often = np.unique(values[begin : begin + count], return_counts=True)
        if table is None:
            result[place] = found[np.argmax(often)]
        else:
            result[place] = np.argmin(often @ table[found])
    return result
