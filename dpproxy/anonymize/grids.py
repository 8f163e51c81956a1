"""Grids: the declared domain of each attribute in public cells, the exact counts and offsets of rows in them.

A grid is made from a declared domain, and made coarser by released counts. Proof: ``dp_marginals.md``.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.boxes import Line, Ruler

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

REACH: Final = 1 << 10
"""Half of a cell, in the unit of the exact sums of offsets."""
MOST_CELLS: Final = 256
"""The most cells of an ordered attribute."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The positions of a line in cells: ``firsts`` are their first positions, shape (cells,)."""

    line: Line
    firsts: Integers

    @staticmethod
    def of(line: Line, most: int) -> "Grid":
        """At most ``most`` cells of about equal length where positions have an order; otherwise a cell for each."""
        positions = line.last + 1
        cells = min(positions, most) if isinstance(line, Ruler) else positions
        return Grid(line, -(-np.arange(cells) * positions // cells))

    def merged(self, pieces: Integers) -> "Grid":
        """The grid of ``pieces``: for each cell the number of the piece that it is in, ascending without a gap."""
        return Grid(self.line, self.firsts[np.unique(pieces, return_index=True)[1]])

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.firsts.size

    @property
    def ordered(self) -> bool:
        """Whether neighbouring cells are alike."""
        return isinstance(self.line, Ruler)

    @property
    def wide(self) -> bool:
        """Whether a cell has several positions."""
        return self.cells <= self.line.last

    @property
    def lasts(self) -> Integers:
        """The last position of each cell."""
        return np.append(self.firsts[1:] - 1, self.line.last)

    def places(self, positions: Integers) -> Integers:
        """The cell of each position."""
        return np.searchsorted(self.firsts, positions, side="right") - 1

    def counts(self, positions: Integers) -> Integers:
        """How many rows are in each cell; exact."""
        return np.bincount(self.places(positions), minlength=self.cells)

    def offsets(self, positions: Integers) -> Integers:
        """The sum over each cell's rows of their offsets from its middle, each within +-``REACH``; exact."""
        cells = self.places(positions)
        first, last = self.firsts[cells], self.lasts[cells]
        length = np.maximum(last - first, 1)
        each = (2 * (2 * positions - first - last) * REACH + length) // (2 * length)
        result = np.zeros(self.cells, dtype=np.int64)
        np.add.at(result, cells, np.where(last > first, each, 0))
        return result

    def values(self, cells: Integers, shares: Floats) -> Integers:
        """The values at ``shares`` (from 0 to 1) of the way through ``cells``; both of shape (rows,)."""
        lengths = (self.lasts - self.firsts + 1)[cells]
        within = np.minimum((shares * lengths).astype(np.int64), lengths - 1)
        return self.line.values(self.firsts[cells] + within)


def bins(counts: Floats, most: int, *, ordered: bool) -> Integers:
    """Merge cells into at most ``most`` bins by released counts; the bin of each cell, shape (cells,).

    Ordered cells make runs of about equal counts. Of others the most frequent have a bin each, the rest one together.
    """
    if counts.size <= most:
        return np.arange(counts.size)
    if ordered:
        middles = np.cumsum(counts) - counts / 2
        found = np.floor(middles * most / max(counts.sum(), 1e-9)).astype(np.int64)
        return np.unique(np.clip(found, 0, most - 1), return_inverse=True)[1].astype(np.int64)
    result = np.full(counts.size, most - 1)
    result[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(most - 1)
    return result


def pair(left: Integers, right: Integers, shape: tuple[int, int]) -> Integers:
    """How many rows are in each pair of bins; exact, of the given shape."""
    return np.bincount(left * shape[1] + right, minlength=shape[0] * shape[1]).reshape(shape)
