"""Uniformly random orders, exactly: no order is more likely than another."""

import numpy as np
import numpy.typing as npt

from udfs.randomness import Words, word_array

Places = npt.NDArray[np.int64]


def within(groups: Places, words: Words) -> Places:
    """Shuffle inside each group: ``values[within(groups, words)]`` keeps every group's values in the group's places.

    Sorted by 64 random bits each, all orders of a group are equally likely as long as no two of its words are
    equal; where two are, all are drawn anew.

    Args:
        groups: shape (rows,); rows with one number are one group.
        words: the source of randomness.

    Returns:
        Shape (rows,): for each row, the row of its group whose value it takes.
    """
    places = np.argsort(groups, kind="stable")
    while True:
        keys = word_array(groups.size, words)
        order = np.lexsort((keys, groups))
        sorted_keys, sorted_groups = keys[order], groups[order]
        if not np.any((sorted_keys[1:] == sorted_keys[:-1]) & (sorted_groups[1:] == sorted_groups[:-1])):
            break
    taken = np.empty(groups.size, dtype=np.int64)
    taken[places] = order
    return taken


def order(count: int, words: Words) -> Places:
    """All places below ``count`` in random order."""
    return within(np.zeros(count, dtype=np.int64), words)
