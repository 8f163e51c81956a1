"""Data swapping: MDAV-SWAP and IR-SWAP shuffle each confidential attribute inside clusters of rows.

MDAV-SWAP clusters rows that are similar in all other attributes, IR-SWAP rows of neighbouring rank in the attribute
itself. Against uninformed intruders, who know quasi-identifiers alone, MDAV-SWAP clusters rows by these and moves all
confidential attributes of a row together. Source: thesis ch.3.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, Final

import numpy as np
from msgspec import Struct

from dpproxy.anonymize import clusters, options, shuffle
from dpproxy.anonymize.clusters import Integers
from dpproxy.anonymize.kanonymity import CAVEAT, SCALE_HELP, confidential, enough, in_random_order, named
from dpproxy.anonymize.model import (
    LEAST_CLUSTER,
    Anonymized,
    Attribute,
    InvalidOption,
    Progress,
    Role,
    Table,
    ViewBuild,
    ViewRequest,
)
from dpproxy.anonymize.space import SCALES, is_ordered, space
from udfs.randomness import Words

Clustering = Callable[[Table, list[int], int, Progress], Integers]
"""From the rows, the attributes that move together, and their k: the cluster of each row, shape (rows,)."""
INTRUDERS: Final = ("informed", "uninformed")


class MdavSwap(Struct, frozen=True):
    """Probabilistic k-anonymity; every column has the same values as before, in other rows."""

    name: ClassVar[str] = "mdav_swap"
    private: ClassVar[bool] = False
    options: ClassVar[Mapping[str, str]] = {
        "k": "the least number of rows among which a value is shuffled, or auto",
        "scale": SCALE_HELP,
        "intruder": "informed (may know all but one confidential value) or uninformed (knows quasi-identifiers alone)",
    }

    def check(self, request: ViewRequest) -> ViewBuild:
        """Validate. Errors: InvalidOption."""
        options.only(request, self.options)
        scale = options.word(request, "scale", SCALES)
        clustering = partial(_similar, request.attributes, scale)
        if options.word(request, "intruder", INTRUDERS) == "uninformed":
            return _together(request, clustering)
        places = confidential(request)
        if len(request.attributes) < 2:
            raise InvalidOption(
                "", "rows of one column are alike in nothing else", "Use method = ir_swap, or add columns."
            )
        k = options.cluster_size(request, len(request.attributes) - 1)
        names = named(request.attributes, places)
        return _build(
            request,
            [([place], k) for place in places],
            clustering,
            f"Probabilistic {k}-anonymity: each of {names} was exchanged uniformly at random among at least {k} "
            f"rows alike in all else, so that a row holds its own value with probability at most 1/{k} "
            f"(another's may equal it). {CAVEAT}",
        )


def _together(request: ViewRequest, clustering: Clustering) -> ViewBuild:
    """Swapping for uninformed intruders. Errors: InvalidOption."""
    places = [place for place, a in enumerate(request.attributes) if a.role is Role.SENSITIVE]
    known = [place for place in range(len(request.attributes)) if place not in places]
    if not places:
        raise InvalidOption(
            "intruder",
            "swapping for uninformed intruders needs a sensitive column",
            "Name some: sensitive = (a, b).",
        )
    if not known:
        raise InvalidOption(
            "intruder", "swapping for uninformed intruders needs a column that is not sensitive"
        )
    k = options.cluster_size(request, len(known))
    names, alike = named(request.attributes, places), named(request.attributes, known)
    return _build(
        request,
        [(places, k)],
        clustering,
        f"Probabilistic {k}-anonymity towards intruders who know no more than {alike}: {names} were exchanged "
        f"together, uniformly at random among at least {k} rows alike in {alike}, so that a row holds its own with "
        f"probability at most 1/{k} (another's may equal them). Whoever knows one of {names} may recognise the "
        f"others. {CAVEAT}",
    )


class IrSwap(Struct, frozen=True):
    """Probabilistic k-anonymity with a k for each attribute; every column has the same values, in other rows."""

    name: ClassVar[str] = "ir_swap"
    private: ClassVar[bool] = False
    options: ClassVar[Mapping[str, str]] = {
        "k": "the least number of rows among which a value is shuffled, one for all, a list, or auto",
    }

    def check(self, request: ViewRequest) -> ViewBuild:
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
            [([place], k) for place, k in zip(places, sizes, strict=True)],
            _neighbouring,
            f"Probabilistic k-anonymity: values were exchanged uniformly at random among rows of neighbouring rank "
            f"({clauses}), so that a row holds its own value with probability at most 1/k (another's may equal "
            f"it). {CAVEAT}",
        )


def _sizes(request: ViewRequest, count: int) -> list[int]:
    """The k of each of ``count`` attributes."""
    value = request.options.get("k")
    if not isinstance(value, tuple):
        return [options.cluster_size(request, 1)] * count
    if len(value) != count:
        raise InvalidOption("k", f"k lists {len(value)} numbers for {count} columns that are shuffled")
    return [options.whole("k", each, LEAST_CLUSTER) for each in value]


def _similar(
    attributes: tuple[Attribute, ...], scale: str, rows: Table, places: list[int], k: int, progress: Progress
) -> Integers:
    """Cluster rows by all attributes but those at ``places``."""
    others = [other for other in range(len(attributes)) if other not in places]
    return clusters.mdav(space(rows[:, others], [attributes[other] for other in others], scale), k, progress)


def _neighbouring(rows: Table, places: list[int], k: int, progress: Progress) -> Integers:
    """Cluster rows by their rank in the one attribute at ``places``."""
    progress(0.0)
    return clusters.ranks(rows[:, places[0]], k)


Steps = list[tuple[list[int], int]]
"""The attributes that move together in each step, and their k."""


def _build(request: ViewRequest, steps: Steps, clustering: Clustering, guarantee: str) -> ViewBuild:
    return ViewBuild(
        guarantee=guarantee,
        loss=None,
        make=partial(_make, steps, clustering),
        changed=tuple(request.attributes[place].name for places, _ in steps for place in places),
    )


def _make(steps: Steps, clustering: Clustering, rows: Table, words: Words, progress: Progress) -> Anonymized:
    enough(rows, max(k for _, k in steps))
    source = clusters.canonical(rows)
    released, smallest = rows[source], len(rows)
    for done, (places, k) in enumerate(steps):
        labels = clustering(released, places, k, _part(progress, done, len(steps)))
        released[:, places] = released[shuffle.within(labels, words)[:, None], places]
        smallest = min(smallest, int(np.bincount(labels).min()))
    progress(1.0)
    return in_random_order(released, source, {"smallest_cluster": smallest}, words)


def _part(progress: Progress, done: int, parts: int) -> Progress:
    """The progress of part number ``done`` of ``parts`` equal ones, reported as a share of them all."""
    return lambda share: progress((done + share) / parts)
