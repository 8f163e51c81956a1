"""Which marginals of a cube are measured, and how much of the loss each gets: of least error for all that is read.

A cube has an axis for each dimension. What is read of it is, along each axis, everything, one cell, or a range of
cells where they have an order: the workload is every combination, each kind as likely as any other. A marginal sums the
cells of blocks, along each axis at one *level* of these: one block of all cells, blocks of several where there is an
order, single cells. Blocks of a level are alike in size, so that all marginals are diagonal in one basis: with w_t the
inverse variance of a cell of marginal t, and z_t the cells that one of its own sums up, least squares have the variance
sum over s of c_s / lambda_s for a sum of cells, where lambda_s = sum of w_t z_t over all t at least as fine as s along
each axis, and c_s is how much of the sum lies in component s. After McKenna, Miklau, Hay and Machanavajjhala,
"Optimizing error of high-dimensional statistical queries under differential privacy", 2018.
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache, reduce
from itertools import product
from math import isqrt, prod
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Floats = npt.NDArray[np.float64]
Level = tuple[int, ...]
"""For each axis, the number of one of its levels."""

_LEAST_BLOCKED: Final = 12
"""Fewer cells than that have no blocks of several."""
_ENDS: Final = 48
"""So many places where a range may begin or end stand for all."""
_STEPS: Final = 400
_SPREAD: Final = 6
"""So many beginnings beside those that are chosen."""
_LEAST_SHARE: Final = 1e-3
"""Marginals with a smaller share are not measured."""


class Axis(Struct, frozen=True, dict=True):
    """A dimension of so many cells; ``ordered`` where ranges of them mean something."""

    cells: int
    ordered: bool = False

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """The size of a block at each level, from the coarsest on; each is a multiple of the next."""
        if self.cells == 1:
            return (1,)
        if not self.ordered or self.cells < _LEAST_BLOCKED:
            return (self.cells, 1)
        root = isqrt(self.cells)
        block = min(range(max(2, root - 1), root + 3), key=lambda size: (-(-self.cells // size) * size, size))
        return (-(-self.cells // block) * block, block, 1)

    @property
    def size(self) -> int:
        """Cells with those that only fill the last block, in which there is nobody."""
        return self.blocks[0]

    def energies(self, cells: Floats) -> Floats:
        """How much of sums of cells lies in the component of each level: shape (..., levels).

        ``cells`` has shape (..., size): how often each cell is summed.
        """
        smooth = [
            (cells.reshape(*cells.shape[:-1], -1, block).sum(axis=-1) ** 2).sum(axis=-1) / block
            for block in self.blocks
        ]
        found: Floats = np.diff(np.stack(smooth, axis=-1), axis=-1, prepend=0.0)
        return found

    @cached_property
    def workload(self) -> Floats:
        """The mean of ``energies`` over everything, one cell, and a range, each as likely as the others."""
        whole = np.zeros((1, self.size))
        whole[0, : self.cells] = 1.0
        single = np.eye(self.size)[: self.cells]
        kinds = [whole, single, self._ranges()] if self.ordered else [whole, single]
        found: Floats = np.mean([self.energies(kind).mean(axis=0) for kind in kinds], axis=0)
        return found

    def _ranges(self) -> Floats:
        ends = np.unique(np.linspace(0, self.cells, min(self.cells + 1, _ENDS)).astype(np.int64))
        first, last = (ends[place] for place in np.triu_indices(len(ends), 1))
        every = np.arange(self.size)
        return ((every >= first[:, None]) & (every < last[:, None])).astype(np.float64)


class Lattice(Struct, frozen=True, dict=True):
    """The levels of all axes together; arrays over them have one dimension for each axis."""

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> Level:
        """The number of levels of each axis."""
        return tuple(len(axis.blocks) for axis in self.axes)

    @property
    def levels(self) -> list[Level]:
        """Every marginal, from the coarsest to single cells."""
        return list(product(*map(range, self.shape)))

    @cached_property
    def blocks(self) -> Floats:
        """How many cells one cell of each marginal sums up."""
        return outer([np.array(axis.blocks, dtype=np.float64) for axis in self.axes])

    @cached_property
    def workload(self) -> Floats:
        """How much of what is read lies in each component, in the mean."""
        return outer([axis.workload for axis in self.axes])

    def spectrum(self, weights: Floats) -> Floats:
        """1 / lambda of each component, from the inverse variance of a cell of each marginal."""
        found = weights * self.blocks
        for axis in range(len(self.axes)):
            found = np.flip(np.cumsum(np.flip(found, axis), axis), axis)
        with np.errstate(divide="ignore"):
            return 1 / found

    def error(self, weights: Floats) -> float:
        """The mean variance of what is read."""
        return float((self.workload * self.spectrum(weights)).sum())

    def gains(self, weights: Floats) -> Floats:
        """By how much the error falls with each weight."""
        found = self.workload * self.spectrum(weights) ** 2
        for axis in range(len(self.axes)):
            found = np.cumsum(found, axis)
        return found * self.blocks


def outer(vectors: Sequence[Floats]) -> Floats:
    """The product of vectors, one dimension for each."""
    return reduce(np.multiply.outer, vectors)


@lru_cache(maxsize=64)
def shares(lattice: Lattice, *, concentrated: bool) -> Floats:
    """The share of the loss that each marginal gets; they add up to 1, and single cells have some.

    A share e of epsilon has the weight e**2, one of rho (``concentrated``) the weight e: only the latter makes a convex
    problem, so that several beginnings are tried for the former.
    """
    return _best(lattice, 1 if concentrated else 2)


def _best(lattice: Lattice, power: int) -> Floats:
    found = [_descended(lattice, start, power) for start in _starts(lattice, power)]
    return min(found, key=lambda share: lattice.error(share**power))


def _starts(lattice: Lattice, power: int) -> list[Floats]:
    """All marginals alike; single cells above all; the best of each axis alone, together; and a spread of others."""
    even = np.ones(lattice.shape)
    finest = np.zeros(lattice.shape)
    finest[(-1,) * finest.ndim] = 1.0
    found = [even, even / even.size + 4 * finest, *(_spread(lattice.shape, n) for n in range(1, _SPREAD + 1))]
    if len(lattice.axes) > 1:
        alone = [_best(Lattice((axis,)), power) for axis in lattice.axes]
        found.append(outer(alone) + 1e-4)
    return [start / start.sum() for start in found]


def _spread(shape: Level, number: int) -> Floats:
    """The ``number``th of many beginnings that are far from each other: multiples of the golden ratio."""
    steps = np.arange(1, prod(shape) + 1) * (number * (5**0.5 - 1) / 2)
    found: Floats = -np.log1p(-(steps % 1) * (1 - 1e-9)).reshape(shape)
    return found


def _descended(lattice: Lattice, share: Floats, power: int) -> Floats:
    """The least error that is reached from a beginning by steps that multiply each share."""
    error, rate = lattice.error(share**power), 0.5
    for _ in range(_STEPS):
        slope = lattice.gains(share**power) * share ** (power - 1)
        other = share * (slope / slope.max()) ** rate
        other /= other.sum()
        now = lattice.error(other**power)
        if now < error * (1 - 1e-7):
            share, error, rate = other, now, min(rate * 1.2, 1.0)
        elif rate < 1e-3:
            break
        else:
            rate /= 2
    return trimmed(share, _LEAST_SHARE)


def trimmed(share: Floats, least: float) -> Floats:
    """Without shares below the least, but single cells; the others get what these had."""
    kept = np.where(share < least, 0.0, share)
    finest = (-1,) * share.ndim
    kept[finest] = max(share[finest], least)
    found: Floats = kept / kept.sum()
    return found


def block_of(lattice: Lattice, level: Level) -> list[Floats]:
    """For each axis, how often each cell is in the first cell of a marginal."""
    return [
        (np.arange(axis.size) < axis.blocks[place]).astype(np.float64)
        for axis, place in zip(lattice.axes, level, strict=True)
    ]


def variance(lattice: Lattice, spectrum: Floats, cells: Sequence[Floats]) -> float:
    """The variance of a sum of cells, the product of one vector along each axis."""
    energies = outer([axis.energies(each) for axis, each in zip(lattice.axes, cells, strict=True)])
    return float((energies * spectrum).sum())


def variances(lattice: Lattice, spectrum: Floats, sides: Sequence[Floats]) -> Floats:
    """The variance of every sum of cells that is a product of one set along each axis.

    ``sides`` are, for each axis, its sets of cells: shape (sets, cells of the axis). Result: shape (sets of the first
    axis, sets of the second, ...).
    """
    found = spectrum
    for axis, sets in zip(lattice.axes, sides, strict=True):
        whole = np.pad(sets, ((0, 0), (0, axis.size - axis.cells)))
        found = np.tensordot(found, axis.energies(whole), axes=(0, 1))
    return found


def joint_variances(
    lattice: Lattice, spectrum: Floats, boxes: Sequence[tuple[int, Sequence[Floats]]]
) -> Floats:
    """As ``variances`` of sums of several products each, with a sign; of all, each axis has a set for each sum."""
    found: Floats = np.zeros(len(boxes[0][1][0]))
    for (sign, one), (other_sign, other) in product(boxes, boxes):
        common: Floats = np.broadcast_to(spectrum, (len(found), *spectrum.shape))
        for axis, sets, others in reversed(list(zip(lattice.axes, one, other, strict=True))):
            both, apart = (
                np.pad(c, ((0, 0), (0, axis.size - axis.cells))) for c in (sets + others, sets - others)
            )
            shared = (axis.energies(both) - axis.energies(apart)) / 4
            common = np.einsum("g...l,gl->g...", common, shared)
        found = found + sign * other_sign * common
    return found


def size(lattice: Lattice) -> int:
    """The number of cells, with those that fill blocks."""
    return prod(axis.size for axis in lattice.axes)
