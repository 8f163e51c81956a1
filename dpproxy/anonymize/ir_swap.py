"""IR-SWAP: each confidential attribute is shuffled among rows of neighbouring rank in it. Source: thesis ch.3."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from dpproxy.anonymize import clusters, options, shuffle
from dpproxy.anonymize.kanonymity import CAVEAT, confidential, enough, in_random_order
from dpproxy.anonymize.model import LEAST_CLUSTER, Anonymized, Build, InvalidOption, Progress, Request, Table
from dpproxy.anonymize.space import is_ordered
from udfs.randomness import Words


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
        said = ", ".join(
            f"{request.attributes[place].name} among at least {k}"
            for place, k in zip(places, sizes, strict=True)
        )
        return Build(
            guarantee=(
                f"Probabilistic k-anonymity: values were exchanged uniformly at random among rows of neighbouring rank "
                f"({said}), so that a row holds its own value with probability at most 1/k (another's may equal "
                f"it). {CAVEAT}"
            ),
            loss=None,
            make=partial(_make, places, sizes),
            columns=tuple(a.name for a in request.attributes),
        )


def _sizes(request: Request, count: int) -> list[int]:
    value = request.options.get("k")
    if not isinstance(value, tuple):
        return [options.cluster_size(request, 1)] * count
    if len(value) != count:
        raise InvalidOption("k", f"k lists {len(value)} numbers for {count} columns that are shuffled")
    return [options.whole("k", each, LEAST_CLUSTER) for each in value]


def _make(places: list[int], sizes: list[int], rows: Table, words: Words, progress: Progress) -> Anonymized:
    enough(rows, max(sizes))
    source = clusters.canonical(rows)
    released, smallest = rows[source], len(rows)
    for done, (place, k) in enumerate(zip(places, sizes, strict=True)):
        progress(done / len(places))
        labels = clusters.ranks(released[:, place], k)
        released[:, place] = released[shuffle.within(labels, words), place]
        smallest = min(smallest, int(np.bincount(labels).min()))
    progress(1.0)
    return in_random_order(released, source, {"smallest_cluster": smallest}, words)
