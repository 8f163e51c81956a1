"""Clusters in plain numpy: short, slow, and what the compiled loop has to agree with to the last bit."""

from collections.abc import Callable

import numpy as np

from dpproxy.anonymize.space import Integers, Space

Distance = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def squared(space: Space, rows: Integers, point: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Squared distances of some rows from a point, attributes added in order."""
    total = np.zeros(len(rows))
    for column, weight in enumerate(space.weights):
        total += (space.steps[column, rows] * weight - point[column]) ** 2
    for column, start in enumerate(space.starts):
        codes = space.codes[column, rows]
        if start < 0:
            total += codes != code[column]
        else:
            line = start + code[column] * space.sizes[column]
            total += (space.tables[line + codes] * space.units[column]) ** 2
    return total


def middle(space: Space, rows: Integers) -> tuple[np.ndarray, np.ndarray]:
    """The centroid: means, and the least marginal places."""
    point = np.array(
        [space.steps[c, rows].sum() / len(rows) * weight for c, weight in enumerate(space.weights)]
    )
    code = np.zeros(len(space.sizes), dtype=np.int64)
    for column, (size, start) in enumerate(zip(space.sizes, space.starts, strict=True)):
        counts = np.bincount(space.codes[column, rows], minlength=size)
        if start < 0:
            code[column] = np.argmax(counts)
        else:
            table = space.tables[start : start + size * size].reshape(size, size)
            code[column] = np.argmin(table @ counts)
    return point, code


def from_row(space: Space, rows: Integers, row: int) -> np.ndarray:
    """Squared distances from a row."""
    return squared(space, rows, space.steps[:, row] * space.weights, space.codes[:, row])


def mdav(space: Space, k: int) -> Integers:
    """MDAV as the thesis writes it; the least row of equals."""
    labels = np.full(space.rows, -1, dtype=np.int64)
    left, cluster = np.arange(space.rows), 0

    def around(seed: int) -> None:
        nonlocal left, cluster
        nearest = np.lexsort((left, from_row(space, left, seed)))[:k]
        labels[left[nearest]] = cluster
        left, cluster = np.delete(left, nearest), cluster + 1

    while len(left) >= 2 * k:
        pair = len(left) >= 3 * k
        first = left[np.argmax(squared(space, left, *middle(space, left)))]
        around(first)
        if pair:
            around(left[np.argmax(from_row(space, left, first))])
    labels[left] = cluster
    return labels


def v_mdav(space: Space, k: int, gain: float) -> Integers:
    """V-MDAV as its authors write it, from the table of all distances; the least row of equals."""
    labels = np.full(space.rows, -1, dtype=np.int64)
    everybody = np.arange(space.rows)
    table = np.array([from_row(space, everybody, row) for row in everybody])
    far = squared(space, everybody, *middle(space, everybody))
    cluster = 0
    while (labels < 0).sum() >= k:
        left = np.flatnonzero(labels < 0)
        seed = left[np.argmax(far[left])]
        labels[left[np.lexsort((left, table[seed, left]))[:k]]] = cluster
        while (labels == cluster).sum() < 2 * k - 1 and (labels < 0).sum() > 1:
            left, inside = np.flatnonzero(labels < 0), np.flatnonzero(labels == cluster)
            to_cluster = table[np.ix_(inside, left)].min(axis=0)
            candidate = left[np.argmin(to_cluster)]
            if to_cluster.min() >= gain**2 * table[candidate, left[left != candidate]].min():
                break
            labels[candidate] = cluster
        cluster += 1
    clustered = np.flatnonzero(labels >= 0)
    for row in np.flatnonzero(labels < 0):
        labels[row] = labels[clustered[np.argmin(table[row, clustered])]]
    return labels


def grow(space: Space, buckets: Integers, quotas: Integers, emphasis: Integers) -> Integers:
    """The same seeds, each with its quota of every bucket."""
    labels = np.full(space.rows, -1, dtype=np.int64)
    waiting = [list(np.flatnonzero(emphasis == bucket)) for bucket in range(quotas.shape[1])]
    left, last = np.arange(space.rows), -1
    for number in range(len(quotas)):
        distances = from_row(space, left, last) if number % 2 else squared(space, left, *middle(space, left))
        last = left[np.argmax(distances)]
        kinds = np.roll(np.arange(quotas.shape[1]), -buckets[last])
        cluster = next(waiting[kind] for kind in kinds if waiting[kind]).pop(0)
        distances = from_row(space, left, last)
        for bucket, quota in enumerate(quotas[cluster]):
            inside = np.flatnonzero(buckets[left] == bucket)
            labels[left[inside[np.lexsort((left[inside], distances[inside]))[:quota]]]] = cluster
        left = np.flatnonzero(labels < 0)
    return labels
