"""The public parameters of a function as values; invalid ones are refused before any data is read."""

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from udfs import arrow
from udfs.arrow import Column
from udfs.privacy import InvalidMechanism

EPSILON: Final = "DECIMAL(18,9)"
"""The SQL type of a loss: exact to whole nano-epsilon."""


def nano(loss: Column, least: str = "epsilon must be at least 0.001") -> NDArray[np.uint64]:
    """Return losses in nano-epsilon or nano-rho, the integers that represent a DECIMAL(18,9); shape (rows,)."""
    array = arrow.single(loss)
    pairs = arrow.pairs(array)
    if array.null_count or pairs[:, 1].any():
        raise InvalidMechanism(least)
    return pairs[:, 0]


def sensitivities(column: Column) -> list[int]:
    """Return the rows of a HUGEINT column."""
    array = arrow.single(column)
    if array.null_count:
        raise InvalidMechanism("a sensitivity must be a whole number between 0 and 10^38 - 1")
    return arrow.integers(arrow.pairs(array))


def confidences(column: Column) -> list[Fraction]:
    """Return the rows of a DOUBLE column, each as the decimal it prints as."""
    levels = arrow.single(column).to_pylist()
    if any(level is None or not 0 < level < 1 for level in levels):
        raise InvalidMechanism("confidence must be between 0 and 1, both excluded")
    return [Fraction(str(level)) for level in levels]
