"""Rows of a part whose values are off alike: one law of the error for each kind of row, and which row has which."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from dpproxy.algebra.plan import LAW

MOST_LAWS: Final = 16
"""Each is written into the answer stage."""
_RATIOS: Final = (1 + 1e-9, 1.02, 1.1, 1.3, 2.0, np.inf)
"""How far errors of one law may differ: the first that makes few enough of them."""


def kinds(errors: Sequence[Sequence[float]]) -> tuple[list[int], list[list[float]]]:
    """The kind of each row, and the worst errors of each kind; ``errors`` has a row for each, of what it is off by.

    >>> kinds([[1.0, 4.0], [2.0, 4.0], [1.0, 4.0]])
    ([0, 1, 0], [[1.0, 4.0], [2.0, 4.0]])
    """
    known = np.array(errors, dtype=np.float64)
    places = np.zeros(len(known), dtype=np.int64)
    for ratio in _RATIOS:
        steps = np.floor(np.log(np.maximum(known, 1e-9)) / np.log(ratio) + 0.5)
        found, places = np.unique(steps, axis=0, return_inverse=True)
        if len(found) <= MOST_LAWS:
            break
    places = places.reshape(-1)
    worst = [known[places == kind].max(axis=0).tolist() for kind in range(int(places.max(initial=-1)) + 1)]
    return places.tolist(), worst


def with_laws(table: pa.Table, rows: Sequence[int]) -> pa.Table:
    """A relation without its values yet, with the law of each row where there are several."""
    return table.append_column(LAW, pa.array(rows, pa.int64())) if any(rows) else table


def laws_of(table: pa.Table) -> list[int]:
    """The law of each row."""
    return table[LAW].to_pylist() if LAW in table.column_names else [0] * table.num_rows
