"""Clusters of similar records: MDAV, MDAV with a quota for each bucket, V-MDAV, and runs of consecutive ranks.

MDAV: the record farthest from the centroid of the unassigned records and its k - 1 nearest neighbours form a cluster;
the record farthest from that first record and its k - 1 nearest form another; and so on while at least 3k records are
unassigned. If at least 2k remain, one more cluster is formed; the remainder is the last. Every cluster has k to
2k - 1 records. Source: Domingo-Ferrer and Torra, "Ordinal, continuous and heterogeneous k-anonymity through
microaggregation", 2005; thesis ch.2.

V-MDAV: a cluster of k takes up to k - 1 rows more, one after the other: the nearest one, while it is nearer to the
cluster than ``gain`` times the distance to the nearest row that stays outside. Fewer than k rows that are left over go
to the clusters of their nearest rows. Source: Solanas and Martinez-Balleste, "V-MDAV: a multivariate microaggregation
with variable group size", 2006.
"""

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.model import Progress, Table, silent
from dpproxy.anonymize.space import Space

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

STRETCH = 1 << 26
"""About how many distances are computed between two reports of progress."""


def canonical(rows: Table) -> Integers:
    """Sort ``rows`` by their content, so that results do not depend on the order of the input; shape (rows,)."""
    return np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))


def mdav(space: Space, k: int, progress: Progress = silent) -> Integers:
    """Return the cluster of each row, shape (rows,), from 0 to rows // k - 1; there must be at least k rows."""
    clusters = space.rows // k
    quotas = np.full((clusters, 1), k, dtype=np.int64)
    quotas[-1, 0] += space.rows - clusters * k
    nobody = np.zeros(space.rows, dtype=np.int64)
    return with_quotas(space, nobody, quotas, np.zeros(clusters, dtype=np.int64), progress)


def v_mdav(space: Space, k: int, gain: float, progress: Progress = silent) -> Integers:
    """Return the cluster of each row, shape (rows,), each of at least k rows; there must be at least k rows.

    The time is quadratic in the number of rows. Of rows at equal distances the one with the least number is taken.
    """
    from dpproxy.anonymize import grow  # noqa: PLC0415 - the compiler is imported when a view is built

    rows, metric, middle = grow.rows_of(space), grow.metric_of(space), grow.middle_of(space)

    def distances() -> Floats:
        grow.measure(rows, metric, middle, space.rows)
        return rows.distances.copy()

    def around(row: int) -> Floats:
        grow.to_row(rows, middle, row)
        return distances()

    grow.to_the_middle(metric, middle, space.rows)
    remoteness = distances()
    labels = np.full(space.rows, -1, dtype=np.int64)
    free = np.arange(space.rows)
    cluster = 0
    while len(free) >= k:
        seed = int(free[np.argmax(remoteness[free])])
        taken = free[nearest(around(seed)[free], k)]
        labels[taken] = cluster
        free = free[labels[free] < 0]
        near = np.minimum.reduce([around(int(row)) for row in taken])
        for _ in range(k - 1):
            if len(free) < 2:
                break
            next_row = int(free[np.argmin(near[free])])
            others = around(next_row)
            outside = free[free != next_row]
            if near[next_row] >= gain**2 * others[outside].min():
                break
            labels[next_row] = cluster
            near = np.minimum(near, others)
            free = outside
        cluster += 1
        progress(1 - len(free) / space.rows)
    assigned = np.flatnonzero(labels >= 0)
    labels[free] = [labels[assigned[np.argmin(around(int(row))[assigned])]] for row in free]
    progress(1.0)
    return labels


def nearest(distances: Floats, k: int) -> Integers:
    """The places of the k least distances, of equal ones the first; shape (k,).

    >>> nearest(np.array([3.0, 1.0, 2.0, 1.0, 2.0]), 3)
    array([1, 2, 3])
    """
    last = np.partition(distances, k - 1)[k - 1]
    within = np.flatnonzero(distances < last)
    return np.sort(np.concatenate([within, np.flatnonzero(distances == last)[: k - len(within)]]))


def with_quotas(
    space: Space, buckets: Integers, quotas: Integers, emphasis: Integers, progress: Progress = silent
) -> Integers:
    """Form clusters as MDAV does, where each cluster takes a fixed number of records of every bucket.

    Args:
        space: the rows.
        buckets: shape (rows,): the bucket of each row.
        quotas: shape (clusters, buckets): how many rows of each bucket a cluster takes, one at least in all; the
            column sums are the sizes of the buckets.
        emphasis: shape (clusters,): the bucket that the cluster's seed should be of, as long as that is possible.
        progress: called with the share of the work that is done.

    Returns:
        Shape (rows,): the cluster of each row.
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
    """Return the cluster of each row, shape (rows,): k consecutive ranks each, and the remainder in the middle.

    Clusters are formed from both ends in turn: this is MDAV on one attribute, without computing distances. Equal
    values are ranked by row number.
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
