"""The compiled loop of microaggregation: seeds far from the centroid and from each other, each with its nearest rows.

The rows without a cluster are packed at the front of every array of ``Rows``. Choices depend on distances and, where
those are equal, on the least row number: the outcome is the same on every machine and run.

Compiled code is cached on disk with the names of these classes, and is read by later versions: the names stay.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.compiled import compiled
from dpproxy.anonymize.space import Space

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BLOCK = 2048
"""Distances computed at a time: they stay in the L1 cache while attribute after attribute is added."""


class Metric(NamedTuple):
    """The scales and distance tables of a ``Space`` (see there): constant while clusters are formed."""

    weights: Floats
    sizes: Integers
    starts: Integers
    tables: Integers
    units: Floats


class Rows(NamedTuple):
    """The rows without a cluster.

    Attributes:
        points: shape (ordered attributes, rows): coordinates in units of distance.
        steps: shape (ordered attributes, rows): integer coordinates.
        codes: shape (other attributes, rows): indices of values in their domains.
        kinds: shape (rows,): the bucket of each row, of which a cluster takes a quota.
        names: shape (rows,): the row's number in the input.
        distances: shape (rows,): squared distance to the current reference (see ``Middle``).
    """

    points: Floats
    steps: Integers
    codes: Integers
    kinds: Integers
    names: Integers
    distances: Floats


class Middle(NamedTuple):
    """Exact sums over the rows without a cluster, and the reference that distances are measured from.

    Attributes:
        sums: shape (ordered attributes,): sums of the integer coordinates.
        margins: for each value of each other attribute, attribute after attribute: the sum of its distances to those
            rows (for nominal values, minus their number), so that the least is the centroid's value.
        begins: shape (other attributes,): where each attribute's part of ``margins`` begins.
        point: shape (ordered attributes,): the reference, in units of distance.
        code: shape (other attributes,): the reference, as indices of values.
    """

    sums: Integers
    margins: Integers
    begins: Integers
    point: Floats
    code: Integers


class Plan(NamedTuple):
    """The clusters to form, and working memory for the rows of the current one.

    Attributes:
        quotas: shape (clusters, buckets): rows that a cluster takes of each bucket; column sums are bucket sizes.
        offsets: shape (buckets,): where each bucket's part of ``chosen`` begins, the same for every cluster.
        by_kind: shape (clusters,): the clusters sorted by the bucket that their seed should be of.
        cursors: shape (buckets,): where the next cluster for a seed of this bucket is in ``by_kind``.
        limits: shape (buckets,): where each bucket's clusters end in ``by_kind`` (exclusive).
        found: shape (buckets,): how many rows of each bucket are chosen for the current cluster.
        chosen: shape (sum of the largest quota of each bucket,): positions of the chosen rows in ``Rows``.
    """

    quotas: Integers
    offsets: Integers
    by_kind: Integers
    cursors: Integers
    limits: Integers
    found: Integers
    chosen: Integers


@compiled
def add_categories(rows: Rows, metric: Metric, middle: Middle, begin: int, end: int) -> None:
    """Add the squared distances in nominal attributes and taxonomies, for the rows from ``begin`` to ``end``."""
    for column in range(len(metric.sizes)):
        codes, reference, start = rows.codes[column], middle.code[column], metric.starts[column]
        if start < 0:
            for i in range(begin, end):
                rows.distances[i] += 1.0 if codes[i] != reference else 0.0
        else:
            line = metric.tables[start + reference * metric.sizes[column] :]
            unit = metric.units[column]
            for i in range(begin, end):
                rows.distances[i] += (line[codes[i]] * unit) * (line[codes[i]] * unit)


@compiled
def measure(rows: Rows, metric: Metric, middle: Middle, count: int) -> None:
    """Fill ``rows.distances`` with the squared distances of the first ``count`` rows to the reference."""
    distances = rows.distances
    for begin in range(0, count, BLOCK):
        end = min(begin + BLOCK, count)
        for i in range(begin, end):
            distances[i] = 0.0
        for column in range(len(metric.weights)):
            points, reference = rows.points[column], middle.point[column]
            for i in range(begin, end):
                distances[i] += (points[i] - reference) * (points[i] - reference)
        add_categories(rows, metric, middle, begin, end)


@compiled
def to_the_middle(metric: Metric, middle: Middle, count: int) -> None:
    """Make the centroid of the ``count`` rows without a cluster the reference."""
    for column in range(len(metric.weights)):
        middle.point[column] = middle.sums[column] / count * metric.weights[column]
    for column in range(len(metric.sizes)):
        begin = middle.begins[column]
        middle.code[column] = np.argmin(middle.margins[begin : begin + metric.sizes[column]])


@compiled
def to_row(rows: Rows, middle: Middle, position: int) -> None:
    """Make the row at ``position`` the reference."""
    for column in range(len(middle.point)):
        middle.point[column] = rows.points[column, position]
    for column in range(len(middle.code)):
        middle.code[column] = rows.codes[column, position]


@compiled
def farthest(rows: Rows, count: int) -> int:
    """The position of the row farthest from the reference; of equals, that with the least row number."""
    best = 0
    for i in range(1, count):
        if rows.distances[i] > rows.distances[best] or (
            rows.distances[i] == rows.distances[best] and rows.names[i] < rows.names[best]
        ):
            best = i
    return best


@compiled
def is_farther(rows: Rows, a: int, b: int) -> bool:
    """Whether the row at ``a`` comes after that at ``b`` in the order by distance, then row number."""
    apart = rows.distances[a] - rows.distances[b]
    return bool(apart > 0 or (apart == 0 and rows.names[a] > rows.names[b]))


@compiled
def sink(rows: Rows, heap: Integers, at: int, length: int) -> None:
    """Sift the element at ``at`` down, in a heap of positions with the farthest row on top."""
    position = heap[at]
    while True:
        child = 2 * at + 1
        if child >= length:
            break
        if child + 1 < length and is_farther(rows, heap[child + 1], heap[child]):
            child += 1
        if not is_farther(rows, heap[child], position):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = position


@compiled
def choose(rows: Rows, plan: Plan, cluster: int, count: int) -> None:
    """Write the positions of the rows nearest to the reference into ``chosen``: the cluster's quota of each bucket.

    One pass with a heap for each bucket, whose top is the farthest row chosen so far.
    """
    quotas = plan.quotas[cluster]
    plan.found[:] = 0
    for i in range(count):
        kind = rows.kinds[i]
        quota, offset = quotas[kind], plan.offsets[kind]
        if plan.found[kind] < quota:
            plan.chosen[offset + plan.found[kind]] = i
            plan.found[kind] += 1
            if plan.found[kind] == quota:
                heap = plan.chosen[offset : offset + quota]
                for at in range(quota // 2 - 1, -1, -1):
                    sink(rows, heap, at, quota)
        elif quota > 0:
            top = plan.chosen[offset]
            if rows.distances[i] <= rows.distances[top] and is_farther(rows, top, i):
                plan.chosen[offset] = i
                sink(rows, plan.chosen[offset : offset + quota], 0, quota)


@compiled
def leave_middle(rows: Rows, metric: Metric, middle: Middle, position: int) -> None:
    """Subtract the row at ``position`` from the exact sums."""
    for column in range(len(middle.sums)):
        middle.sums[column] -= rows.steps[column, position]
    for column in range(len(middle.code)):
        begin, size, start = middle.begins[column], metric.sizes[column], metric.starts[column]
        code = rows.codes[column, position]
        if start < 0:
            middle.margins[begin + code] += 1
        else:
            for place in range(size):
                middle.margins[begin + place] -= metric.tables[start + code * size + place]


@compiled
def move(rows: Rows, source: int, target: int) -> None:
    """Copy the row at position ``source`` to position ``target``, to fill the gap of a row that left."""
    for column in range(rows.points.shape[0]):
        rows.points[column, target] = rows.points[column, source]
        rows.steps[column, target] = rows.steps[column, source]
    for column in range(rows.codes.shape[0]):
        rows.codes[column, target] = rows.codes[column, source]
    rows.kinds[target] = rows.kinds[source]
    rows.names[target] = rows.names[source]
    rows.distances[target] = rows.distances[source]


@compiled
def next_cluster(plan: Plan, kind: int) -> int:
    """The next cluster for a seed of bucket ``kind``; if there is none, of the first later bucket that has one."""
    while plan.cursors[kind] == plan.limits[kind]:
        kind = (kind + 1) % len(plan.cursors)
    plan.cursors[kind] += 1
    return int(plan.by_kind[plan.cursors[kind] - 1])


@compiled
def one_cluster(
    rows: Rows, metric: Metric, middle: Middle, plan: Plan, labels: Integers, number: int, count: int
) -> int:
    """Form the cluster that is ``number``-th in time around a seed; return how many rows remain without a cluster.

    For even numbers the seed is the row farthest from the centroid of the ``count`` remaining rows; for odd ones, the
    row farthest from the seed before.
    """
    if number % 2 == 0:
        to_the_middle(metric, middle, count)
        measure(rows, metric, middle, count)
    seed = farthest(rows, count)
    cluster = next_cluster(plan, rows.kinds[seed])
    to_row(rows, middle, seed)
    measure(rows, metric, middle, count)
    choose(rows, plan, cluster, count)
    total = 0
    for kind in range(len(plan.found)):
        for i in range(plan.found[kind]):
            plan.chosen[total] = plan.chosen[plan.offsets[kind] + i]
            total += 1
    taken = np.sort(plan.chosen[:total])
    for i in range(total - 1, -1, -1):
        position = taken[i]
        labels[rows.names[position]] = cluster
        leave_middle(rows, metric, middle, position)
        count -= 1
        move(rows, count, position)
    return count


@compiled
def some_clusters(
    rows: Rows, metric: Metric, middle: Middle, plan: Plan, labels: Integers, begin: int, end: int
) -> None:
    """Form clusters number ``begin`` (even: its seed needs no earlier one) to ``end`` (exclusive), into ``labels``."""
    count = 0
    for i in range(len(labels)):
        count += labels[i] < 0
    for number in range(begin, end):
        count = one_cluster(rows, metric, middle, plan, labels, number, count)


def metric_of(space: Space) -> Metric:
    """The scales and distance tables of ``space``."""
    return Metric(space.weights, space.sizes, space.starts, space.tables, space.units)


def rows_of(space: Space, buckets: Integers | None = None) -> Rows:
    """All rows of ``space``; one bucket holds them all unless ``buckets``, shape (rows,), says otherwise."""
    return Rows(
        points=space.steps * space.weights[:, None],
        steps=space.steps.copy(),
        codes=space.codes.copy(),
        kinds=np.zeros(space.rows, dtype=np.int64) if buckets is None else buckets.copy(),
        names=np.arange(space.rows),
        distances=np.zeros(space.rows),
    )


def middle_of(space: Space) -> Middle:
    """The sums over all rows of ``space``; the reference is yet to be set."""
    parts = [np.empty(0, dtype=np.int64)]
    for codes, places, start in zip(space.codes, space.sizes, space.starts, strict=True):
        counts = np.bincount(codes, minlength=places)
        table = space.tables[start : start + places * places].reshape(places, places) if start >= 0 else None
        parts.append(-counts if table is None else table @ counts)
    return Middle(
        sums=space.steps.sum(axis=1),
        margins=np.concatenate(parts),
        begins=np.cumsum(space.sizes) - space.sizes,
        point=np.zeros(len(space.weights)),
        code=np.zeros(len(space.sizes), dtype=np.int64),
    )
