"""Data swapping: MDAV-SWAP and IR-SWAP shuffle each confidential attribute inside clusters of rows.

MDAV-SWAP clusters rows that are similar in all other attributes, IR-SWAP rows of neighbouring rank in the attribute
itself. Source: thesis ch.3.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from dpproxy.anonymize import clusters, options, shuffle
from dpproxy.anonymize.clusters import Integers
from dpproxy.anonymize.kanonymity import CAVEAT, SCALE_HELP, confidential, enough, in_random_order, named
from dpproxy.anonymize.model import (
    LEAST_CLUSTER,
    Anonymized,
    Attribute,
    Build,
    InvalidOption,
    Progress,
    Request,
    Table,
)
from dpproxy.anonymize.space import SCALES, is_ordered, space
from udfs.randomness import Words

Clustering = Callable[[Table, int, int, Progress], Integers]
"""From the rows, the number of an attribute and its k: the cluster of each row, shape (rows,)."""


@dataclass(frozen=True, slots=True)
class MdavSwap:
    """Probabilistic k-anonymity; every column has the same values as before, in other rows."""

    name: ClassVar[str] = "mdav_swap"
    private: ClassVar[bool] = False
    options: ClassVar[Mapping[str, str]] = {
        "k": "the least number of rows among which a value is shuffled, or auto",
        "scale": SCALE_HELP,
    }

    def check(self, request: Request) -> Build:
        """Validate. Errors: InvalidOption."""
        options.only(request, self.options)
        places = confidential(request)
        if len(request.attributes) < 2:
            raise InvalidOption(
                "", "rows of one column are alike in nothing else", "Use method = ir_swap, or add columns."
            )
        k = options.cluster_size(request, len(request.attributes) - 1)
        scale = options.word(request, "scale", SCALES)
        names = named(request.attributes, places)
        return _build(
            request,
            places,
            [k] * len(places),
            partial(_similar, request.attributes, scale),
            f"Probabilistic {k}-anonymity: each of {names} was exchanged uniformly at random among at least {k} "
            f"rows alike in all else, so that a row holds its own value with probability at most 1/{k} "
            f"(another's may equal it). {CAVEAT}",
        )


@dataclass(frozen=True, slots=True)
class IrSwap:
    """Probabilistic k-anonymity with a k for each attribute; every column has the same values, in other rows."""

    name: ClassVar[str] = "ir_swap"
    private: ClassVar[bool] = False
    options: ClassVar[Mapping[str, str]] = {
        "k": "the least number of rows among which a value is shuffled, one for all, a list, or auto",
    }

    def check(self, request: Request) -> Build:
        """Validate. Errors: InvalidOption."""
        options.only(request, self.options)
        places = confidential(request)
        for place in places:
            attribute = request.attributes[place]
            if not is_ordered(attribute.domain):
                raise InvalidOption(
                    "",
                    f"the values of {attribute.name} have no order to rank them by",
                    "Use method = mdav_swap.",
                )
        sizes = _sizes(request, len(places))
        clauses = ", ".join(
            f"{request.attributes[place].name} among at least {k}"
            for place, k in zip(places, sizes, strict=True)
        )
        return _build(
            request,
            places,
            sizes,
            _neighbouring,
            f"Probabilistic k-anonymity: values were exchanged uniformly at random among rows of neighbouring rank "
            f"({clauses}), so that a row holds its own value with probability at most 1/k (another's may equal "
            f"it). {CAVEAT}",
        )


def _sizes(request: Request, count: int) -> list[int]:
    """The k of each of ``count`` attributes."""
    value = request.options.get("k")
    if not isinstance(value, tuple):
        return [options.cluster_size(request, 1)] * count
    if len(value) != count:
        raise InvalidOption("k", f"k lists {len(value)} numbers for {count} columns that are shuffled")
    return [options.whole("k", each, LEAST_CLUSTER) for each in value]


def _similar(
    attributes: tuple[Attribute, ...], scale: str, rows: Table, place: int, k: int, progress: Progress
) -> Integers:
    """Cluster rows by all attributes but the one at ``place``."""
    others = [other for other in range(len(attributes)) if other != place]
    return clusters.mdav(space(rows[:, others], [attributes[other] for other in others], scale), k, progress)


def _neighbouring(rows: Table, place: int, k: int, progress: Progress) -> Integers:
    """Cluster rows by their rank in the attribute at ``place``."""
    progress(0.0)
    return clusters.ranks(rows[:, place], k)


def _build(
    request: Request, places: list[int], sizes: list[int], clustering: Clustering, guarantee: str
) -> Build:
    return Build(
        guarantee=guarantee,
        loss=None,
        make=partial(_make, places, sizes, clustering),
        columns=tuple(a.name for a in request.attributes),
    )


def _make(
    places: list[int], sizes: list[int], clustering: Clustering, rows: Table, words: Words, progress: Progress
) -> Anonymized:
    enough(rows, max(sizes))
    source = clusters.canonical(rows)
    released, smallest = rows[source], len(rows)
    for done, (place, k) in enumerate(zip(places, sizes, strict=True)):
        labels = clustering(released, place, k, _part(progress, done, len(places)))
        released[:, place] = released[shuffle.within(labels, words), place]
        smallest = min(smallest, int(np.bincount(labels).min()))
    progress(1.0)
    return in_random_order(released, source, {"smallest_cluster": smallest}, words)


def _part(progress: Progress, done: int, parts: int) -> Progress:
    """The progress of part number ``done`` of ``parts`` equal ones, reported as a share of them all."""
    return lambda share: progress((done + share) / parts)
