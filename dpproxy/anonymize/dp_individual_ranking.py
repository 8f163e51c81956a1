"""Individual ranking: each attribute in its own order, k ranks to a cluster, one noisy middle for each.

In its own order the changes telescope: a replaced value moves the sums of all clusters together by at most the width of
the domain. Isotonic regression afterwards takes most of the noise away, for nothing. How attributes belong together
comes from a private tree, or is not released. Source: thesis ch.6. Proof: ``dp_individual_ranking.md``.
"""

from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dpproxy.anonymize import axes, boxes, insensitive, options, population, price
from dpproxy.anonymize.axes import Scale
from dpproxy.anonymize.boxes import Line
from dpproxy.anonymize.dp_kdtree import synthetic
from dpproxy.anonymize.model import (
    LEAST_CLUSTER,
    Anonymized,
    InvalidOption,
    Progress,
    Table,
    ViewBuild,
    ViewRequest,
    silent,
)
from dpproxy.anonymize.shuffle import order
from dpproxy.anonymize.space import is_ordered
from udfs.mechanisms import Laplace
from udfs.privacy import Loss
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]

_TRIED: Final = 200
"""Sizes of clusters looked at for k = auto."""


class RankingPlan(Struct, frozen=True):
    """What was asked, checked.

    Attributes:
        columns: one axis for each attribute.
        lines: for the tree; empty where attributes are shuffled on their own.
        k: None for auto.
        counting: for the number of rows.
        each: for the middles of one attribute.
        joint: for the tree.
    """

    request: ViewRequest
    columns: tuple[Scale, ...]
    lines: tuple[Line, ...]
    k: int | None
    counting: Loss
    each: Loss
    joint: Loss


class DpIndividualRanking(Struct, frozen=True):
    """Noisy marginals, each in its own order."""

    name: ClassVar[str] = "dp_individual_ranking"
    private: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {
        "epsilon": price.EPSILON_HELP,
        "k": price.K_HELP,
        "joint": "tree (half of epsilon says how columns belong together, the default) | none (columns on their own)",
    }

    def check(self, request: ViewRequest) -> ViewBuild:
        """Validate and price. Errors: InvalidOption."""
        options.only(request, self.options)
        attributes = price.attributes(request)
        total, k = price.epsilon(request), price.cluster_size(request)
        if not all(is_ordered(a.domain) for a in request.attributes):
            raise InvalidOption("", "individual ranking is for columns with an order", "Use dp_kdtree.")
        tree = options.word(request, "joint", ("tree", "none")) == "tree" and attributes > 1
        counting = price.counting(total)
        joint = Loss(total.nano // 2 if tree else 0)
        plan = RankingPlan(
            request,
            tuple(axes.axis(a.domain) for a in request.attributes),
            boxes.lines(request.attributes, scaled=True) if tree else (),
            k,
            counting,
            Loss((total.nano - counting.nano - joint.nano) // attributes),
            joint,
        )
        price.enough(plan.each)
        return price.guaranteed(partial(_make, plan), total)


def _make(plan: RankingPlan, rows: Table, words: Words, progress: Progress) -> Anonymized:
    count = population.noisy(len(rows), plan.counting.nano, LEAST_CLUSTER, words)
    table = population.resized(rows, count, plan.request.attributes, words)
    k = min(plan.k or _size(plan, count), count)
    sizes = insensitive.sizes(count, k)
    marginals = [
        np.repeat(middles(axis, table[:, place], sizes, plan.each.nano, words), sizes)
        for place, axis in enumerate(plan.columns)
    ]
    progress(0.5)
    if not plan.lines:
        shuffled = [marginal[order(count, words)] for marginal in marginals]
        return Anonymized(np.stack(shuffled, axis=1))
    like = synthetic(plan.lines, plan.joint, None, rows, words, silent)
    like = like[order(len(like), words)]
    progress(1.0)
    return Anonymized(
        np.stack([_ranked(like[:, j], marginal) for j, marginal in enumerate(marginals)], axis=1)
    )


def middles(axis: Scale, values: Integers, sizes: Integers, nano: int, words: Words) -> Integers:
    """Release the noisy middles of clusters of consecutive ranks, ascending; costs ``nano`` for a replaced value."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - slow to import, and only building needs it

    begins = np.cumsum(sizes) - sizes
    sums = np.add.reduceat(np.sort(axis.coordinates(values)), begins)
    if axis.steps:
        sums = sums + Laplace((axis.steps,), nano).draw(sizes.size, words)[:, 0]
    means = sums.astype(np.float64) / sizes
    rising = isotonic_regression(means, weights=sizes).x
    return axis.values(np.rint(rising).astype(np.int64))


def _ranked(like: Integers, marginal: Integers) -> Integers:
    """Replace the values of ``like`` by those of equal rank in an ascending marginal of any length."""
    result = np.empty(like.size, dtype=np.int64)
    ranks = (2 * np.arange(like.size) + 1) * marginal.size // max(2 * like.size, 1)
    result[np.argsort(like, kind="stable")] = marginal[ranks]
    return result


def _size(plan: RankingPlan, count: int) -> int:
    """The k of the least predicted error, in squared widths: values spread evenly, and noise after the regression.

    A rising curve through p points with noise of variance s is found to about (s / p)**(2/3), and never worse than s.
    """
    epsilon = float(plan.each.epsilon)

    def predicted(k: int) -> float:
        noise = 2 / (k * epsilon) ** 2
        return float((k / count) ** 2 / 12 + min(noise, (noise * k / count) ** (2 / 3)))

    tried = np.unique(np.geomspace(min(LEAST_CLUSTER, count), count, _TRIED).astype(np.int64))
    return min((int(k) for k in tried), key=predicted)
