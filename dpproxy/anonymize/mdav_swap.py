"""MDAV-SWAP: each confidential attribute is shuffled in clusters of rows similar in all others. Source: thesis ch.3."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from dpproxy.anonymize import clusters, options, shuffle
from dpproxy.anonymize.kanonymity import CAVEAT, SCALE_HELP, confidential, enough, in_random_order, named
from dpproxy.anonymize.model import Anonymized, Build, InvalidOption, Progress, Request, Table
from dpproxy.anonymize.space import SCALES, space
from udfs.randomness import Words


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
        return Build(
            guarantee=(
                f"Probabilistic {k}-anonymity: each of {names} was exchanged uniformly at random among at least {k} "
                f"rows alike in all else, so that a row holds its own value with probability at most 1/{k} "
                f"(another's may equal it). {CAVEAT}"
            ),
            loss=None,
            make=partial(_make, request, places, k, scale),
            columns=tuple(a.name for a in request.attributes),
        )


def _make(
    request: Request, places: list[int], k: int, scale: str, rows: Table, words: Words, progress: Progress
) -> Anonymized:
    enough(rows, k)
    source = clusters.canonical(rows)
    released, smallest = rows[source], len(rows)
    for done, place in enumerate(places):
        others = [other for other in range(rows.shape[1]) if other != place]
        made = space(released[:, others], [request.attributes[other] for other in others], scale)
        labels = clusters.mdav(made, k, _part(progress, done, len(places)))
        released[:, place] = released[shuffle.within(labels, words), place]
        smallest = min(smallest, int(np.bincount(labels).min()))
    return in_random_order(released, source, {"smallest_cluster": smallest}, words)


def _part(progress: Progress, done: int, parts: int) -> Progress:
    """The progress of part number ``done`` of ``parts`` equal ones, reported as a share of them all."""
    return lambda share: progress((done + share) / parts)
