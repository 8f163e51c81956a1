"""Insensitive microaggregation with noisy centroids, or kept inside for noisy order statistics.

Every centroid may move when one record is replaced, so losses add up over clusters: each of the p clusters gets one
joint draw at epsilon / p (staircase), or rho / p (Gaussian, where a delta is given). Noise for width / k on the whole
table, as in the thesis, ch.6, is not private. Proof: ``dp_microaggregation.md``.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dpproxy.anonymize import axes, insensitive, options, population, price, taxonomy
from dpproxy.anonymize.axes import Scale
from dpproxy.anonymize.model import (
    LEAST_CLUSTER,
    Anonymized,
    Attribute,
    ConceptGraph,
    InvalidOption,
    Progress,
    Table,
    ViewBuild,
    ViewRequest,
)
from dpproxy.anonymize.shuffle import order
from dpproxy.anonymize.space import centroids, is_ordered, size
from udfs.conversion import within
from udfs.mechanisms import Exponential, Gaussian, Staircase
from udfs.privacy import LEAST_NANO, NANO, Concentrated, Loss
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]

_TRIED: Final = 200
"""Sizes of clusters looked at for k = auto."""


class MicroaggregationPlan(Struct, frozen=True):
    """What was asked, checked.

    Attributes:
        k: None for auto.
        counting: for the number of rows.
        pure: for the centroids, where ``rho`` is None.
        rho: for the centroids, where a delta was given.
    """

    attributes: tuple[Attribute, ...]
    references: Table
    k: int | None
    counting: Loss
    pure: Loss
    rho: Concentrated | None


class DpMicroaggregation(Struct, frozen=True):
    """Clusters by distance to fixed points; every centroid noisy, or all of them inside."""

    name: ClassVar[str] = "dp_microaggregation"
    private: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {
        "epsilon": f"{price.EPSILON_HELP}; with release = query of the number of rows alone",
        "delta": "0 (staircase noise, the default), or that of Gaussian noise",
        "k": price.K_HELP,
        "reference": "point (one corner of the domain, the default) | corners (all of them in turn)",
        "release": "table (the default) | query (kept inside for MIN, MAX, MEDIAN and PERCENTILE)",
    }

    def check(self, request: ViewRequest) -> ViewBuild:
        """Validate and price. Errors: InvalidOption."""
        options.only(request, self.options)
        attributes = price.attributes(request)
        total, delta, k = price.epsilon(request), price.delta(request), price.cluster_size(request)
        turned = options.word(request, "reference", ("point", "corners")) == "corners"
        if turned and attributes > insensitive.MOST_TURNED:
            most = insensitive.MOST_TURNED
            raise InvalidOption(
                "reference", f"corners are for {most} columns at most", "Write reference = point."
            )
        references = (insensitive.corners if turned else insensitive.point)(request.attributes)
        if options.word(request, "release", ("table", "query")) == "query":
            return _inside(request, references, k, total, delta)
        plan = _plan(request, references, k, total, delta)
        price.enough(Loss(_part(plan, 1)))
        return price.guaranteed(partial(_make, plan), total, delta)


def _plan(
    request: ViewRequest, references: Table, k: int | None, total: Loss, delta: Fraction
) -> MicroaggregationPlan:
    counting = price.counting(total)
    rest = Loss(total.nano - counting.nano)
    rho = within(rest, delta) if delta else None
    if rho is not None and not rho.nano:
        raise InvalidOption("delta", "delta is too small for this epsilon", "Leave it out for pure privacy.")
    return MicroaggregationPlan(request.attributes, references, k, counting, rest, rho)


def _inside(
    request: ViewRequest, references: Table, k: int | None, total: Loss, delta: Fraction
) -> ViewBuild:
    if delta:
        raise InvalidOption("delta", "release = query needs no delta")
    if not all(is_ordered(a.domain) for a in request.attributes):
        raise InvalidOption(
            "release", "release = query is for columns with an order", "Leave the others out."
        )
    if k is None:
        k = max(LEAST_CLUSTER, isqrt(request.expected_rows or 0))
    return ViewBuild(
        guarantee=f"nothing is released but the number of rows, epsilon {price.shown(total)}; order statistics of its "
        f"columns are answered with the noise of their width / {k}, each charged",
        loss=total,
        make=partial(_keep, request.attributes, references, k, total),
        k=k,
    )


def _keep(
    attributes: tuple[Attribute, ...],
    references: Table,
    k: int,
    counting: Loss,
    rows: Table,
    words: Words,
    progress: Progress,
) -> Anonymized:
    count = population.noisy(len(rows), counting.nano, k, words)
    table = population.resized(rows, count, attributes, words)
    arranged = insensitive.arranged(table, attributes, references, k, progress)
    sizes = insensitive.sizes(count, k)
    labels = np.repeat(np.arange(sizes.size), sizes)
    middles = centroids(table[arranged], attributes, labels, sizes.size)
    progress(1.0)
    return Anonymized(middles[labels], inside=True)


def _make(plan: MicroaggregationPlan, rows: Table, words: Words, progress: Progress) -> Anonymized:
    count = population.noisy(len(rows), plan.counting.nano, LEAST_CLUSTER, words)
    k = _size(plan, count)
    table = population.resized(rows, count, plan.attributes, words)
    table = table[insensitive.arranged(table, plan.attributes, plan.references, k, progress)]
    sizes = insensitive.sizes(count, k)
    released = np.empty((sizes.size, len(plan.attributes)), dtype=np.int64)
    ordered = axes.ordered(plan.attributes)
    if ordered:
        noise = _noise(plan, ordered, sizes.size, words)
        for place, (column, axis) in enumerate(ordered.items()):
            released[:, column] = _middles(axis, table[:, column], sizes, noise[:, place])
    for column, attribute in enumerate(plan.attributes):
        if column not in ordered:
            released[:, column] = _chosen(plan, attribute, table[:, column], sizes, words)
    progress(1.0)
    return Anonymized(np.repeat(released, sizes, axis=0)[order(count, words)])


def _middles(axis: Scale, values: Integers, sizes: Integers, noise: npt.NDArray[np.int64]) -> Integers:
    begins = np.cumsum(sizes) - sizes
    noisy = np.add.reduceat(axis.coordinates(values), begins) + noise
    return axis.values((2 * noisy + sizes) // (2 * sizes))


def _noise(
    plan: MicroaggregationPlan, ordered: Mapping[int, Scale], clusters: int, words: Words
) -> npt.NDArray[np.int64]:
    """One joint draw for each cluster, shape (clusters, ordered attributes)."""
    widths = tuple(axis.steps for axis in ordered.values())
    if plan.rho is None:
        part = plan.pure.nano * len(ordered) // (clusters * len(plan.attributes))
        return Staircase.best(widths, part).draw(clusters, words)
    part = plan.rho.nano * len(ordered) // (clusters * len(plan.attributes))
    return Gaussian(widths, part, len(ordered)).draw(clusters, words)


def _chosen(
    plan: MicroaggregationPlan, attribute: Attribute, values: Integers, sizes: Integers, words: Words
) -> Integers:
    """A category for each cluster, the less marginal or the more frequent the likelier."""
    places = size(attribute.domain)
    labels = np.repeat(np.arange(sizes.size), sizes)
    cells = np.bincount(labels * places + values, minlength=sizes.size * places)
    histograms: Integers = cells.reshape(sizes.size, places).astype(np.int64)
    nano = _part(plan, sizes.size)
    if isinstance(attribute.domain, ConceptGraph):
        return taxonomy.private_centroids(attribute.domain, histograms, nano, words)
    lengths = np.full(sizes.size, places, dtype=np.int64)
    return Exponential.of(1, nano).choose_each(histograms.ravel(), lengths, words)


def _part(plan: MicroaggregationPlan, clusters: int) -> int:
    """Nano-epsilon of one category of one cluster: a pure loss e has a rho of e**2 / 2."""
    parts = clusters * len(plan.attributes)
    return plan.pure.nano // parts if plan.rho is None else isqrt(2 * (plan.rho.nano // parts) * NANO)


def _size(plan: MicroaggregationPlan, count: int) -> int:
    """Return k as asked or of the least predicted error; more where parts would be below the least epsilon."""
    parts = plan.pure.nano // LEAST_NANO if plan.rho is None else 2 * plan.rho.nano * NANO // LEAST_NANO**2
    least = max(LEAST_CLUSTER, -(-count // max(parts // len(plan.attributes), 1)))
    if plan.k is not None:
        return min(max(plan.k, least), count)
    tried = np.unique(np.geomspace(min(least, count), count, _TRIED).astype(np.int64))
    return min((int(k) for k in tried), key=lambda k: _predicted(plan, count, k))


def _predicted(plan: MicroaggregationPlan, count: int, k: int) -> float:
    """The error of one record, in squared widths: rows spread evenly over the domain, and the noise."""
    m = len(plan.attributes)
    clusters = count // k
    if plan.rho is None:
        sd = Staircase.best((1 << 20,) * m, max(plan.pure.nano // clusters, LEAST_NANO)).noise_sd()[0]
    else:
        sd = Gaussian((1 << 20,) * m, max(plan.rho.nano // clusters, 1), m).noise_sd()[0]
    return float((k / count) ** (2 / m) / 12) + min((sd / (k << 20)) ** 2, 1 / 12)
