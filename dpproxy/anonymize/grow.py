"""The loop of microaggregation in machine code: seeds far from the middle and from each other, nearest records around.

The rows that are in no cluster yet stand packed at the front of every array of ``Rows``. All choices depend on
distances and, where those are equal, on the least row: the outcome is the same on every machine and run.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.compiled import compiled
from dpproxy.anonymize.space import Space

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BLOCK = 2048
"""Distances at a time: they stay in the nearest cache while attribute after attribute is added."""


class Metric(NamedTuple):
    """What does not change while clusters grow; see ``Space``."""

    weights: Floats
    sizes: Integers
    starts: Integers
    tables: Integers
    units: Floats


class Rows(NamedTuple):
    """The rows left.

    Attributes:
        points: shape (ordered attributes, rows): weighted coordinates.
        steps: shape (ordered attributes, rows): whole coordinates.
        codes: shape (other attributes, rows): places.
        kinds: shape (rows,): the bucket of each row, of which a cluster takes a quota.
        names: shape (rows,): which row it is.
        distances: shape (rows,): squared, from the last reference.
    """

    points: Floats
    steps: Integers
    codes: Integers
    kinds: Integers
    names: Integers
    distances: Floats


class Middle(NamedTuple):
    """Exact sums over the rows left, and the reference distances are taken from.

    Attributes:
        sums: shape (ordered attributes,).
        margins: for each place of each other attribute, one after the other: the sum of its distances.
        begins: shape (other attributes,): where each one's part of ``margins`` begins.
        point: shape (ordered attributes,).
        code: shape (other attributes,).
    """

    sums: Integers
    margins: Integers
    begins: Integers
    point: Floats
    code: Integers


class Plan(NamedTuple):
    """Which clusters to make.

    Attributes:
        quotas: shape (clusters, buckets): rows of each bucket; they sum to what there is.
        offsets: shape (buckets,): where the chosen rows of each bucket stand in ``chosen``, whatever the cluster.
        by_kind: the clusters, those meant for seeds of bucket 0 first.
        cursors: shape (buckets,): the next of ``by_kind`` for a seed of this bucket.
        limits: shape (buckets,): where each one's clusters end in ``by_kind``.
        found: shape (buckets,): how many rows are chosen.
        chosen: shape (most rows of a cluster,): positions.
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
    """Add the squared distances of categories and concepts for some of the rows."""
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
    """Squared distances of the rows left from the reference."""
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
    """Make the reference the centroid of the rows left."""
    for column in range(len(metric.weights)):
        middle.point[column] = middle.sums[column] / count * metric.weights[column]
    for column in range(len(metric.sizes)):
        begin = middle.begins[column]
        middle.code[column] = np.argmin(middle.margins[begin : begin + metric.sizes[column]])


@compiled
def to_row(rows: Rows, middle: Middle, position: int) -> None:
    """Make the reference one of the rows left."""
    for column in range(len(middle.point)):
        middle.point[column] = rows.points[column, position]
    for column in range(len(middle.code)):
        middle.code[column] = rows.codes[column, position]


@compiled
def farthest(rows: Rows, count: int) -> int:
    """The position farthest from the reference, of equals the least row."""
    best = 0
    for i in range(1, count):
        if rows.distances[i] > rows.distances[best] or (
            rows.distances[i] == rows.distances[best] and rows.names[i] < rows.names[best]
        ):
            best = i
    return best


@compiled
def is_farther(rows: Rows, a: int, b: int) -> bool:
    """Whether position ``a`` comes after ``b`` by distance and row."""
    apart = rows.distances[a] - rows.distances[b]
    return bool(apart > 0 or (apart == 0 and rows.names[a] > rows.names[b]))


@compiled
def sink(rows: Rows, heap: Integers, at: int, length: int) -> None:
    """Restore a heap with the farthest on top, from ``at`` downwards."""
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
    """The nearest rows of each bucket, as many as the cluster's quotas say, into ``chosen``."""
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
    """Take a row out of the exact sums."""
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
    """Let the last row left fill a gap."""
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
    """The next cluster meant for a seed of this bucket; where none is left, the next of any."""
    while plan.cursors[kind] == plan.limits[kind]:
        kind = (kind + 1) % len(plan.cursors)
    plan.cursors[kind] += 1
    return int(plan.by_kind[plan.cursors[kind] - 1])


@compiled
def one_cluster(
    rows: Rows, metric: Metric, middle: Middle, plan: Plan, labels: Integers, number: int, count: int
) -> int:
    """Make cluster number ``number`` around a seed; return how many rows are left.

    The seed is the row farthest from the middle of the rows left and, every second time, from the seed before.
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
    """Make clusters number ``begin`` to ``end``, every second one paired with the one before."""
    count = 0
    for i in range(len(labels)):
        count += labels[i] < 0
    for number in range(begin, end):
        count = one_cluster(rows, metric, middle, plan, labels, number, count)


def metric_of(space: Space) -> Metric:
    """The part that does not change."""
    return Metric(space.weights, space.sizes, space.starts, space.tables, space.units)


def rows_of(space: Space, buckets: Integers | None = None) -> Rows:
    """All rows, in one bucket unless given."""
    return Rows(
        points=space.steps * space.weights[:, None],
        steps=space.steps.copy(),
        codes=space.codes.copy(),
        kinds=np.zeros(space.rows, dtype=np.int64) if buckets is None else buckets.copy(),
        names=np.arange(space.rows),
        distances=np.zeros(space.rows),
    )


def middle_of(space: Space) -> Middle:
    """Sums over all rows."""
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
