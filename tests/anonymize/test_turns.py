"""The loop that takes from orders in turn; ``test_insensitive`` compares it with lists."""

import numpy as np

from dpproxy.anonymize.turns import in_turn


def test_what_is_left_joins_the_last() -> None:
    orders = np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])
    assert in_turn(orders, 2).tolist() == [0, 1, 4, 3, 2]
