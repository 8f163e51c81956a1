"""A model of the marginals: noisy counts of each attribute and of chosen pairs, and rows that follow them.

Pairs that are farthest from independence are chosen one by one, by the exponential mechanism: at least as many as make
a tree, and as many more as there are rows for. Noise grows with the number of attributes and pairs, and not with the
number of their combinations, which is what wide tables need. After McKenna, Miklau and Sheldon, "Winning the NIST
contest", 2021. Proof: ``dp_marginals.md``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import isqrt
from typing import ClassVar, Final, TypeVar

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize import boxes, forest, grids, options, price
from dpproxy.anonymize.boxes import Line
from dpproxy.anonymize.forest import Pair
from dpproxy.anonymize.grids import Grid
from dpproxy.anonymize.model import (
    Anonymized,
    Attribute,
    InvalidOption,
    LatticeDomain,
    Progress,
    Table,
    ViewBuild,
    ViewRequest,
)
from dpproxy.anonymize.together import Merge
from udfs.conversion import within
from udfs.mechanisms import Exponential, Gaussian, Laplace
from udfs.privacy import LEAST_NANO, NANO, Loss
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)
Choice = tuple[Pair, bool]
"""A pair, and whether it is counted in wider bins."""

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
_MOST_DECLARED: Final = 4096
"""The most bins of a declared width."""
_LEAST_BINS: Final = 2
_MOST_BINS: Final = 32
_SURE: Final = 3
"""Standard deviations of noise above which there are taken to be rows with NULL."""
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
class MarginalsPlan:
    """What was asked, checked."""

    lines: tuple[Line, ...]
    nulls: tuple[int | None, ...]
    """Of each attribute the number that stands for NULL, if it has one."""
    widths: tuple[int | None, ...]
    """Of each attribute the width of its bins, if it is declared."""
    weights: Mapping[Pair, int]
    purse: Purse
    merge: Merge


@dataclass(frozen=True, slots=True)
class Single:
    """An attribute as it was released.

    Attributes:
        counts: of each cell of ``grid``; ``variances`` of their noise.
        bins: the bin of each cell; pairs are measured in bins.
        wider: of each bin, that in which pairs are measured for which bins are too many.
    """

    grid: Grid
    counts: Floats
    variances: Floats
    bins: Integers
    wider: Integers
    empty: bool
    """Whether NULL is left out, which is not told apart from noise."""

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

    def level(self, *, wide: bool) -> Integers:
        """For each bin the one that it is counted in."""
        return self.wider if wide else np.arange(self.number)


@dataclass(frozen=True, slots=True)
class DpMarginals:
    """Marginals of single attributes and of pairs."""

    name: ClassVar[str] = "dp_marginals"
    private: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {
        "epsilon": price.EPSILON_HELP,
        "delta": "0 (Laplace noise, the default), or that of Gaussian noise, which is used if it is less",
        "bins": "widths of bins of numbers, as in ('age 10', 'cost 500'); others follow from the rows that are counted",
        "workload": "columns, or statements, whose pairs of columns matter more than others",
    }

    def check(self, request: ViewRequest) -> ViewBuild:
        """Validate and price. Errors: InvalidOption."""
        options.only(request, self.options)
        total, delta = price.epsilon(request), price.delta(request)
        merge = Merge.of(request.together, price.attributes(request))
        named, number = merge.weights(weights(request)), len(merge.parts)
        purse = _purse(total, delta, number)
        attributes = merge.attributes(request.attributes)
        lines, nulls = boxes.lines(attributes, scaled=True), tuple(map(_null, attributes))
        paid = delta if purse.concentrated else Fraction(0)
        also = f", delta {price.shown(paid)}" if paid else ""
        return ViewBuild(
            guarantee=f"differential privacy, epsilon {price.shown(total)}{also}",
            loss=total,
            delta=paid,
            make=partial(
                _make, MarginalsPlan(lines, nulls, widths(request, attributes), named, purse, merge)
            ),
            nulls=True,
            columns=tuple(a.name for a in request.attributes),
        )


def weights(request: ViewRequest) -> dict[Pair, int]:
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


def widths(request: ViewRequest, attributes: Sequence[Attribute]) -> tuple[int | None, ...]:
    """The option ``bins``: of each attribute the width of its bins in steps of its domain. Errors: InvalidOption."""
    given = request.options.get("bins", ())
    found: dict[str, int] = {}
    for entry in (given,) if isinstance(given, str) else given if isinstance(given, tuple) else ("",):
        name, _, width = str(entry).rpartition(" ")
        domain = next((a.domain for a in request.attributes if a.name == name), None)
        if not isinstance(domain, LatticeDomain) or not width.isdecimal() or int(width) < 1:
            hint = "Each is a column of numbers or dates and a width above 0: bins = ('age 10', 'cost 500')."
            raise InvalidOption("bins", "bins are the widths of columns", hint)
        if domain.width // int(width) >= _MOST_DECLARED:
            raise InvalidOption("bins", f"{name} has more than {_MOST_DECLARED} bins of this width")
        found[name] = int(width)
    return tuple(found.get(a.name) for a in attributes)


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


def _make(plan: MarginalsPlan, given: Table, words: Words, progress: Progress) -> Anonymized:
    rows = plan.merge.merged(given)
    total = max(len(rows) + int(plan.purse.noise(1, COUNTING).draw(1, words)[0, 0]), 0)
    positions = [
        line.positions(rows[:, place])
        if null is None
        else np.where(rows[:, place] >= null, line.last + 1, line.positions(rows[:, place]))
        for place, (line, null) in enumerate(zip(plan.lines, plan.nulls, strict=True))
    ]
    singles = [_single(plan, place, found, total, words) for place, found in enumerate(positions)]
    progress(0.2)
    tilts = _tilts(plan, singles, positions, words)
    binned = [one.bins[one.grid.places(found)] for one, found in zip(singles, positions, strict=True)]
    chosen = _chosen(plan, singles, binned, total, words)
    progress(0.5)
    law = _pairs(plan, len(chosen))
    noisy = {
        (pair, wide): table + law.draw(table.size, words)[:, 0].reshape(table.shape)
        for pair, wide in chosen
        for table in [_folded(singles, (pair, wide), _exact(singles, binned, pair))]
    }
    variance = _variance(law)
    margins = [_margin(singles, place, noisy, variance, total) for place in range(len(singles))]
    joint = {
        (a, b): forest.spread(
            found,
            margins[a],
            margins[b],
            (singles[a].level(wide=wide), singles[b].level(wide=wide)),
            variance,
        )
        for ((a, b), wide), found in noisy.items()
    }
    progress(0.7)
    made = _rows(plan, singles, tilts, _bins(margins, joint, total, words), words)
    progress(1.0)
    return Anonymized(plan.merge.apart(made))


def _rows(
    plan: MarginalsPlan,
    singles: list[Single],
    tilts: list[Floats],
    bins: Mapping[int, Integers],
    words: Words,
) -> Table:
    """Rows that have these bins: cells in bins, then values in cells."""
    made = np.empty((bins[0].size, len(singles)), dtype=np.int64)
    for place, one in enumerate(singles):
        cells = forest.drawn(bins[place], one.inside(), words)
        even = forest.shares(cells, one.grid.cells, words)
        values, null = one.grid.values(cells, forest.tilted(even, tilts[place][cells])), plan.nulls[place]
        made[:, place] = values if null is None else np.where(cells == one.grid.cells - 1, null, values)
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


def _null(attribute: Attribute) -> int | None:
    domain = attribute.domain
    return domain.high + 1 if attribute.null and isinstance(domain, LatticeDomain) else None


def _single(plan: MarginalsPlan, place: int, positions: Integers, total: int, words: Words) -> Single:
    law, null = plan.purse.noise(1, SINGLE / len(plan.lines)), plan.nulls[place] is not None
    deviation, width = law.noise_sd()[0], plan.widths[place]
    most = int(np.clip(total / (_CLEAR * deviation), 4, grids.MOST_CELLS))
    grid = Grid.of(plan.lines[place], most, null=null, width=width)
    noisy = grid.counts(positions) + law.draw(grid.cells, words)[:, 0]
    number = _most_bins(plan, total)
    alike: Callable[..., Integers] = partial(forest.pieces, variance=_variance(law), most=total / number)
    follow = grid.ordered and width is None
    pieces = (
        grids.beside_null(alike, noisy.astype(np.float64), null=null) if follow else np.arange(grid.cells)
    )
    merged = grid.merged(pieces)
    empty = bool(null and noisy[-1] < _SURE * deviation)
    counts = forest.settled(np.bincount(pieces, noisy), float(total), empty=empty)
    variances = np.bincount(pieces).astype(np.float64) * _variance(law)
    binned = partial(grids.bins, most=max(number - null, 2), ordered=grid.ordered, depths=grid.depths)
    bins = grids.beside_null(binned, counts, null=null)
    wider = grids.wider(np.bincount(bins, counts).astype(np.float64), grid)
    return Single(merged, counts, variances, bins, wider, empty)


def _variance(law: Laplace | Gaussian) -> float:
    return max(float(law.noise_sd()[0]) ** 2, 1e-9)


def _pairs(plan: MarginalsPlan, number: int) -> Laplace | Gaussian:
    return plan.purse.noise(1, PAIRS / max(number, 1))


def _most_bins(plan: MarginalsPlan, total: int) -> int:
    noise = max(_pairs(plan, _rounds(plan, total)).noise_sd()[0], 1e-3)
    return int(np.clip(isqrt(int(_NOISE * total / noise)), _LEAST_BINS, _MOST_BINS))


def _tilts(
    plan: MarginalsPlan, singles: list[Single], positions: list[Integers], words: Words
) -> list[Floats]:
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


def _rounds(plan: MarginalsPlan, total: int) -> int:
    """The most pairs: a tree, or as many as there are rows for; but all, or as many as epsilon allows to choose."""
    columns = len(plan.lines)
    clear = total / (_ROWS * max(_pairs(plan, 1).noise_sd()[0], 1e-3))
    many = clear**2 if plan.purse.concentrated else clear
    return min(max(columns - 1, int(many)), columns * (columns - 1) // 2, plan.purse.most(CHOOSING))


def _chosen(
    plan: MarginalsPlan, singles: list[Single], binned: list[Integers], total: int, words: Words
) -> list[Choice]:
    """Choose pairs until there are enough, or the choice is to stop."""
    rounds = _rounds(plan, total)
    if rounds < 1:
        return []
    distances = _distances(singles, binned, total)
    law = plan.purse.choice(2 * max(plan.weights.values()), CHOOSING / rounds)
    chosen: list[Choice] = []
    for _ in range(rounds):
        price = _PAYS * _pairs(plan, len(chosen) + 1).noise_sd()[0]
        taken = {pair for pair, _ in chosen}
        left = [choice for choice in distances if choice[0] not in taken]
        scores = (_score(plan, singles, choice, distances[choice], price) for choice in left)
        found = law.choose([*scores, 0], words)
        if found == len(left):
            break
        chosen.append(left[found])
    return chosen


def _score(plan: MarginalsPlan, singles: list[Single], choice: Choice, distance: int, price: float) -> int:
    """What the pair tells, in rows, less what is public: the price of its noise.

    In wider bins no more than this price counts, so that bins are taken wherever they pay more.
    """
    pair, wide = choice
    rows, columns = (int(singles[place].level(wide=wide).max()) + 1 for place in pair)
    costs = int(price * rows * columns)
    return plan.weights[pair] * (min(distance - costs, costs) if wide else distance - costs)


def _distances(singles: list[Single], binned: list[Integers], total: int) -> dict[Choice, int]:
    """How far each pair is from independence, in rows; exact. In bins, and in wider ones where there are less."""
    found = {}
    for pair in combinations(range(len(singles)), 2):
        exact = _exact(singles, binned, pair)
        expected = np.outer(*(singles[place].binned() for place in pair)) / max(total, 1)
        for wide in (False, True):
            apart = [_folded(singles, (pair, wide), table) for table in (exact, expected)]
            if not wide or apart[0].size < exact.size:
                found[pair, wide] = int(np.abs(apart[0] - np.rint(apart[1]).astype(np.int64)).sum())
    return found


def _exact(singles: list[Single], binned: list[Integers], pair: Pair) -> Integers:
    a, b = pair
    return grids.pair(binned[a], binned[b], (singles[a].number, singles[b].number))


def _folded(singles: list[Single], choice: Choice, table: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """A table of a pair's bins, in the bins of the choice."""
    (a, b), wide = choice
    return grids.folded(table, singles[a].level(wide=wide), singles[b].level(wide=wide))


def _margin(
    singles: list[Single], place: int, noisy: Mapping[Choice, Integers], variance: float, total: int
) -> Floats:
    """The count of each bin of an attribute, by its own cells and by its pairs, each as far as it is exact."""
    one = singles[place]
    found = [(one.binned(), np.bincount(one.bins, one.variances).astype(np.float64))]
    for (pair, wide), counts in noisy.items():
        if place in pair and not wide:
            axis = 1 - pair.index(place)
            sums = counts.sum(axis=axis).astype(np.float64)
            found.append((sums, np.full(one.number, variance * counts.shape[axis])))
    return forest.settled(forest.combined(found), float(total), empty=one.empty)
