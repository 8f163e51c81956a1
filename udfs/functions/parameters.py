"""The public parameters of a function as values; what is wrong is refused before any data is read."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from udfs import arrow
from udfs.privacy import InvalidMechanism

EPSILON: Final = "DECIMAL(18,9)"
"""The type of a loss: it holds whole nano-epsilon."""


def nano(epsilon: Any) -> NDArray[np.uint64]:  # noqa: ANN401 - pyarrow has no types
    """Return epsilon in nano-epsilon, which is how DECIMAL(18,9) holds it; shape (rows,)."""
    array = arrow.single(epsilon)
    pairs = arrow.pairs(array)
    if array.null_count or pairs[:, 1].any():
        raise InvalidMechanism("epsilon must be at least 0.001")
    return pairs[:, 0]


def sensitivities(column: Any) -> list[int]:  # noqa: ANN401
    """Return the rows of a HUGEINT column."""
    array = arrow.single(column)
    if array.null_count:
        raise InvalidMechanism("a sensitivity must be a whole number between 0 and 10^38 - 1")
    return arrow.integers(arrow.pairs(array))
