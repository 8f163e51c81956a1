"""Confidential values in buckets of about equal mass: what t-closeness counts, and all that it releases of them.

Ordered values go into runs of consecutive values, concepts into runs along their tree, nominal values wherever there
is most room; equal values share a bucket. Several attributes are microaggregated together: a bucket is a cluster.
Source: thesis ch.7; nominal and compound attributes are its future work.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.clusters import mdav
from dpproxy.anonymize.model import Attribute, Linked, Table, Taxonomy
from dpproxy.anonymize.space import is_ordered, size, space

Integers = npt.NDArray[np.int64]


def bucketed(rows: Table, attributes: Sequence[Attribute], count: int, scale: str = "range") -> Integers:
    """Return the bucket of each row, shape (rows,): 0, 1, ... without a gap, at most ``count`` of them.

    Args:
        rows: shape (rows, attributes), at least one row.
        attributes: the confidential ones.
        count: how many buckets are wanted; fewer come out where there are fewer values.
        scale: how distances of several attributes are scaled.
    """
    if len(attributes) > 1:
        return mdav(space(rows, attributes, scale), -(-len(rows) // count))
    domain, values = attributes[0].domain, rows[:, 0]
    if is_ordered(domain):
        return _consecutive(values, count)
    if isinstance(domain, Taxonomy):
        along = np.empty(size(domain), dtype=np.int64)
        along[_down_the_tree(domain)] = np.arange(size(domain))
        return _consecutive(along[values], count)
    return _balanced(values, count)


def _consecutive(values: Integers, count: int) -> Integers:
    """Cut between distinct values, each time nearest to equal mass."""
    _, places, often = np.unique(values, return_inverse=True, return_counts=True)
    distinct = len(often)
    count = min(count, distinct)
    before = np.concatenate([[0], np.cumsum(often)])
    cuts = [0]
    for number in range(1, count):
        first, last = cuts[-1] + 1, distinct - (count - number)
        off = np.abs(before[first : last + 1] * count - number * len(values))
        cuts.append(first + int(np.argmin(off)))
    result: Integers = np.searchsorted(np.array(cuts), places, side="right") - 1
    return result


def _balanced(values: Integers, count: int) -> Integers:
    """The most frequent value first, each into the bucket that holds least."""
    _, places, often = np.unique(values, return_inverse=True, return_counts=True)
    held = np.zeros(min(count, len(often)), dtype=np.int64)
    bucket_of = np.empty(len(often), dtype=np.int64)
    for place in np.argsort(-often, kind="stable"):
        bucket_of[place] = np.argmin(held)
        held[bucket_of[place]] += often[place]
    return bucket_of[places]


def _down_the_tree(taxonomy: Taxonomy) -> list[int]:
    """All concepts so that those below one concept stand together, as far as each has one parent."""
    children: list[list[int]] = [[] for _ in taxonomy.parents]
    waiting: list[int] = []
    for place, parents in enumerate(taxonomy.parents):
        (children[parents[0]] if parents else waiting).append(place)
    order = []
    waiting.reverse()
    while waiting:
        place = waiting.pop()
        order.append(place)
        waiting.extend(reversed(children[place]))
    return order


def described(
    rows: Table, attributes: Sequence[Attribute], labels: Integers, middles: Table
) -> dict[str, Linked]:
    """What each bucket stands for: its middle, the ends of ordered attributes, the values of others, how many rows.

    Args:
        rows: shape (rows, attributes).
        attributes: the confidential ones.
        labels: shape (rows,): buckets.
        middles: shape (buckets, attributes).

    Returns:
        ``buckets``, and ``NAME_values`` for each attribute NAME without an order.
    """
    numbers = np.arange(len(middles))
    records = np.bincount(labels)
    columns, values, like = ["bucket_id"], [numbers], {}
    linked = {}
    for column, attribute in enumerate(attributes):
        columns.append(attribute.name)
        values.append(middles[:, column])
        if is_ordered(attribute.domain):
            inside = [rows[labels == number, column] for number in numbers]
            for end, found in (("from", np.min), ("to", np.max)):
                columns.append(f"{attribute.name}_{end}")
                like[columns[-1]] = attribute.name
                values.append(np.array([found(part) for part in inside]))
        else:
            pairs, often = np.unique(np.column_stack([labels, rows[:, column]]), axis=0, return_counts=True)
            linked[f"{attribute.name}_values"] = Linked(
                ("bucket_id", attribute.name, "records"), np.column_stack([pairs, often])
            )
    buckets = Linked((*columns, "records"), np.column_stack([*values, records]), like)
    return {"buckets": buckets, **linked}
