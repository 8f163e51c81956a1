"""Converts the numbers of an SQL type to whole numbers for a mechanism: integers unchanged, DOUBLE by rounding.

A DOUBLE of sensitivity w is rounded to a multiple of 2**k, the k with 2**30 <= w / 2**k < 2**31, halves upwards.
Two numbers at most w apart are then at most ceil(w / 2**k) steps apart: the sensitivity of the rounded number. The
released number is a multiple of 2**k, so that its low digits do not depend on the exact number. NaN counts as 0.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from udfs import arrow
from udfs.privacy import InvalidMechanism

_STEPS: Final = 31
_WORD: Final = 2.0**64
_FAR: Final = 1e38
_EXACT: Final = 2.0**53

Doubles = NDArray[np.float64]


class Lattice(Struct, frozen=True):
    """The numbers of one SQL type; all arrays are pairs of words as ``arrow.read`` gives them.

    widths: converts the sensitivities of a row to lattice steps. Raises InvalidMechanism.
    steps: converts values, shape (rows, d, 2), with the sensitivities, shape (d, 2), to whole numbers of 128 bits.
    numbers: the inverse of ``steps``.
    column: converts pairs to an Arrow column.
    """

    type: str
    widths: Callable[[arrow.Pairs], tuple[int, ...]]
    steps: Callable[[arrow.Pairs, arrow.Pairs], arrow.Pairs]
    numbers: Callable[[arrow.Pairs, arrow.Pairs], arrow.Pairs]
    column: Callable[[arrow.Pairs], Any]


def _as_they_are(values: arrow.Pairs, _: arrow.Pairs) -> arrow.Pairs:
    return values


def _doubles(pairs: arrow.Pairs) -> Doubles:
    return np.ascontiguousarray(pairs[..., 0]).view(np.float64)


def upwards(pairs: arrow.Pairs) -> arrow.Pairs:
    """Return whole sensitivities as DOUBLE, rounded upwards; negative ones as -1."""
    high = pairs[..., 1].view(np.int64)
    near = high.astype(np.float64) * _WORD + pairs[..., 0].astype(np.float64)
    above = np.where(near < _EXACT, near, np.nextafter(near, np.inf))
    result = np.zeros_like(pairs)
    result[..., 0] = np.where(high < 0, -1.0, above).view(np.uint64)
    return result


def _shift(widths: arrow.Pairs) -> NDArray[np.int32]:
    """Return -k of each sensitivity."""
    return (_STEPS - np.frexp(_doubles(widths))[1]).astype(np.int32)


def _double_widths(widths: arrow.Pairs) -> tuple[int, ...]:
    given = _doubles(widths)
    if not (np.isfinite(given) & (given >= 0)).all():
        raise InvalidMechanism("a sensitivity must be a finite number, 0 or above")
    return tuple(int(w) for w in np.ceil(np.ldexp(given, _shift(widths))))


def _rounded(values: arrow.Pairs, widths: arrow.Pairs) -> arrow.Pairs:
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.clip(np.nan_to_num(np.ldexp(_doubles(values), _shift(widths)), posinf=_FAR), -_FAR, _FAR)
    floor = np.floor(scaled)
    whole = floor + (scaled - floor >= 0.5)  # halves go up: rounding them to even could add a step
    size = np.abs(whole)
    high = np.floor(size / _WORD)
    result = np.empty_like(values)
    result[..., 0], result[..., 1] = size - high * _WORD, high
    return _negated(result, whole < 0)


def _multiples(steps: arrow.Pairs, widths: arrow.Pairs) -> arrow.Pairs:
    negative = steps[..., 1] >> np.uint64(63) > 0
    size = _negated(steps, negative)  # as a float, a size has its high digits; a complement has not
    whole = size[..., 1] * _WORD + size[..., 0]
    result = np.zeros_like(steps)
    with np.errstate(over="ignore"):
        result[..., 0] = np.ldexp(np.where(negative, -whole, whole), -_shift(widths)).view(np.uint64)
    return result


def _negated(pairs: arrow.Pairs, where: NDArray[np.bool_]) -> arrow.Pairs:
    """Return the numbers with those selected by ``where`` negated (two's complement)."""
    low, result = ~pairs[..., 0] + np.uint64(1), np.empty_like(pairs)
    result[..., 0] = np.where(where, low, pairs[..., 0])
    result[..., 1] = np.where(where, ~pairs[..., 1] + (low == 0), pairs[..., 1])
    return result


INTEGERS: Final = Lattice(
    "HUGEINT", lambda widths: tuple(arrow.integers(widths)), _as_they_are, _as_they_are, arrow.numbers
)
DOUBLES: Final = Lattice("DOUBLE", _double_widths, _rounded, _multiples, arrow.doubles)
