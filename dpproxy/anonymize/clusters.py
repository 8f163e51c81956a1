"""Clusters of similar records: MDAV, its form with a quota for each bucket, and runs of consecutive ranks.

MDAV: the record farthest from the centroid of all records left and its k - 1 nearest are one cluster, the record
farthest from that one and its k - 1 nearest another, and so on while 3k are left; then one more cluster where 2k
are left; the rest is the last. Every cluster has k to 2k - 1 records. Source: Domingo-Ferrer and Torra, "Ordinal,
continuous and heterogeneous k-anonymity through microaggregation", 2005; thesis ch.2.
"""

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.model import Progress, Table, silent
from dpproxy.anonymize.space import Space

Integers = npt.NDArray[np.int64]

STRETCH = 1 << 26
"""About how many distances are taken between two reports of progress."""


def canonical(rows: Table) -> Integers:
    """The order of ``rows`` by their content, shape (rows,): what follows it does not depend on how rows came."""
    return np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))


def mdav(space: Space, k: int, progress: Progress = silent) -> Integers:
    """Return the cluster of each row, shape (rows,): 0 up to rows // k; there are at least k rows."""
    clusters = space.rows // k
    quotas = np.full((clusters, 1), k, dtype=np.int64)
    quotas[-1, 0] += space.rows - clusters * k
    nobody = np.zeros(space.rows, dtype=np.int64)
    return with_quotas(space, nobody, quotas, np.zeros(clusters, dtype=np.int64), progress)


def with_quotas(
    space: Space, buckets: Integers, quotas: Integers, emphasis: Integers, progress: Progress = silent
) -> Integers:
    """Grow clusters around the same seeds, each with its quota of every bucket.

    Args:
        space: the rows.
        buckets: shape (rows,): the bucket of each.
        quotas: shape (clusters, buckets): how many of each; columns sum to the buckets' sizes.
        emphasis: shape (clusters,): the bucket whose records are this cluster's seed as long as that is possible.
        progress: told the share that is done.

    Returns:
        Shape (rows,): the cluster of each.
    """
    from dpproxy.anonymize import grow  # noqa: PLC0415 - the compiler is imported when a view is built

    by_kind = np.argsort(emphasis, kind="stable")
    limits = np.cumsum(np.bincount(emphasis, minlength=quotas.shape[1]))
    most = quotas.max(axis=0)
    plan = grow.Plan(
        quotas=quotas,
        offsets=np.cumsum(most) - most,
        by_kind=by_kind,
        cursors=np.concatenate([[0], limits[:-1]]),
        limits=limits,
        found=np.zeros(quotas.shape[1], dtype=np.int64),
        chosen=np.zeros(int(most.sum()), dtype=np.int64),
    )
    rows, metric, middle = grow.rows_of(space, buckets), grow.metric_of(space), grow.middle_of(space)
    labels = np.full(space.rows, -1, dtype=np.int64)
    at_once = max(2, STRETCH // max(space.rows, 1) // 2 * 2)
    for begin in range(0, len(quotas), at_once):
        progress(begin / len(quotas))
        end = min(begin + at_once, len(quotas))
        grow.some_clusters(rows, metric, middle, plan, labels, begin, end)
    progress(1.0)
    return labels


def ranks(values: Integers, k: int) -> Integers:
    """Return the cluster of each row: k consecutive ranks, from both ends in turn, the rest in the middle.

    This is MDAV on one attribute without its distances. Ties go by row.
    """
    count = len(values) // k
    order = np.argsort(values, kind="stable")
    left = (count - 1) // 2
    places = np.arange(len(values))
    labels = np.minimum(places // k, left)
    from_the_end = (len(values) - 1 - places) // k
    labels = np.where(from_the_end < count - 1 - left, count - 1 - from_the_end, labels)
    result = np.empty(len(values), dtype=np.int64)
    result[order] = labels
    return result
