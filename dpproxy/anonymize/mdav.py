"""MDAV-ID: quasi-identifiers are replaced by the centroid of the row's cluster. Source: thesis ch.2.

With ``gain`` clusters are those of V-MDAV.
"""

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from msgspec import Struct

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
from dpproxy.anonymize.model import Anonymized, InvalidOption, Progress, Table, ViewBuild, ViewRequest
from dpproxy.anonymize.space import SCALES, Space, centroids, space
from udfs.randomness import Words

MOST_GAIN = 10


class Mdav(Struct, frozen=True):
    """k-anonymity by microaggregation of the quasi-identifiers; sensitive columns are released unchanged."""

    name: ClassVar[str] = "mdav"
    private: ClassVar[bool] = False
    options: ClassVar[Mapping[str, str]] = {
        "k": "the least number of rows that are alike, or auto",
        "scale": SCALE_HELP,
        "gain": "above 0: clusters take up to k - 1 rows more that are nearer than so many times the next (V-MDAV)",
    }

    def check(self, request: ViewRequest) -> ViewBuild:
        """Validate. Errors: InvalidOption."""
        options.only(request, self.options)
        places = quasi_identifiers(request)
        k = options.cluster_size(request, len(places))
        scale = options.word(request, "scale", SCALES)
        clustering = _Clustering(k, _gain(request))
        names = named(request.attributes, places)
        return ViewBuild(
            guarantee=f"{k}-anonymity: at least {k} rows share each combination of {names}. {CAVEAT}",
            loss=None,
            make=partial(_make, request, places, clustering, scale),
        )


class _Clustering(Struct, frozen=True):
    """How many rows form a cluster: k to 2k - 1 of them, more than k by their distances where ``gain`` is above 0."""

    k: int
    gain: float

    def labels(self, points: Space, progress: Progress) -> clusters.Integers:
        """The cluster of each row, shape (rows,)."""
        if self.gain:
            return clusters.v_mdav(points, self.k, self.gain, progress)
        return clusters.mdav(points, self.k, progress)


def _gain(request: ViewRequest) -> float:
    gain = options.number("gain", request.options.get("gain", 0))
    if not 0 <= gain <= MOST_GAIN:
        raise InvalidOption("gain", f"gain is a number from 0 to {MOST_GAIN}")
    return float(gain)


def _make(
    request: ViewRequest,
    places: list[int],
    clustering: "_Clustering",
    scale: str,
    rows: Table,
    words: Words,
    progress: Progress,
) -> Anonymized:
    enough(rows, clustering.k)
    source = clusters.canonical(rows)
    released = rows[source]
    attributes = [request.attributes[place] for place in places]
    known = released[:, places]
    labels = clustering.labels(space(known, attributes, scale), progress)
    released[:, places] = centroids(known, attributes, labels, int(labels.max()) + 1)[labels]
    return in_random_order(released, source, {"smallest_class": smallest_class(released, places)}, words)
