"""A model of the marginals: noisy counts of each attribute and of chosen pairs, and rows that follow them.

Pairs that are farthest from independence are chosen one by one, by the exponential mechanism: at least as many as make
a tree, and as many more as there are rows for. Noise grows with the number of attributes and pairs, and not with the
number of their combinations, which is what wide tables need. After McKenna, Miklau and Sheldon, "Winning the NIST
contest", 2021. Proof: ``dp_marginals.md``.
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
from dpproxy.anonymize.forest import Pair
from dpproxy.anonymize.grids import Grid
from dpproxy.anonymize.model import Anonymized, Build, InvalidOption, Progress, Request, Table
from udfs.conversion import within
from udfs.mechanisms import Exponential, Gaussian, Laplace
from udfs.privacy import LEAST_NANO, NANO, Loss
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

COUNTING: Final = Fraction(1, 20)
SINGLE: Final = Fraction(1, 4)
OFFSETS: Final = Fraction(1, 10)
CHOOSING: Final = Fraction(1, 10)
PAIRS: Final = Fraction(1, 2)
"""The parts of the whole: the number of rows, single attributes, offsets in cells, the choice of pairs, pairs."""
_CLEAR: Final = 2
"""Rows to a cell of an ordered attribute on average, in standard deviations of its noise."""
_NOISE: Final = 0.3
"""What part of all rows the noise of a pair may add up to."""
_ROWS: Final = 350
"""There may be more pairs than a tree has as long as the noise of each is less than one in so many rows."""
_SAMPLE: Final = 1 << 16
"""Rows of the forest that are weighted until they follow the other pairs as well."""
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
    """What was asked, checked."""

    lines: tuple[Line, ...]
    weights: Mapping[Pair, int]
    purse: Purse


@dataclass(frozen=True, slots=True)
class Single:
    """An attribute as it was released.

    Attributes:
        counts: of each cell of ``grid``; ``variances`` of their noise.
        bins: the bin of each cell; pairs are measured in bins.
    """

    grid: Grid
    counts: Floats
    variances: Floats
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
    """Marginals of single attributes and of pairs."""

    name: ClassVar[str] = "dp_marginals"
    private: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {
        "epsilon": price.EPSILON_HELP,
        "delta": "0 (Laplace noise, the default), or that of Gaussian noise, which is used if it is less",
        "workload": "columns, or statements, whose pairs of columns matter more than others",
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


def weights(request: Request) -> dict[Pair, int]:
    """How much each pair of columns matters, by the option ``workload``: from 1 to 4. Errors: InvalidOption.

    A column that is named doubles the weight of its pairs; those of columns that are named together have the most.
    """
    places = {attribute.name: place for place, attribute in enumerate(request.attributes)}
    given = request.options.get("workload", ())
    entries = (given,) if isinstance(given, str) else given
    named, together = set[int](), set[Pair]()
    for entry in map(str, entries if isinstance(entries, tuple) else (entries,)):
        names = (entry,) if entry in places else tuple(map(str.strip, entry.split(",")))
        if not all(name in places for name in names):
            hint = f"Columns ({', '.join(sorted(places))}), or statements about them: ('SELECT ...')."
            raise InvalidOption("workload", "workload names what is no column of the view", hint)
        group = sorted({places[name] for name in names})
        named.update(group if len(group) == 1 else ())
        together.update(combinations(group, 2))
    return {
        (a, b): 4 if (a, b) in together else 2 ** len({a, b} & named)
        for a, b in combinations(range(len(places)), 2)
    }


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
    pairs = _chosen(plan, singles, binned, total, words)
    progress(0.5)
    law = _pairs(plan, len(pairs))
    noisy = {pair: _counted(singles, binned, pair, law, words) for pair in pairs}
    variance = _variance(law)
    margins = [_margin(singles, place, noisy, variance, total) for place in range(len(singles))]
    joint = {
        (a, b): forest.agreeing(found, margins[a], margins[b], variance) for (a, b), found in noisy.items()
    }
    progress(0.7)
    made = _rows(singles, tilts, margins, joint, total, words)
    progress(1.0)
    return Anonymized(made)


def _rows(
    singles: list[Single],
    tilts: list[Floats],
    margins: list[Floats],
    joint: Mapping[Pair, Floats],
    total: int,
    words: Words,
) -> Table:
    """Rows that follow the model: bins, then cells in bins, then values in cells."""
    made = np.empty((total, len(singles)), dtype=np.int64)
    bins = _bins(margins, joint, total, words)
    for place, one in enumerate(singles):
        cells = forest.drawn(bins[place], one.inside(), words)
        even = forest.shares(cells, one.grid.cells, words)
        made[:, place] = one.grid.values(cells, forest.tilted(even, tilts[place][cells]))
    return made


def _bins(
    margins: list[Floats], joint: Mapping[Pair, Floats], total: int, words: Words
) -> dict[int, Integers]:
    """The bins of each attribute, shape (total,): drawn along a forest, and weighted if there are more pairs."""
    tree = forest.spanning(joint)
    size = total if len(tree) == len(joint) else _SAMPLE
    bins: dict[int, Integers] = {}
    for parent, place in forest.walk(len(margins), tree):
        if parent is None:
            groups, table = np.zeros(size, dtype=np.int64), margins[place][None]
        else:
            groups = bins[parent]
            table = joint[parent, place] if (parent, place) in joint else joint[place, parent].T
        bins[place] = forest.drawn(groups, table, words)
    if len(tree) == len(joint):
        return bins
    order = np.lexsort([bins[place] for place in reversed(bins)])
    weights = forest.weighted(bins, joint, size)
    rows = order[forest.drawn(np.zeros(total, dtype=np.int64), weights[order][None], words)]
    return {place: found[rows] for place, found in bins.items()}


def _single(plan: Plan, line: Line, positions: Integers, total: int, words: Words) -> Single:
    law = plan.purse.noise(1, SINGLE / len(plan.lines))
    grid = Grid.of(line, int(np.clip(total / (_CLEAR * law.noise_sd()[0]), 4, grids.MOST_CELLS)))
    noisy = grid.counts(positions) + law.draw(grid.cells, words)[:, 0]
    number = _most_bins(plan, total)
    every = np.arange(grid.cells)
    pieces = forest.pieces(noisy, _variance(law), total / number) if grid.ordered else every
    merged = grid.merged(pieces)
    counts = forest.settled(np.bincount(pieces, noisy), float(total))
    variances = np.bincount(pieces).astype(np.float64) * _variance(law)
    bins = grids.bins(counts, number, ordered=grid.ordered)
    return Single(merged, counts, variances, bins)


def _variance(law: Laplace | Gaussian) -> float:
    return max(float(law.noise_sd()[0]) ** 2, 1e-9)


def _pairs(plan: Plan, number: int) -> Laplace | Gaussian:
    return plan.purse.noise(1, PAIRS / max(number, 1))


def _most_bins(plan: Plan, total: int) -> int:
    noise = max(_pairs(plan, _rounds(plan, total)).noise_sd()[0], 1e-3)
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


def _rounds(plan: Plan, total: int) -> int:
    """The most pairs: a tree, or as many as there are rows for; but all, or as many as epsilon allows to choose."""
    columns = len(plan.lines)
    clear = total / (_ROWS * max(_pairs(plan, 1).noise_sd()[0], 1e-3))
    many = clear**2 if plan.purse.concentrated else clear
    return min(max(columns - 1, int(many)), columns * (columns - 1) // 2, plan.purse.most(CHOOSING))


def _chosen(
    plan: Plan, singles: list[Single], binned: list[Integers], total: int, words: Words
) -> list[Pair]:
    """Choose pairs until there are enough, or the choice is to stop."""
    rounds = _rounds(plan, total)
    if rounds < 1:
        return []
    distances = _distances(singles, binned, total)
    law = plan.purse.choice(2 * max(plan.weights.values()), CHOOSING / rounds)
    chosen: list[Pair] = []
    for _ in range(rounds):
        price = _PAYS * _pairs(plan, len(chosen) + 1).noise_sd()[0]
        left = [pair for pair in distances if pair not in chosen]
        found = law.choose(
            [*(_score(plan, singles, pair, distances[pair], price) for pair in left), 0], words
        )
        if found == len(left):
            break
        chosen.append(left[found])
    return chosen


def _score(plan: Plan, singles: list[Single], pair: Pair, distance: int, price: float) -> int:
    """What the pair tells, in rows, less what is public: the price of its noise."""
    a, b = pair
    costs = int(price * singles[a].number * singles[b].number)
    return plan.weights[pair] * (distance - costs)


def _distances(singles: list[Single], binned: list[Integers], total: int) -> dict[Pair, int]:
    """How far each pair is from independence, in rows; exact."""
    found = {}
    for a, b in combinations(range(len(singles)), 2):
        shape = (singles[a].number, singles[b].number)
        expected = np.outer(singles[a].binned(), singles[b].binned()) / max(total, 1)
        apart = np.abs(grids.pair(binned[a], binned[b], shape) - np.rint(expected).astype(np.int64))
        found[a, b] = int(apart.sum())
    return found


def _counted(
    singles: list[Single], binned: list[Integers], pair: Pair, law: Laplace | Gaussian, words: Words
) -> Integers:
    a, b = pair
    exact = grids.pair(binned[a], binned[b], (singles[a].number, singles[b].number))
    return exact + law.draw(exact.size, words)[:, 0].reshape(exact.shape)


def _margin(
    singles: list[Single], place: int, noisy: Mapping[Pair, Integers], variance: float, total: int
) -> Floats:
    """The count of each bin of an attribute, by its own cells and by its pairs, each as far as it is exact."""
    one = singles[place]
    found = [(one.binned(), np.bincount(one.bins, one.variances).astype(np.float64))]
    for pair, counts in noisy.items():
        if place in pair:
            axis = 1 - pair.index(place)
            sums = counts.sum(axis=axis).astype(np.float64)
            found.append((sums, np.full(one.number, variance * counts.shape[axis])))
    return forest.settled(forest.combined(found), float(total))
