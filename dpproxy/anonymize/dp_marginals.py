"""A model of the marginals: noisy counts of each attribute and of chosen pairs, and rows that follow them.

Pairs that are farthest from independence are chosen one by one, by the exponential mechanism, to a forest. Noise grows
with the number of attributes and not with the number of their combinations, which is what wide tables need. After
McKenna, Miklau and Sheldon, "Winning the NIST contest", 2021. Proof: ``dp_marginals.md``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import isqrt
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize import boxes, forest, grids, options, price
from dpproxy.anonymize.boxes import Line
from dpproxy.anonymize.forest import Edge
from dpproxy.anonymize.grids import Grid
from dpproxy.anonymize.model import Anonymized, Build, InvalidOption, Progress, Request, Table
from udfs.conversion import within
from udfs.mechanisms import Exponential, Gaussian, Laplace
from udfs.privacy import LEAST_NANO, NANO, Loss
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

COUNTING: Final = Fraction(1, 20)
SINGLE: Final = Fraction(7, 20)
OFFSETS: Final = Fraction(1, 10)
CHOOSING: Final = Fraction(1, 10)
PAIRS: Final = Fraction(2, 5)
"""The parts of the whole: the number of rows, single attributes, offsets in cells, the choice of pairs, pairs."""
_CLEAR: Final = 8
"""Rows to a cell of a single attribute on average, in standard deviations of its noise."""
_NOISE: Final = 0.15
"""What part of all rows the noise of a pair may add up to."""
_LEAST_BINS: Final = 2
_MOST_BINS: Final = 32
_PAYS: Final = 0.5
"""A pair is worth measuring if it is farther from independence than this part of its noise."""


@dataclass(frozen=True, slots=True)
class Purse:
    """What a build may lose: whole nano-epsilon, or nano-rho where ``concentrated``; parts of it are rounded down."""

    nano: int
    concentrated: bool = False

    def noise(self, width: int, part: Fraction) -> Laplace | Gaussian:
        """Noise for one release that a unit moves by ``width`` in one component, at ``part`` of the whole."""
        nano = int(self.nano * part)
        return Gaussian((width,), nano) if self.concentrated else Laplace((width,), nano)

    def most(self, part: Fraction) -> int:
        """Into how many releases ``part`` of the whole may be divided, each of which must be possible."""
        nano = int(self.nano * part)
        return 2 * nano * NANO // LEAST_NANO**2 if self.concentrated else nano // LEAST_NANO

    def choice(self, spread: int, part: Fraction) -> Exponential:
        """A choice whose scores a unit moves within an interval of length ``spread``, at ``part`` of the whole."""
        nano = int(self.nano * part)
        return Exponential(spread, isqrt(2 * nano * NANO) if self.concentrated else nano)


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked, checked; ``weights`` has 2 for each attribute of the workload, 1 for each other."""

    lines: tuple[Line, ...]
    weights: tuple[int, ...]
    purse: Purse


@dataclass(frozen=True, slots=True)
class Single:
    """An attribute as it was released: its counts, and the bins that its pairs are measured in."""

    grid: Grid
    counts: Floats
    bins: Integers

    @property
    def number(self) -> int:
        """The number of bins."""
        return int(self.bins.max()) + 1

    def binned(self) -> Floats:
        """The count of each bin."""
        result = np.zeros(self.number)
        np.add.at(result, self.bins, self.counts)
        return result

    def inside(self) -> Floats:
        """The counts of the cells of each bin, shape (bins, cells); those of a bin without rows are alike."""
        own = self.bins == np.arange(self.number)[:, None]
        result: Floats = own * np.where(self.binned()[self.bins] > 0, self.counts, 1.0)
        return result


@dataclass(frozen=True, slots=True)
class DpMarginals:
    """A forest of marginals."""

    name: ClassVar[str] = "dp_marginals"
    private: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {
        "epsilon": price.EPSILON_HELP,
        "delta": "0 (Laplace noise, the default), or that of Gaussian noise, which is used if it is less",
        "workload": "columns whose pairs matter more than others",
    }

    def check(self, request: Request) -> Build:
        """Validate and price. Errors: InvalidOption."""
        options.only(request, self.options)
        number = price.attributes(request)
        total, delta = price.epsilon(request), price.delta(request)
        named = weights(request)
        purse = _purse(total, delta, number)
        paid = delta if purse.concentrated else Fraction(0)
        also = f", delta {price.shown(paid)}" if paid else ""
        return Build(
            guarantee=f"differential privacy, epsilon {price.shown(total)}{also}",
            loss=total,
            delta=paid,
            make=partial(_make, Plan(boxes.lines(request.attributes, scaled=True), named, purse)),
            columns=tuple(a.name for a in request.attributes),
        )


def weights(request: Request) -> tuple[int, ...]:
    """How much each column matters, by the option ``workload``: 2 if it is named, else 1. Errors: InvalidOption."""
    given = request.options.get("workload", ())
    named = (given,) if isinstance(given, str) else given
    known = {a.name for a in request.attributes}
    if not isinstance(named, tuple) or not all(name in known for name in named):
        raise InvalidOption("workload", "workload names columns of the view", f"({', '.join(sorted(known))})")
    return tuple(2 if a.name in named else 1 for a in request.attributes)


def _purse(total: Loss, delta: Fraction, attributes: int) -> Purse:
    """Concentrated if a delta is given and noise for single attributes is less then; public facts decide.

    Errors: InvalidOption, where epsilon is too little to be divided either way.
    """
    single = SINGLE / attributes
    least = min(single, COUNTING)
    pure, concentrated = (
        Purse(total.nano),
        Purse(within(total, delta).nano if delta else 0, concentrated=True),
    )
    if int(concentrated.nano * least) < 1:
        price.enough(Loss(int(total.nano * least)))
        return pure
    if int(total.nano * least) < LEAST_NANO:
        return concentrated
    return min(pure, concentrated, key=lambda purse: purse.noise(1, single).noise_sd()[0])


def _make(plan: Plan, rows: Table, words: Words, progress: Progress) -> Anonymized:
    total = max(len(rows) + int(plan.purse.noise(1, COUNTING).draw(1, words)[0, 0]), 0)
    positions = [line.positions(rows[:, place]) for place, line in enumerate(plan.lines)]
    singles = [
        _single(plan, line, found, total, words) for line, found in zip(plan.lines, positions, strict=True)
    ]
    progress(0.2)
    tilts = _tilts(plan, singles, positions, words)
    binned = [one.bins[one.grid.places(found)] for one, found in zip(singles, positions, strict=True)]
    edges = _chosen(plan, singles, binned, total, words)
    progress(0.5)
    joint = {edge: _joint(plan, singles, binned, edge, len(edges), words) for edge in edges}
    progress(0.7)
    made = _rows(singles, tilts, joint, total, words)
    progress(1.0)
    return Anonymized(made)


def _rows(
    singles: list[Single], tilts: list[Floats], joint: Mapping[Edge, Floats], total: int, words: Words
) -> Table:
    """Rows that follow the model: bins along the forest, then cells in bins, then values in cells."""
    made = np.empty((total, len(singles)), dtype=np.int64)
    bins: dict[int, Integers] = {}
    for parent, place in forest.walk(len(singles), list(joint)):
        one = singles[place]
        if parent is None:
            groups, table = np.zeros(total, dtype=np.int64), one.binned()[None]
        else:
            groups = bins[parent]
            table = joint[parent, place] if (parent, place) in joint else joint[place, parent].T
        bins[place] = forest.drawn(groups, table, words)
        cells = forest.drawn(bins[place], one.inside(), words)
        even = forest.shares(cells, one.grid.cells, words)
        made[:, place] = one.grid.values(cells, forest.tilted(even, tilts[place][cells]))
    return made


def _single(plan: Plan, line: Line, positions: Integers, total: int, words: Words) -> Single:
    law = plan.purse.noise(1, SINGLE / len(plan.lines))
    grid = Grid.of(line, int(np.clip(total / (_CLEAR * law.noise_sd()[0]), 4, grids.MOST_CELLS)))
    noisy = grid.counts(positions) + law.draw(grid.cells, words)[:, 0]
    counts = forest.settled(noisy, float(total))
    return Single(grid, counts, grids.bins(counts, _most_bins(plan, total), ordered=grid.ordered))


def _pairs(plan: Plan, edges: int) -> Laplace | Gaussian:
    return plan.purse.noise(1, PAIRS / max(edges, 1))


def _most_bins(plan: Plan, total: int) -> int:
    noise = max(_pairs(plan, _rounds(plan)).noise_sd()[0], 1e-3)
    return int(np.clip(isqrt(int(_NOISE * total / noise)), _LEAST_BINS, _MOST_BINS))


def _tilts(plan: Plan, singles: list[Single], positions: list[Integers], words: Words) -> list[Floats]:
    """The mean offset in each cell of each attribute: a release for each that has cells of several positions."""
    wide = sum(one.grid.wide for one in singles)
    possible = wide <= plan.purse.most(OFFSETS)
    result = []
    for one, found in zip(singles, positions, strict=True):
        if not (one.grid.wide and possible):
            result.append(np.zeros(one.grid.cells))
            continue
        law = plan.purse.noise(grids.REACH, OFFSETS / wide)
        noisy = one.grid.offsets(found) + law.draw(one.grid.cells, words)[:, 0]
        variance = (law.noise_sd()[0] / grids.REACH) ** 2
        result.append(forest.tilts(noisy / grids.REACH, one.counts, variance))
    return result


def _rounds(plan: Plan) -> int:
    """The most pairs: a tree, or as many as epsilon allows to choose."""
    return min(len(plan.lines) - 1, plan.purse.most(CHOOSING))


def _chosen(
    plan: Plan, singles: list[Single], binned: list[Integers], total: int, words: Words
) -> list[Edge]:
    """Choose pairs until they make a tree, or the choice is to stop."""
    rounds = _rounds(plan)
    if rounds < 1:
        return []
    scores = _scores(plan, singles, binned, total)
    first, second = sorted(plan.weights)[-2:]
    law = plan.purse.choice(2 * first * second, CHOOSING / rounds)
    part_of, edges = list(range(len(singles))), []
    for _ in range(rounds):
        apart = [edge for edge in scores if part_of[edge[0]] != part_of[edge[1]]]
        found = law.choose([*(scores[edge] for edge in apart), 0], words)
        if found == len(apart):
            break
        edges.append(apart[found])
        old, new = part_of[apart[found][1]], part_of[apart[found][0]]
        part_of = [new if part == old else part for part in part_of]
    return edges


def _scores(plan: Plan, singles: list[Single], binned: list[Integers], total: int) -> dict[Edge, int]:
    """How far each pair is from independence, in rows, less what is public: the price of its noise."""
    noise = _pairs(plan, _rounds(plan)).noise_sd()[0]
    scores = {}
    for a, b in combinations(range(len(singles)), 2):
        shape = (singles[a].number, singles[b].number)
        expected = np.outer(singles[a].binned(), singles[b].binned()) / max(total, 1)
        apart = np.abs(grids.pair(binned[a], binned[b], shape) - np.rint(expected).astype(np.int64))
        costs = int(_PAYS * noise * shape[0] * shape[1])
        scores[a, b] = plan.weights[a] * plan.weights[b] * (int(apart.sum()) - costs)
    return scores


def _joint(
    plan: Plan, singles: list[Single], binned: list[Integers], edge: Edge, edges: int, words: Words
) -> Floats:
    a, b = edge
    law = _pairs(plan, edges)
    exact = grids.pair(binned[a], binned[b], (singles[a].number, singles[b].number))
    noisy = exact + law.draw(exact.size, words)[:, 0].reshape(exact.shape)
    return forest.agreeing(noisy, singles[a].binned(), singles[b].binned(), law.noise_sd()[0] ** 2)
