"""A noisy number of rows, and exactly that many: so that from then on neighbours replace one record by another.

Every row more or less is one unit. Proof: ``population.md``.
"""

from collections.abc import Sequence

import numpy as np

from dpproxy.anonymize import taxonomy
from dpproxy.anonymize.model import Attribute, ConceptGraph, Table
from dpproxy.anonymize.shuffle import order
from dpproxy.anonymize.space import ends, is_ordered
from udfs.mechanisms import Staircase
from udfs.randomness import Words


def noisy(count: int, nano: int, least: int, words: Words) -> int:
    """Release a number of rows, at least ``least``; costs ``nano`` nano-epsilon. Errors: InvalidMechanism."""
    return max(count + int(Staircase.best((1,), nano).draw(1, words)[0, 0]), least)


def public_record(attributes: Sequence[Attribute]) -> Table:
    """A record made from the declared domains alone, shape (1, attributes): middles, and least marginal concepts."""
    values = []
    for a in attributes:
        if isinstance(a.domain, ConceptGraph):
            values.append(int(np.argmin(taxonomy.distances(a.domain).sum(axis=0))))
        else:
            values.append(sum(ends(a.domain)) // 2 if is_ordered(a.domain) else 0)
    return np.array([values], dtype=np.int64)


def resized(rows: Table, count: int, attributes: Sequence[Attribute], words: Words) -> Table:
    """Drop rows at random, or add copies of the public record, until ``count`` are left."""
    if len(rows) >= count:
        return rows[order(len(rows), words)[:count]]
    return np.concatenate([rows, np.repeat(public_record(attributes), count - len(rows), axis=0)])
