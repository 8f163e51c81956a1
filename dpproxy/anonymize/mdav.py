"""MDAV-ID: quasi-identifiers are replaced by the centroid of the row's cluster. Source: thesis ch.2."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from dpproxy.anonymize import clusters, options
from dpproxy.anonymize.kanonymity import (
    CAVEAT,
    SCALE_HELP,
    enough,
    in_random_order,
    named,
    quasi_identifiers,
    smallest_class,
)
from dpproxy.anonymize.model import Anonymized, Build, Progress, Request, Table
from dpproxy.anonymize.space import SCALES, centroids, space
from udfs.randomness import Words


@dataclass(frozen=True, slots=True)
class Mdav:
    """k-anonymity by microaggregation of the quasi-identifiers; sensitive columns are released unchanged."""

    name: ClassVar[str] = "mdav"
    private: ClassVar[bool] = False
    options: ClassVar[Mapping[str, str]] = {
        "k": "the least number of rows that are alike, or auto",
        "scale": SCALE_HELP,
    }

    def check(self, request: Request) -> Build:
        """Validate. Errors: InvalidOption."""
        options.only(request, self.options)
        places = quasi_identifiers(request)
        k = options.cluster_size(request, len(places))
        scale = options.word(request, "scale", SCALES)
        names = named(request.attributes, places)
        return Build(
            guarantee=f"{k}-anonymity: at least {k} rows share each combination of {names}. {CAVEAT}",
            loss=None,
            make=partial(_make, request, places, k, scale),
            columns=tuple(a.name for a in request.attributes),
        )


def _make(
    request: Request, places: list[int], k: int, scale: str, rows: Table, words: Words, progress: Progress
) -> Anonymized:
    enough(rows, k)
    source = clusters.canonical(rows)
    released = rows[source]
    attributes = [request.attributes[place] for place in places]
    known = released[:, places]
    labels = clusters.mdav(space(known, attributes, scale), k, progress)
    released[:, places] = centroids(known, attributes, labels, int(labels.max()) + 1)[labels]
    return in_random_order(released, source, {"smallest_class": smallest_class(released, places)}, words)
