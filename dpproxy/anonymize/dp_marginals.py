"""A model of the marginals: noisy counts of each attribute and of chosen cliques, and rows that follow them.

Where all attributes together have few cells for the rows there are, these are counted. Otherwise the pairs that are
farthest from independence are chosen one by one, by the exponential mechanism, up to a tree; then, in batches, pairs
and triples that the model made from all before does not explain, as many as there are rows for. Noise grows with the
number of attributes and cliques, and not with the number of their combinations, which is what wide tables need. After
McKenna, Miklau and Sheldon, "Winning the NIST contest", 2021, and McKenna, Mullins, Sheldon and Miklau, "AIM", 2022.
Proof: ``dp_marginals.md``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import prod
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from dpproxy.anonymize import boxes, forest, grids, options, price
from dpproxy.anonymize.boxes import Line
from dpproxy.anonymize.forest import Pair
from dpproxy.anonymize.grids import Grid
from dpproxy.anonymize.model import (
    Anonymized,
    Attribute,
    LatticeDomain,
    Progress,
    Table,
    ViewBuild,
    ViewRequest,
)
from dpproxy.anonymize.price import Purse
from dpproxy.anonymize.together import Merge
from udfs.conversion import within
from udfs.mechanisms import Exponential, Gaussian, Laplace
from udfs.privacy import LEAST_NANO, Loss
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)
Clique = tuple[int, ...]
"""Two or three attributes, or all of them, ascending."""
Choice = tuple[Clique, int]
"""A clique, and how often the bins are merged in which it is counted."""
Tables = Mapping[Choice, npt.NDArray[Number]]
Measured = dict[Choice, tuple[Floats, float]]
"""The noisy counts of cliques, and the variance of their noise."""

COUNTING: Final = Fraction(1, 20)
SINGLE: Final = Fraction(1, 4)
OFFSETS: Final = Fraction(1, 10)
CHOOSING: Final = Fraction(1, 10)
PAIRS: Final = Fraction(19, 40)
TRIPLES: Final = Fraction(1, 40)
"""The parts of the whole: the number of rows, single attributes, offsets in cells, the choice, pairs, triples."""
TOGETHER: Final = CHOOSING + PAIRS + TRIPLES
"""What all attributes together have where they are counted instead of pairs and triples."""
_CLEAR: Final = 2
"""Rows to a cell of an ordered attribute on average, in standard deviations of its noise."""
_NOISE: Final = 0.3
"""What part of all rows the noise of a clique may add up to."""
_TREE: Final = 80
"""There may be as many pairs, up to a tree, as leave the noise of each less than one in so many rows."""
_ROWS: Final = 300
"""There may be more pairs than a tree has as long as the noise of each is less than one in so many rows."""
_PAIR: Final = 2
_FURTHER: Final = 8
"""For so many pairs there may be one triple."""
_LEAST_SAMPLE: Final = 1 << 14
_MOST_SAMPLE: Final = 1 << 16
"""Rows of the forest that are weighted until they follow the other cliques as well: for each row, up to eight."""
_MOST_CELLS: Final = 1 << 11
"""The most cells of a pair or triple."""
_MOST_WHOLE: Final = 1 << 18
"""The most cells of all attributes together."""
_MOST_AXES: Final = 32
"""The most attributes that are counted together, however few values each has."""
_MOST_TRIPLES: Final = 1 << 9
"""The most triples that are candidates."""
_MERGED: Final = 2
"""How often bins are merged."""
_LEAST_BINS: Final = 2
_MOST_BINS: Final = 32
_SURE: Final = 3
"""Standard deviations of noise above which there are taken to be rows with NULL."""
_CHANCE: Final = (2 / np.pi) ** 0.5
"""How far a normal number of variance 1 is from its mean, on average."""
_SURELY: Final = Fraction(19, 20)
"""How sure it is that no triple is chosen where none has anything to tell."""
_TO_PAIRS: Final = CHOOSING * 9 / 10
"""What pairs have from the choice where all are measured."""
_PAYS: Final = 0.5
"""A clique is worth measuring if it is farther from the model than this part of its noise."""


class MarginalsPlan(Struct, frozen=True):
    """What was asked, checked."""

    lines: tuple[Line, ...]
    nulls: tuple[int | None, ...]
    """Of each attribute the number that stands for NULL, if it has one."""
    widths: tuple[int | None, ...]
    """Of each attribute the width of its bins, if it is declared."""
    weights: Mapping[Pair, int]
    purse: Purse
    merge: Merge


class Single(Struct, frozen=True):
    """An attribute as it was released.

    Attributes:
        counts: of each cell of ``grid``; ``variances`` of their noise.
        bins: the bin of each cell; cliques are measured in bins.
        wider: of each bin the wider one, and of each of these the next wider.
    """

    grid: Grid
    counts: Floats
    variances: Floats
    bins: Integers
    wider: tuple[Integers, ...]
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

    def level(self, merged: int) -> Integers:
        """For each bin the one that it is in after so many steps."""
        result = np.arange(self.number)
        for step in self.wider[:merged]:
            result = step[result]
        return result


class DpMarginals(Struct, frozen=True):
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
        named, number = merge.weights(options.pair_weights(request)), len(merge.parts)
        purse = _purse(total, delta, number)
        attributes = merge.attributes(request.attributes)
        lines, nulls = boxes.lines(attributes, scaled=True), tuple(map(_null, attributes))
        widths = options.bin_widths(request, attributes)
        make = partial(_make, MarginalsPlan(lines, nulls, widths, named, purse, merge))
        paid = delta if purse.concentrated else Fraction(0)
        return replace(price.guaranteed(make, total, paid), nulls=True)


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
    binned = {n: one.bins[one.grid.places(positions[n])] for n, one in enumerate(singles)}
    progress(0.3)
    measured = _measured(plan, singles, binned, total, words)
    progress(0.7)
    made = _rows(plan, singles, tilts, _bins(singles, measured, total, words), words)
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


def _bins(singles: list[Single], measured: Measured, total: int, words: Words) -> dict[int, Integers]:
    """The bins of each attribute, shape (total,): drawn along a forest, or from the model if there is more."""
    together = measured.get((tuple(range(len(singles))), 0))
    if together and len(measured) == 1:
        return _together(singles, *together, total, words)
    margins, joint = _fitted(singles, measured, total)
    tree = forest.spanning(joint)
    if len(tree) == len(measured):
        return forest.along(tree, margins, joint, total, words)
    bins, weights = _model(singles, measured, total, words)
    order = np.lexsort([bins[place] for place in reversed(bins)])
    rows = order[forest.drawn(np.zeros(total, dtype=np.int64), weights[order][None], words)]
    return {place: found[rows] for place, found in bins.items()}


def _together(
    singles: list[Single], noisy: Floats, variance: float, total: int, words: Words
) -> dict[int, Integers]:
    """The bins of each attribute, from counts of all together drawn towards what a tree of their pairs expects."""
    pairs, places = Measured(), range(noisy.ndim)
    for pair in combinations(places, _PAIR):
        table = noisy.sum(axis=tuple(place for place in places if place not in pair))
        pairs[pair, 0] = table, variance * noisy.size / table.size
    _, joint = _fitted(singles, pairs, total)
    bins = dict(enumerate(np.unravel_index(np.arange(noisy.size), noisy.shape)))
    aims = [(_cells(singles, bins, (pair, 0)), joint[pair].ravel()) for pair in forest.spanning(joint)]
    expected = forest.weighted(aims, np.full(noisy.size, total / noisy.size))
    counts = forest.settled(forest.shrunk(noisy.ravel(), expected, variance), float(total))
    cells = forest.drawn(np.zeros(total, dtype=np.int64), counts[None], words)
    return {place: found[cells] for place, found in bins.items()}


def _model(
    singles: list[Single], measured: Measured, total: int, words: Words
) -> tuple[dict[int, Integers], Floats]:
    """Rows of a forest as bins of each attribute, and weights by which they come near to all that was measured."""
    margins, joint = _fitted(singles, measured, total)
    size = min(max(8 * total, _LEAST_SAMPLE), _MOST_SAMPLE)
    bins = forest.along(forest.spanning(joint), margins, joint, size, words)
    aims = [(_cells(singles, bins, (pair, 0)), table.ravel()) for pair, table in joint.items()]
    weights = forest.weighted(aims, np.full(size, total / size))
    larger = [(choice, found) for choice, found in measured.items() if len(choice[0]) > _PAIR]
    for choice, (noisy, variance) in larger:
        cells = _cells(singles, bins, choice)
        expected = np.bincount(cells, weights, minlength=noisy.size).astype(np.float64)
        aims.append((cells, forest.shrunk(noisy.ravel(), expected, variance)))
    return bins, forest.weighted(aims, weights) if larger else weights


def _fitted(singles: list[Single], measured: Measured, total: int) -> tuple[list[Floats], dict[Pair, Floats]]:
    """The counts of each attribute's bins, and those of pairs, which agree with them."""
    margins = [_margin(one, place, measured, total) for place, one in enumerate(singles)]
    return margins, {
        (a, b): forest.spread(
            noisy, margins[a], margins[b], (singles[a].level(merged), singles[b].level(merged)), variance
        )
        for ((a, b, *more), merged), (noisy, variance) in measured.items()
        if not more
    }


def _null(attribute: Attribute) -> int | None:
    domain = attribute.domain
    return domain.high + 1 if attribute.null and isinstance(domain, LatticeDomain) else None


def _single(plan: MarginalsPlan, place: int, positions: Integers, total: int, words: Words) -> Single:
    law, null = plan.purse.noise(1, alone(plan, total) / len(plan.lines)), plan.nulls[place] is not None
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
    wider, found = list[Integers](), np.bincount(bins, counts)
    for _ in range(_MERGED):
        wider.append(grids.wider(found.astype(np.float64), grid))
        found = np.bincount(wider[-1], found)
    return Single(merged, counts, variances, bins, tuple(wider), empty)


def _variance(law: Laplace | Gaussian) -> float:
    return max(float(law.noise_sd()[0]) ** 2, 1e-9)


def _most_bins(plan: MarginalsPlan, total: int) -> int:
    return max(whole(plan, total), _bins_of_pairs(plan, total))


def _bins_of_pairs(plan: MarginalsPlan, total: int) -> int:
    noise = plan.purse.deviation(PAIRS / max(rounds(plan, total)[0], 1))
    return int(np.clip(round((_NOISE * total / noise) ** 0.5), _LEAST_BINS, _MOST_BINS))


def whole(plan: MarginalsPlan, total: int) -> int:
    """How many bins each attribute may have if all are counted together; 0 if pairs may have more, or there are none.

    Where noise is rare, its variance is about how much it adds to a cell.
    """
    if not 1 < len(plan.lines) <= _MOST_AXES:
        return 0
    noise = plan.purse.deviation(TOGETHER)
    most = min(_NOISE * total / min(noise, noise**2), _MOST_WHOLE)
    nulls = [null is not None for null in plan.nulls]
    sizes = [line.last + 1 + null for line, null in zip(plan.lines, nulls, strict=True)]
    for number in range(_MOST_BINS, _bins_of_pairs(plan, total) - 1, -1):
        found = (min(size, max(number, _LEAST_BINS + null)) for size, null in zip(sizes, nulls, strict=True))
        if prod(found) <= most:
            return number
    return 0


def alone(plan: MarginalsPlan, total: int) -> Fraction:
    """The part of single attributes, which have that of cliques as well where there are too few rows for any."""
    return SINGLE if rounds(plan, total)[0] or whole(plan, total) else SINGLE + TOGETHER


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


def rounds(plan: MarginalsPlan, total: int) -> tuple[int, int, bool]:
    """The most pairs, the most triples, and whether all pairs are measured without a choice.

    As many pairs as there are rows for, up to a tree and beyond; but no more than epsilon allows to choose.
    """
    columns, most = len(plan.lines), plan.purse.most
    clear, pairs = total / plan.purse.deviation(PAIRS), columns * (columns - 1) // 2
    few, many = (int((clear / rows) ** (2 if plan.purse.concentrated else 1)) for rows in (_TREE, _ROWS))
    number = min(max(min(columns - 1, few), many), pairs, most(CHOOSING))
    triples = min(max(number // _FURTHER, 1), most(CHOOSING) - number, most(TRIPLES))
    triples = triples if columns > _PAIR and number >= columns - 1 else 0
    if pairs <= min(many, most(PAIRS + _TO_PAIRS)) and max(triples, 1) <= most(CHOOSING - _TO_PAIRS):
        return pairs, triples, True
    return number, triples, False


def _measured(
    plan: MarginalsPlan, singles: list[Single], binned: Mapping[int, Integers], total: int, words: Words
) -> Measured:
    """Choose and measure pairs as for a tree, then batches of those that the model does not explain yet, then triples.

    What is left where the choice is to stop is spent on the last batch of pairs, or on triples.
    """
    waiting, triples, every = rounds(plan, total)
    result = Measured()
    if whole(plan, total):
        clique = tuple(range(len(singles)))
        return _counted(
            plan, tables(singles, binned, [clique], most=_MOST_WHOLE), [(clique, 0)], TOGETHER, words
        )
    if not waiting:
        return result
    moved, number = (_TO_PAIRS, waiting) if every else (Fraction(0), min(len(singles) - 1, waiting))
    choices = max(triples, 1) if every else waiting + triples
    law = plan.purse.choice(2 * max(plan.weights.values()), (CHOOSING - moved) / choices)
    exact = tables(singles, binned, _cliques(plan, singles))
    left = PAIRS + moved + (0 if triples else TRIPLES)
    expected = {one: _independent(singles, one, total) for one in exact if len(one[0]) == _PAIR}
    while waiting:
        part = left * number / waiting
        scores = partial(_scores, plan, distances(exact, expected), part)
        chosen = [one for one in expected if not one[1]] if every else _chosen(law, scores, number, 0, words)
        waiting = waiting - number if len(chosen) == number else 0
        spent = part if waiting else left * bool(chosen)
        result |= _counted(plan, exact, chosen, spent, words)
        left, number = left - spent, min(len(result), waiting)
        bins, weights = _model(singles, result, total, words)
        taken = {clique for clique, _ in result}
        candidates = {clique for clique, _ in exact if (len(clique) == _PAIR) == (waiting > 0)}
        expected = tables(singles, bins, candidates - taken, weights)
    if not triples:
        return result
    scores = partial(_scores, plan, distances(exact, expected), left + TRIPLES)
    stop = law.shortfall(len(expected) + 1, _SURELY)
    chosen = _chosen(law, scores, triples, stop, words)
    return result | _counted(plan, exact, chosen, left + TRIPLES, words)


def _counted(
    plan: MarginalsPlan, exact: Tables[np.int64], chosen: Sequence[Choice], part: Fraction, words: Words
) -> Measured:
    """The noisy counts of cliques, at a part of the whole for all together."""
    result = Measured()
    for one in chosen:
        law = plan.purse.noise(1, part / len(chosen))
        noise = law.draw(exact[one].size, words)[:, 0].reshape(exact[one].shape)
        result[one] = (exact[one] + noise).astype(np.float64), _variance(law)
    return result


def distances(exact: Tables[np.int64], expected: Tables[np.float64]) -> dict[Choice, tuple[int, int]]:
    """How far each clique is from what is expected, in rows, and in how many cells it is counted.

    From what a triple tells goes what it would differ by if each of its cells were a matter of chance.
    """
    found = {}
    for one, table in expected.items():
        chance = int(_CHANCE * np.sqrt(table).sum()) if len(one[0]) > _PAIR else 0
        found[one] = int(np.abs(exact[one] - np.rint(table).astype(np.int64)).sum()) - chance, table.size
    return found


def _scores(
    plan: MarginalsPlan, distances: Mapping[Choice, tuple[int, int]], part: Fraction, number: int
) -> dict[Choice, int]:
    """What each clique tells, in rows, less what is public: the price of its noise if ``number`` share this part.

    In wider bins a pair counts no more than this price, so that bins are taken wherever they pay more.
    """
    price, found = _PAYS * plan.purse.deviation(part / number), {}
    for (clique, merged), (distance, cells) in distances.items():
        costs = int(price * cells)
        gain = distance - costs
        best = min(gain, costs) if merged and len(clique) == _PAIR else gain
        found[clique, merged] = _weight(plan, clique) * best
    return found


def _chosen(
    law: Exponential, scores: Callable[[int], dict[Choice, int]], number: int, stop: int, words: Words
) -> list[Choice]:
    """Choose cliques until there are enough, or the choice is to stop, which has a score of its own.

    ``scores`` are those for a number of cliques that are measured together.
    """
    chosen = list[Choice]()
    while len(chosen) < number:
        taken = {clique for clique, _ in chosen}
        left = {one: score for one, score in scores(len(chosen) + 1).items() if one[0] not in taken}
        found = law.choose([*left.values(), stop], words)
        if found == len(left):
            break
        chosen.append(list(left)[found])
    return chosen


def _weight(plan: MarginalsPlan, clique: Clique) -> int:
    return min(plan.weights[a, b] for a, b in combinations(clique, _PAIR))


def _cliques(plan: MarginalsPlan, singles: list[Single]) -> list[Clique]:
    """The candidates: all pairs, and of triples those that matter most, then those of the fewest bins."""
    places = range(len(singles))
    triples = sorted(
        combinations(places, _PAIR + 1),
        key=lambda clique: (-_weight(plan, clique), prod(singles[place].number for place in clique)),
    )
    return [*combinations(places, _PAIR), *triples[:_MOST_TRIPLES]]


def tables(
    singles: list[Single],
    columns: Mapping[int, Integers],
    cliques: Iterable[Clique],
    weights: Floats | None = None,
    most: int = _MOST_CELLS,
) -> dict[Choice, npt.NDArray[Any]]:
    """The counts of cliques, exact unless rows are weighted: in bins, unless these are too many, and in wider ones."""
    result = {}
    for clique in cliques:
        shapes = [_shape(singles, (clique, merged)) for merged in range(_MERGED + 1)]
        first = next((n for n, shape in enumerate(shapes) if prod(shape) <= most), _MERGED)
        cells = _cells(singles, columns, (clique, first))
        table = np.bincount(cells, weights, minlength=prod(shapes[first])).reshape(shapes[first])
        result[clique, first] = table
        for merged in range(first, _MERGED - (len(clique) == _PAIR)):
            if shapes[merged + 1] != shapes[merged]:
                table = grids.folded(table, [singles[place].wider[merged] for place in clique])
                result[clique, merged + 1] = table
    return result


def _shape(singles: list[Single], choice: Choice) -> tuple[int, ...]:
    clique, merged = choice
    return tuple(int(singles[place].level(merged).max()) + 1 for place in clique)


def _cells(singles: list[Single], columns: Mapping[int, Integers], choice: Choice) -> Integers:
    """The cell of each row in a clique's table."""
    clique, merged = choice
    result = np.zeros(columns[clique[0]].size, dtype=np.int64)
    for place, length in zip(clique, _shape(singles, choice), strict=True):
        result = result * length + singles[place].level(merged)[columns[place]]
    return result


def _independent(singles: list[Single], choice: Choice, total: int) -> Floats:
    """The counts of a pair if it were independent."""
    clique, merged = choice
    left, right = (np.bincount(singles[p].level(merged), singles[p].binned()) for p in clique)
    return np.outer(left, right) / max(total, 1)


def _margin(one: Single, place: int, measured: Measured, total: int) -> Floats:
    """The count of each bin of an attribute, by its own cells and by its pairs, each as far as it is exact."""
    found = [(one.binned(), np.bincount(one.bins, one.variances).astype(np.float64))]
    for (clique, merged), (noisy, variance) in measured.items():
        if place in clique and len(clique) == _PAIR and not merged:
            axis = 1 - clique.index(place)
            found.append((noisy.sum(axis=axis), np.full(one.number, variance * noisy.shape[axis])))
    return forest.settled(forest.combined(found), float(total), empty=one.empty)
