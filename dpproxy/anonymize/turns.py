"""The compiled loop that takes records from several orders in turn."""

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.compiled import compiled

Integers = npt.NDArray[np.int64]


@compiled
def in_turn(orders: Integers, k: int) -> Integers:
    """Take from each order in turn its first k rows that are not yet taken; the last turn takes all that remain.

    Args:
        orders: shape (orders, rows): row numbers, each row once in every order.
        k: rows in a turn, at most as many as there are.

    Returns:
        Shape (rows,): row numbers, turn after turn.
    """
    count, rows = orders.shape
    used = np.zeros(rows, dtype=np.bool_)
    places = np.zeros(count, dtype=np.int64)
    result = np.empty(rows, dtype=np.int64)
    filled = 0
    for cluster in range(rows // k):
        turn = cluster % count
        end = rows if cluster == rows // k - 1 else filled + k
        place = places[turn]
        while filled < end:
            row = orders[turn, place]
            place += 1
            if not used[row]:
                used[row] = True
                result[filled] = row
                filled += 1
        places[turn] = place
    return result
