"""Exactly uniform random permutations: no order is more likely than another."""

import numpy as np
import numpy.typing as npt

from udfs.randomness import Words, word_array

Places = npt.NDArray[np.int64]


def within(groups: Places, words: Words) -> Places:
    """Return a permutation that shuffles rows inside each group: use it as ``values[within(groups, words)]``.

    Rows are sorted by 64 random bits each. If no two rows of a group draw the same bits, all orders of the group are
    equally likely; if two do, all rows draw again.

    Args:
        groups: shape (rows,): the group of each row.
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
    """The numbers 0 to ``count`` - 1 in random order."""
    return within(np.zeros(count, dtype=np.int64), words)
