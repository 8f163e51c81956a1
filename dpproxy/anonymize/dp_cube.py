"""A cube: noisy marginals of a table of cells, and the cells that agree with all of them.

Each marginal that ``strategies`` gives a share is released with one joint draw for each of its cells, and least squares
make one table of cells of them: it sums up alike along and across axes. Noise of a total is that of few cells, not of
all that it sums up. Proof: ``dp_cube.md``.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from math import prod, sqrt
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from dpproxy.anonymize import options, price, strategies
from dpproxy.anonymize.model import Anonymized, InvalidOption, Linked, Progress, Table, ViewBuild, ViewRequest
from dpproxy.anonymize.strategies import Axis, Floats, Lattice, Level
from udfs.choose import choose
from udfs.conversion import within
from udfs.mechanisms import Additive
from udfs.privacy import LEAST_NANO, Concentrated, Loss
from udfs.randomness import Words

Integers = npt.NDArray[np.object_]
"""Whole numbers of any size: no sum of them overflows."""

Cells = TypeVar("Cells", Integers, Floats)

MOST_CELLS = 500_000
MOST_AXES = 8
FARTHEST = 10**18
"""Measures of a cell, and figures in their last digits, are kept within this distance of 0."""
OPTIONS = {
    "epsilon": price.EPSILON_HELP,
    "delta": "0 (Laplace or staircase noise, the default), or that of Gaussian noise, which is used if it is less",
}


class Figure(Struct, frozen=True):
    """What is shown of each cell: a sum of measures, each ``weights`` times, in units of 1/10**``digits``."""

    name: str
    weights: tuple[Fraction, ...]
    digits: int


class Shape(Struct, frozen=True, dict=True):
    """The axes of a cube, what one row moves each measure of one cell by, at most, and a unit's most rows."""

    axes: tuple[Axis, ...]
    widths: tuple[int, ...]
    rows: int

    @cached_property
    def lattice(self) -> Lattice:
        """The levels of the axes."""
        return Lattice(self.axes)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return prod(axis.cells for axis in self.axes)


class Strategy(Struct, frozen=True, dict=True):
    """The marginals that are released, each with its mechanism; ``concentrated`` where they are charged as rho."""

    shape: Shape
    mechanisms: dict[Level, Additive]
    concentrated: bool

    @cached_property
    def weights(self) -> list[Floats]:
        """For each measure, the inverse variance of a cell of each marginal; 0 where it is not released."""
        found = [np.zeros(self.shape.lattice.shape) for _ in self.shape.widths]
        for level, mechanism in self.mechanisms.items():
            for weight, sd in zip(found, mechanism.noise_sd(), strict=True):
                weight[level] = max(sd, 1e-6) ** -2
        return found

    def spectrum(self, weights: Sequence[Fraction]) -> Floats:
        """The variance of the components of so many measures: draws of one vector are not correlated."""
        spectra = (self.shape.lattice.spectrum(weight) for weight in self.weights)
        return sum(
            (float(w) ** 2 * s for w, s in zip(weights, spectra, strict=True)),
            start=np.zeros(self.shape.lattice.shape),
        )

    def least(self, weights: Sequence[Fraction]) -> float:
        """The smallest standard deviation of a draw that so many measures are made of."""
        sds = (zip(weights, mechanism.noise_sd(), strict=True) for mechanism in self.mechanisms.values())
        return min((sd for pairs in sds for weight, sd in pairs if weight), default=0.0)

    def sd(self, figure: Figure, level: Level) -> float:
        """How far off a cell of a marginal is, as one standard deviation."""
        lattice = self.shape.lattice
        cells = strategies.block_of(lattice, level)
        return sqrt(strategies.variance(lattice, self.spectrum(figure.weights), cells))


def check(request: ViewRequest, shape: Shape, figures: Sequence[Figure]) -> ViewBuild:
    """Validate and price; no row is read. Errors: InvalidOption."""
    options.only(request, OPTIONS)
    if len(shape.axes) > MOST_AXES:
        raise InvalidOption("", f"a cube has at most {MOST_AXES} dimensions", "Make two cubes of it.")
    if strategies.size(shape.lattice) > MOST_CELLS:
        hint = "Leave a dimension out, or make one coarser."
        raise InvalidOption("", f"the cube has {shape.cells} cells, more than {MOST_CELLS}", hint)
    total, delta = price.epsilon(request), price.delta(request)
    strategy = planned(shape, total, delta)
    paid = delta if strategy.concentrated else Fraction(0)
    names = tuple(attribute.name for attribute in request.attributes)
    return replace(
        price.guaranteed(partial(_make, strategy, names, figures), total, paid),
        columns=(*names, *(f.name for f in figures)),
        method="dp_cube",
        error=_predicted(strategy, figures),
    )


def _predicted(strategy: Strategy, figures: Sequence[Figure]) -> str:
    """How far off figures are, in words."""
    shape = strategy.shape.lattice.shape
    coarsest, finest = (0,) * len(shape), tuple(n - 1 for n in shape)
    parts = (
        f"{f.name} by {strategy.sd(f, coarsest):.3g} in all and {strategy.sd(f, finest):.3g} in a cell"
        for f in figures
    )
    return f"{strategy.shape.cells} cells, off by one standard deviation: {'; '.join(parts)}"


def planned(shape: Shape, total: Loss, delta: Fraction) -> Strategy:
    """The strategy of least error. Errors: InvalidOption, where epsilon is too little to be divided.

    Each row of a unit pays for itself: for pure noise an equal part of epsilon, for Gaussian noise of rho the part that
    is left if all its rows are in one cell, which is the square of that.
    """
    pure = _divided(shape, total.nano // shape.rows, concentrated=False)
    rho = within(total, delta).nano // shape.rows**2 if delta else 0
    found = [pure, _divided(shape, rho, concentrated=True)]
    possible = [strategy for strategy in found if strategy is not None]
    if not possible:
        raise InvalidOption("epsilon", "epsilon is too small for the rows of one privacy unit", "Raise it.")
    return min(possible, key=_error)


def _divided(shape: Shape, nano: int, *, concentrated: bool) -> Strategy | None:
    """The strategy for what one row may cost in all; None where that is too little for any."""
    least = 1 if concentrated else LEAST_NANO
    if nano < least:
        return None
    share = strategies.shares(shape.lattice, concentrated=concentrated)
    share = strategies.trimmed(share, least / nano)
    parts = {
        level: int(share[level] * nano * (1 - 1e-12)) for level in shape.lattice.levels if share[level] > 0
    }
    finest = tuple(n - 1 for n in shape.lattice.shape)
    parts = {level: part for level, part in parts.items() if part >= least or level == finest}
    parts[finest] = nano - sum(part for level, part in parts.items() if level != finest)
    if parts[finest] < least:
        parts = {finest: nano}
    kind = Concentrated if concentrated else Loss
    chosen = {level: choose(shape.widths, kind(part)).mechanism for level, part in parts.items()}
    return Strategy(shape, chosen, concentrated)


def _error(strategy: Strategy) -> float:
    """The mean variance of what is read, in squares of a row's reach, added up over the measures."""
    lattice, widths = strategy.shape.lattice, strategy.shape.widths
    return sum(
        lattice.error(weight) / max(width, 1) ** 2
        for weight, width in zip(strategy.weights, widths, strict=True)
    )


def _make(
    strategy: Strategy,
    names: Sequence[str],
    figures: Sequence[Figure],
    rows: Table,
    words: Words,
    progress: Progress,
) -> Anonymized:
    """``rows``: a cell's places, and its measures from ``-FARTHEST`` on; what is made: all places, and figures so."""
    shape = strategy.shape
    exact = tables(shape, rows)
    fitted = fit(strategy, marginals(strategy, exact, words, progress))
    places = np.stack(np.unravel_index(np.arange(shape.cells), [a.cells for a in shape.axes]), axis=1)
    inside = np.ix_(*(range(axis.cells) for axis in shape.axes))
    shown = [_shown(figure, [table[inside].ravel() for table in fitted]) for figure in figures]
    made = np.column_stack([places.astype(np.int64), *shown])
    return Anonymized(made, linked={"errors": _errors(strategy, names, figures)})


def tables(shape: Shape, rows: Table) -> list[Integers]:
    """The exact cells of each measure, those that fill blocks too; a cell that is there twice is added up."""
    axes = len(shape.axes)
    whole = tuple(axis.size for axis in shape.axes)
    found = [np.zeros(whole, dtype=np.object_) for _ in shape.widths]
    for table, measure in zip(found, rows[:, axes:].T, strict=True):
        np.add.at(table, tuple(rows[:, :axes].T), measure.astype(np.object_) - FARTHEST)
    return found


def marginals(
    strategy: Strategy, exact: Sequence[Integers], words: Words, progress: Progress
) -> dict[Level, list[Integers]]:
    """The released marginals of each measure: whole numbers, each the sum of its cells and a draw."""
    found = {}
    for number, (level, mechanism) in enumerate(strategy.mechanisms.items(), 1):
        sums = [coarser(strategy.shape, table, level) for table in exact]
        noise = mechanism.draw(sums[0].size, words)
        found[level] = [
            total + noise[:, place].astype(np.object_).reshape(total.shape)
            for place, total in enumerate(sums)
        ]
        progress(number / (len(strategy.mechanisms) + 1))
    return found


def coarser(shape: Shape, table: Cells, level: Level) -> Cells:
    """The marginal of a table at a level: the sums of its blocks."""
    result = table
    for axis, (dimension, number) in enumerate(zip(shape.axes, level, strict=True)):
        block = dimension.blocks[number]
        parts = list(result.shape)
        parts[axis : axis + 1] = [parts[axis] // block, block]
        result = result.reshape(parts).sum(axis=axis + 1)
    return result


def fit(strategy: Strategy, released: dict[Level, list[Integers]]) -> list[Floats]:
    """The cells of each measure that agree best with all marginals: weighted least squares, in closed form."""
    return [
        _fitted(strategy, weight, {level: several[measure] for level, several in released.items()})
        for measure, weight in enumerate(strategy.weights)
    ]


def _fitted(strategy: Strategy, weight: Floats, released: dict[Level, Integers]) -> Floats:
    shape, lattice = strategy.shape, strategy.shape.lattice
    seen = np.zeros([axis.size for axis in shape.axes])
    for level, table in released.items():
        seen += weight[level] * _finer(shape, table.astype(np.float64), level)
    # In the basis of components: each divided by its lambda; as a sum over means of blocks instead.
    inverse = lattice.spectrum(weight)
    for axis in range(inverse.ndim):
        inverse = inverse - np.concatenate(
            [
                np.take(inverse, range(1, inverse.shape[axis]), axis),
                np.zeros_like(np.take(inverse, [0], axis)),
            ],
            axis,
        )
    result = np.zeros_like(seen)
    for level in product(*map(range, lattice.shape)):
        means = coarser(shape, seen, level) / lattice.blocks[level]
        result += inverse[level] * _finer(shape, means, level)
    return result


def _finer(shape: Shape, table: Floats, level: Level) -> Floats:
    """Each cell of a marginal in the place of all that it sums up."""
    for along, (axis, number) in enumerate(zip(shape.axes, level, strict=True)):
        table = np.repeat(table, axis.blocks[number], axis=along)
    return table


def _shown(figure: Figure, measures: Sequence[Floats]) -> npt.NDArray[np.int64]:
    """A figure of each cell, in its last digits from ``-FARTHEST`` on: where the places of its column begin."""
    total = sum((float(w) * m for w, m in zip(figure.weights, measures, strict=True)), start=0.0)
    return np.clip(np.rint(total * 10.0**figure.digits), -FARTHEST, FARTHEST).astype(np.int64) + FARTHEST


def _errors(strategy: Strategy, axes: Sequence[str], figures: Sequence[Figure]) -> Linked:
    """One row for each marginal: how many cells it sums along each axis, and how far off one of its cells is."""
    shape = strategy.shape
    rows = []
    for level in shape.lattice.levels:
        blocks = [min(a.blocks[n], a.cells) for a, n in zip(shape.axes, level, strict=True)]
        sds = [round(strategy.sd(f, level) * 10**f.digits) + FARTHEST for f in figures]
        rows.append([*blocks, *sds])
    names = (*(f"{name}_cells" for name in axes), *(f"{f.name}_sd" for f in figures))
    like = {f"{f.name}_sd": f.name for f in figures}
    return Linked(names, np.array(rows, dtype=np.int64), like)
