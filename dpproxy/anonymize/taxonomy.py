"""Semantic distance on a taxonomy, and what follows from it: marginality, centroids, boundaries.

The distance of two concepts is log2(1 + (|A u B| - |A n B|) / |A u B|), A and B their sets of ancestors, each
concept its own ancestor too. It is a metric: a concave function of the Jaccard distance. Here it is held in
whole steps of 2**-20, so that scores are integers and their sensitivity is exact. Source: Soria-Comas,
"Improving data utility in differential privacy and k-anonymity", 2013, ch. 6, with the sensitivity of the
private centroid taken over all values and centroids. Proof: ``taxonomy.md``.
"""

import os
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.model import ConceptGraph, InvalidOption
from udfs.mechanisms import Exponential
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]

STEPS: Final = 1 << 20
"""Steps of the distance 1, which no two concepts reach."""
MOST_CONCEPTS: Final = 4096
"""Distances are held for every pair."""


@lru_cache(maxsize=64)
def ancestors(taxonomy: ConceptGraph) -> npt.NDArray[np.bool_]:
    """Return whether concept j is an ancestor of concept i or i itself, shape (concepts, concepts).

    Errors: InvalidOption for a taxonomy that is empty, too large, or goes round in circles.
    """
    size = len(taxonomy.parents)
    if not 0 < size <= MOST_CONCEPTS:
        raise InvalidOption("", f"a taxonomy needs between 1 and {MOST_CONCEPTS} concepts")
    result = np.zeros((size, size), dtype=np.bool_)
    for place in _from_the_root(taxonomy):
        result[place, place] = True
        for parent in taxonomy.parents[place]:
            result[place] |= result[parent]
    result.setflags(write=False)
    return result


@lru_cache(maxsize=64)
def distances(taxonomy: ConceptGraph) -> Integers:
    """Return the distance of every two concepts in steps, shape (concepts, concepts)."""
    above = ancestors(taxonomy).astype(np.float64)
    common = above @ above.T
    sizes = above.sum(axis=1)
    union = sizes[:, None] + sizes[None, :] - common
    result: Integers = np.rint(np.log2(1 + (union - common) / union) * STEPS).astype(np.int64)
    result.setflags(write=False)
    return result


def width(taxonomy: ConceptGraph) -> int:
    """Return the largest distance of two concepts, in steps."""
    return int(distances(taxonomy).max())


def sensitivity(taxonomy: ConceptGraph) -> int:
    """Return how far another value in one record moves the marginality of any concept, at most, in steps."""
    found = distances(taxonomy)
    return int((found.max(axis=0) - found.min(axis=0)).max())


def boundaries(taxonomy: ConceptGraph) -> tuple[int, int]:
    """Return the most marginal concept of the taxonomy and the one farthest from it, the first of equals."""
    found = distances(taxonomy)
    bottom = int(np.argmax(found.sum(axis=1)))
    return bottom, int(np.argmax(found[bottom]))


def private_centroids(
    taxonomy: ConceptGraph, histograms: Integers, nano: int, words: Words = os.urandom
) -> Integers:
    """Draw a concept for each row of counts, shape (clusters, concepts): ``nano`` for every row that differs."""
    size = len(taxonomy.parents)
    scores = -(histograms @ distances(taxonomy))
    mechanism = Exponential.of(max(sensitivity(taxonomy), 1), nano)
    lengths = np.full(len(histograms), size, dtype=np.int64)
    return mechanism.choose_each(scores.ravel(), lengths, words)


def _from_the_root(taxonomy: ConceptGraph) -> list[int]:
    """Every concept after its parents."""
    size = len(taxonomy.parents)
    waiting = [len(parents) for parents in taxonomy.parents]
    children: list[list[int]] = [[] for _ in range(size)]
    for place, parents in enumerate(taxonomy.parents):
        for parent in parents:
            if not 0 <= parent < size:
                raise InvalidOption("", "a parent in a taxonomy is none of its concepts")
            children[parent].append(place)
    order = [place for place in range(size) if not waiting[place]]
    for place in order:
        for child in children[place]:
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    if len(order) != size:
        raise InvalidOption("", "a taxonomy must not go round in circles")
    return order
