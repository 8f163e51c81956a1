"""Exact draws from P(z) proportional to q**n(abs(z)) on all integers, n(y) = y or y * y, q rational.

The sizes y >= 1 are cut into cells of c = 2**k integers. A table draws zero or a cell, weighted as if every
point of it were its first; then a uniform point of the cell is kept with probability q to the rest of its
exponent. Cells beyond the table are drawn one by one, so that no tail is cut off. Where the law is narrow, c
is 1 and nothing is ever given up. Proof: ``powers.md``.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice, takewhile
from math import isqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from udfs.mechanisms.exponent import Ratio
from udfs.randomness import LAST_WORD, WORD, Integers, LawTable, Words, below_wide, word_array

_PARTS: Final = 6
"""A cell is at most 2**-6 of the law's scale."""
_TAIL: Final = 24
"""The table ends where the law has fallen below 2**-24 of its peak."""
_GUARD: Final = 64
_MOST: Final = 62
"""Bits of the place in a cell that come from the word of the sign."""
_FINE: Final = 20
"""Bits of the place in a cell that the quick decision looks at."""
_NARROW: Final = 44
"""Cells of at most 2**44 integers are drawn in int64."""

Bounds = tuple[int, int]


class Powers:
    """The law P(z) proportional to q**n(abs(z)); ``square`` says whether n(y) is y * y or y."""

    __slots__ = ("_cells", "_first", "_known", "_ratio", "_slope", "_square", "_table", "_width")

    def __init__(self, ratio: Ratio, *, square: bool) -> None:
        self._ratio, self._square = ratio, square
        scale = isqrt(ratio.scale // 2) if square else ratio.scale
        self._width = max(scale.bit_length() - _PARTS - 1, 0)
        walked = takewhile(lambda cell: cell[0][1] >> (2 * WORD - _TAIL), self._walk(2 * WORD))
        falls = [low for _, (low, _) in walked]
        self._cells = len(falls)
        # A point at the part x of a cell is lost with a probability of at most x (1 - fall) / fall.
        slopes = [-(-((1 << 2 * WORD) - fall << WORD - _FINE) // fall) for fall in falls]
        self._slope = np.array([0, *slopes, 0] if self._width else [], dtype=np.uint64)
        self._first = [0, *(1 + (i << self._width) for i in range(self._cells + 1))]
        self._known: dict[int, list[Bounds]] = {}
        self._table = LawTable(self._cells + 1, self._boundary)

    def draw(self, count: int, words: Words) -> Integers:
        """Draw ``count`` independent integers, shape (count,)."""
        if not count:
            return np.zeros(0, dtype=np.int64)
        index, word = self._table.draw(count, words), word_array(count, words)
        inside = word & np.uint64((1 << min(self._width, _MOST)) - 1)
        inside[index == 0] = 0
        places = self._places(inside, words)
        size: Integers = np.array(self._first, dtype=places.dtype)[index] + places
        unsure, value = index > self._cells, word_array(count, words)
        if self._width:
            unsure |= value > LAST_WORD - self._lost(index, inside)
        positions = np.flatnonzero(unsure)
        for position in positions:
            size[position] = self._settle(
                int(index[position]), int(places[position]), int(value[position]), words
            )
        signed: Integers = np.where(word >> np.uint64(WORD - 1), -size, size)
        again = positions[size[positions] == 0]
        if again.size:
            signed[again] = self.draw(again.size, words)
        return signed

    def _places(self, inside: NDArray[np.uint64], words: Words) -> Integers:
        """Return the places in the cells, the bits beyond the 62 of ``inside`` drawn here."""
        if self._width <= _NARROW:
            return inside.view(np.int64)
        wide: Integers = inside.astype(object)
        if self._width > _MOST:
            size = 1 << (self._width - _MOST)
            wide = wide * size + np.array(below_wide([size] * len(wide), words), dtype=object)
        return wide

    def _lost(self, index: NDArray[np.int64], inside: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return at least 2**64 times the probability that each point is given up."""
        shift = min(self._width, _MOST) - _FINE
        part = inside >> np.uint64(shift) if shift > 0 else inside << np.uint64(-shift)
        result: NDArray[np.uint64] = (part + np.uint64(1)) * self._slope[index]
        return result

    def _exponent(self, size: int) -> int:
        return size * size if self._square else size

    def _settle(self, index: int, place: int, value: int, words: Words) -> int:
        """Return the size at ``place`` of a cell, or 0 where it is given up; ``value`` is the first word."""
        start = self._first[index]
        exponent = self._exponent(start + place) - self._exponent(start)
        if index > self._cells:
            fall = self._exponent(start + (1 << self._width)) - self._exponent(start)
            cells = 0
            while self._happens(fall, int.from_bytes(words(8), "little"), words):
                cells += 1
            place += cells << self._width
            exponent = self._exponent(start + place) - self._exponent(start) - cells * fall
        return start + place if self._happens(exponent, value, words) else 0

    def _happens(self, exponent: int, value: int, words: Words) -> bool:
        """Return true with probability q**exponent; ``value`` is the first word of the uniform number."""
        bits = WORD
        while True:
            low, high = self._ratio.power(exponent, bits + WORD)
            if (value + 1) << WORD <= low:
                return True
            if value << WORD >= high:
                return False
            value = value << WORD | int.from_bytes(words(8), "little")
            bits += WORD

    def _boundary(self, index: int, precision: int) -> Bounds:
        if precision not in self._known:
            self._known[precision] = self._boundaries(precision)
        return self._known[precision][index]

    def _boundaries(self, precision: int) -> list[Bounds]:
        """Bound the probability of zero and of the cells up to each; the tail has the rest."""
        work = precision + _GUARD
        one, *cells = 1 << work, *islice(self._walk(work), self._cells + 1)
        (low, high), (fall_low, fall_high) = cells.pop()
        beyond_low = (low << work + 1 + self._width) // (one - fall_low)
        beyond_high = -(-(high << work + 1 + self._width) // (one - fall_high))
        lows = list(accumulate([one, *(weight[0] << 1 + self._width for weight, _ in cells)]))
        highs = list(accumulate([one, *(weight[1] << 1 + self._width for weight, _ in cells)]))
        least, most = lows[-1] + beyond_low, highs[-1] + beyond_high
        return [
            ((low << precision) // most, -(-(high << precision) // least))
            for low, high in zip(lows, highs, strict=True)
        ]

    def _walk(self, work: int) -> Iterator[tuple[Bounds, Bounds]]:
        """For each cell, bound 2**work * q**n at its first point, and the fall from there to the next cell."""
        at = [self._exponent(1 + (i << self._width)) for i in range(3)]
        low, high = self._ratio.power(at[0], work)
        fall_low, fall_high = self._ratio.power(at[1] - at[0], work)
        bend_low, bend_high = self._ratio.power(at[2] - 2 * at[1] + at[0], work)
        while True:
            yield (low, high), (fall_low, fall_high)
            low, high = low * fall_low >> work, -(-(high * fall_high) >> work)
            fall_low, fall_high = fall_low * bend_low >> work, -(-(fall_high * bend_high) >> work)


@lru_cache(maxsize=256)
def powers(ratio: Ratio, *, square: bool) -> Powers:
    """Return the law, its table built once."""
    return Powers(ratio, square=square)


def draw_each(ratios: Sequence[Ratio | None], count: int, words: Words, *, square: bool) -> Integers:
    """Draw ``count`` rows of independent integers, one law a column, zeros where there is none."""
    places: dict[Ratio, list[int]] = {}
    for index, ratio in enumerate(ratios):
        if ratio is not None:
            places.setdefault(ratio, []).append(index)
    drawn = {
        ratio: powers(ratio, square=square).draw(count * len(columns), words)
        for ratio, columns in places.items()
    }
    wide = any(column.dtype == object for column in drawn.values())
    result: Integers = np.zeros((count, len(ratios)), dtype=object if wide else np.int64)
    for ratio, columns in places.items():
        result[:, columns] = drawn[ratio].reshape(count, len(columns))
    return result
