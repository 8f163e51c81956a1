"""Grids: the declared domain of each attribute in public cells, the exact counts and offsets of rows in them.

A grid is made from a declared domain, and made coarser by released counts. Proof: ``dp_marginals.md``.
"""

from collections.abc import Callable, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dpproxy.anonymize.boxes import Line, Ruler, Walk

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)

REACH: Final = 1 << 10
"""Half of a cell, in the unit of the exact sums of offsets."""
MOST_CELLS: Final = 256
"""The most cells of an ordered attribute."""
COARSER: Final = 3
"""How many bins make about one wider one, where a clique does not pay in bins."""


class Grid(Struct, frozen=True, eq=False):
    """The positions of a line in cells: ``firsts`` are their first positions, shape (cells,).

    The last cell is of NULL alone where ``null``: of the position after the line's last one.
    """

    line: Line
    firsts: Integers
    null: bool = False

    @staticmethod
    def of(line: Line, most: int, *, null: bool = False, width: int | None = None) -> "Grid":
        """At most ``most`` cells of about equal length where positions have an order; otherwise a cell for each.

        Cells of ``width`` positions where that is given.
        """
        positions = line.last + 1
        cells = min(positions, most) if isinstance(line, Ruler) else positions
        firsts = np.arange(0, positions, width) if width else -(-np.arange(cells) * positions // cells)
        return Grid(line, np.append(firsts, positions) if null else firsts, null)

    def merged(self, pieces: Integers) -> "Grid":
        """The grid of ``pieces``: for each cell the number of the piece that it is in, ascending without a gap."""
        return Grid(self.line, self.firsts[np.unique(pieces, return_index=True)[1]], self.null)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.firsts.size

    @property
    def ordered(self) -> bool:
        """Whether neighbouring cells are alike."""
        return isinstance(self.line, Ruler)

    @property
    def depths(self) -> Integers | None:
        """The depth of each cell's concept, in the order of a walk through a taxonomy; None where there is none."""
        line = self.line
        return np.append(0, line.joints) if isinstance(line, Walk) and line.joints.any() else None

    @property
    def wide(self) -> bool:
        """Whether a cell has several positions."""
        return self.cells <= self.last

    @property
    def last(self) -> int:
        """The last position."""
        return self.line.last + self.null

    @property
    def lasts(self) -> Integers:
        """The last position of each cell."""
        return np.append(self.firsts[1:] - 1, self.last)

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
        """The values at ``shares`` (from 0 to 1) of the way through ``cells``, both of shape (rows,); of NULL any."""
        lengths = (self.lasts - self.firsts + 1)[cells]
        within = np.minimum((shares * lengths).astype(np.int64), lengths - 1)
        return self.line.values(self.firsts[cells] + within)


def beside_null(runs: Callable[[Floats], Integers], counts: Floats, *, null: bool) -> Integers:
    """What ``runs`` makes of the counts of cells; that of NULL, which is the last, is by itself."""
    if not null:
        return runs(counts)
    found = runs(counts[:-1])
    return np.append(found, found.max() + 1)


def bins(counts: Floats, most: int, *, ordered: bool, depths: Integers | None = None) -> Integers:
    """Merge cells into at most ``most`` bins by released counts; the bin of each cell, shape (cells,).

    Ordered cells make runs of about equal counts. Concepts make subtrees, by their ``depths``. Of others the most
    frequent have a bin each, the rest one together.
    """
    if counts.size <= most:
        return np.arange(counts.size)
    if depths is not None and np.count_nonzero(depths == 0) <= most:
        return _subtrees(counts, most, depths)
    if ordered:
        middles = np.cumsum(counts) - counts / 2
        found = np.floor(middles * most / max(counts.sum(), 1e-9)).astype(np.int64)
        return np.unique(np.clip(found, 0, most - 1), return_inverse=True)[1].astype(np.int64)
    result = np.full(counts.size, most - 1)
    result[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(most - 1)
    return result


def _subtrees(counts: Floats, most: int, depths: Integers) -> Integers:
    """The subtree of each concept: the one with the largest count is divided, until there are ``most``.

    Of the last one, the parts with the largest counts are told apart, and the others stay together.
    """
    ends = [
        next((p for p in range(first + 1, depths.size) if depths[p] <= depths[first]), depths.size)
        for first in range(depths.size)
    ]

    def entry(first: int) -> tuple[float, int]:
        return -float(counts[first : ends[first]].sum()), first

    waiting = [entry(first) for first in np.flatnonzero(depths == 0).tolist()]
    heapify(waiting)
    result, used = np.zeros(counts.size, dtype=np.int64), len(waiting)
    for number, (_, first) in enumerate(waiting):
        result[first : ends[first]] = number
    while waiting and used < most:
        _, first = heappop(waiting)
        below = []
        place = first + 1
        while place < ends[first]:
            below.append(entry(place))
            place = ends[place]
        for part in sorted(below)[: most - used]:
            result[part[1] : ends[part[1]]] = used
            used += 1
            heappush(waiting, part)
    return result


def wider(counts: Floats, grid: Grid) -> Integers:
    """Merge bins, given their counts, into some ``COARSER`` times fewer; those of a taxonomy along its walk.

    An even number, so that half of the rows are on either side of a border.
    """
    along, fewer = grid.ordered or grid.depths is not None, counts.size // COARSER
    few = partial(bins, most=max(fewer + fewer % 2, 2), ordered=along)
    return beside_null(few, counts, null=grid.null)


def folded(table: npt.NDArray[Number], groups: Sequence[Integers]) -> npt.NDArray[Number]:
    """Add up a table by the groups along each of its axes."""
    result = np.zeros([int(each.max()) + 1 for each in groups], dtype=table.dtype)
    np.add.at(result, np.ix_(*groups), table)
    return result
