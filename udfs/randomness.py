"""Exact draws from a source of random bytes: uniform integers, and an index with given probabilities.

Randomness enters through one door, a function from a number of bytes to that many independent uniform bytes.
It has no seed. No draw goes through a float, and no probability is rounded: where the first 64 bits do not
settle a draw, further bits do.
Proof: ``randomness.md``.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Words = Callable[[int], bytes]
"""Gives as many independent uniform bytes as asked for; ``os.urandom`` except to test single branches."""

Boundary = Callable[[int, int], tuple[int, int]]
"""From an index i and a precision p to integers with ``low <= B_i * 2**p <= high``."""

Words64 = NDArray[np.uint64]
Integers = NDArray[np.int64] | NDArray[Any]
"""int64, or Python integers (dtype object) where int64 is too narrow."""

WORD: Final = 64
FIRST_PRECISION: Final = 256
LAST_WORD: Final = 2**WORD - 1


def word_array(count: int, words: Words) -> Words64:
    """Draw ``count`` uniform 64-bit words."""
    return np.frombuffer(words(8 * count), dtype="<u8")


def below(sizes: Words64, words: Words) -> NDArray[np.int64]:
    """Draw one uniform integer on [0, n) for each n of ``sizes``, where 1 <= n < 2**63; same shape."""
    drawn = word_array(sizes.size, words).reshape(sizes.shape)
    result = drawn % sizes
    # A word is kept when all n words of its block [w - w % n, w - w % n + n) exist.
    again = np.flatnonzero((drawn - result).ravel() > (LAST_WORD - (sizes - np.uint64(1))).ravel())
    if again.size:
        result.ravel()[again] = below(sizes.ravel()[again], words).view(np.uint64)
    return result.view(np.int64)


def below_wide(sizes: Iterable[int], words: Words) -> list[int]:
    """Draw one uniform integer on [0, n) for each n of ``sizes``, of any size; one Python step each."""
    return [_below_one(size, words) for size in sizes]


def _below_one(size: int, words: Words) -> int:
    bits = (size - 1).bit_length()
    length, mask = (bits + 7) // 8, (1 << bits) - 1
    while True:
        drawn = int.from_bytes(words(length), "little") & mask
        if drawn < size:
            return drawn


class LawTable:
    """The law on 0..K with P(index < k) = B_(k-1), held as the first 64 bits of each boundary.

    A uniform number u on [0, 1) gives the number of boundaries that are at most u. Its first word decides
    unless that word may hold a boundary; then u is extended word by word, and boundaries are recomputed to
    match, until the answer is certain.

    Args:
        count: K, the number of boundaries.
        boundary: bounds of B_0 <= B_1 <= ... on [0, 1]; ``high - low`` may not grow with the precision.
    """

    __slots__ = ("_boundary", "_count", "_high", "_low")

    def __init__(self, count: int, boundary: Boundary) -> None:
        bounds = [boundary(index, FIRST_PRECISION) for index in range(count)]
        shift = FIRST_PRECISION - WORD
        low = np.array([max(low, 0) >> shift for low, _ in bounds] + [LAST_WORD], dtype=np.uint64)
        high = np.array([min(high >> shift, LAST_WORD) for _, high in bounds], dtype=np.uint64)
        # Widening an interval is always sound, and the search needs sorted ends.
        self._low = np.minimum.accumulate(low[::-1])[::-1].copy()
        self._high = np.maximum.accumulate(high)
        self._count, self._boundary = count, boundary

    def draw(self, count: int, words: Words) -> NDArray[np.int64]:
        """Draw ``count`` indices."""
        drawn = word_array(count, words)
        index: NDArray[np.int64] = np.searchsorted(self._high, drawn, side="left")
        for position in np.flatnonzero(self._low[index] <= drawn):
            index[position] = self._settle(int(drawn[position]), words)
        return index

    def _settle(self, value: int, words: Words) -> int:
        bits = WORD
        while True:
            value = value << WORD | int.from_bytes(words(8), "little")
            bits += WORD
            passed, possible = self._between(value, bits)
            if passed == possible:
                return passed

    def _between(self, value: int, bits: int) -> tuple[int, int]:
        """Bound the number of boundaries at most u, known to lie in [value, value + 1) / 2**bits."""
        precision = bits + WORD
        indices = range(self._count)
        passed = bisect_right(indices, value << WORD, key=lambda i: self._boundary(i, precision)[1])
        possible = bisect_left(indices, (value + 1) << WORD, key=lambda i: self._boundary(i, precision)[0])
        return passed, possible
