"""A lower confidence bound on the epsilon of a mechanism, from what it answered on two neighbouring inputs.

Half of the samples choose the event that tells the sides apart best, the other half test it. With p and p' the
probabilities of that event on the two sides, a mechanism that is (epsilon, delta)-private has
p <= e**epsilon * p' + delta; so the Clopper-Pearson bounds of p from below and of p' from above bound epsilon from
below. A bound above the promised epsilon refutes the promise; if the promise is true, that happens with probability at
most 1 - confidence, over all features together. A bound below it proves nothing: only tails, sets of bins and sets of
low bits are tried as events. Low bits reveal floating-point noise best if the true answers are 0 on one side only.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]
"""Samples of the same feature on both sides, left and right."""

SURE: Final = 0.999
_TAILS: Final = np.concatenate([[0.001, 0.002, 0.005, 0.01], np.linspace(0.02, 0.98, 97), [0.99, 0.995]])
_BINS: Final = 24
_BITS: Final = 53


class Finding(Struct, frozen=True):
    """The lower bound on epsilon from one feature of the answers.

    Attributes:
        feature: value, noise size, low bits, together, or seconds.
        column: the component of the answer; None for all at once, and for the time.
        bound: the mechanism's epsilon is at least this, in nats; 0 if the feature does not tell the sides apart.
    """

    feature: str
    column: int | None
    bound: float


def audit(
    left: ArrayLike,
    right: ArrayLike,
    *,
    seconds: tuple[ArrayLike, ArrayLike] | None = None,
    confidence: float = SURE,
    delta: float = 0.0,
) -> tuple[Finding, ...]:
    """Return a bound for each feature of the answers; with the stated confidence all bounds hold at once.

    Shapes: ``(n,)``, ``(n, columns)``, or ``(n, rows, columns)`` where an answer has several rows, each of which
        differs by one unit between the sides; a NULL is NaN. ``seconds``: ``(n,)`` for each side.
    Errors: ValueError if the shapes do not match or there are fewer than two answers.

    >>> [(found.feature, round(found.bound, 2)) for found in audit([0.0] * 400, [1.0] * 400) if found.bound > 3]
    [('value', 3.11), ('low bits', 3.11)]
    """
    sides = _shaped(left), _shaped(right)
    if sides[0].shape[1:] != sides[1].shape[1:] or min(map(len, sides)) < 2:
        raise ValueError("both sides need answers of the same shape, two or more of them")
    features = list(_features(sides))
    if seconds is not None:
        times = np.asarray(seconds[0], dtype=np.float64), np.asarray(seconds[1], dtype=np.float64)
        features.append(("seconds", None, _halves(times, _numbers)))
    error = (1 - confidence) / len(features)
    return tuple(Finding(name, column, _bound(*halves, error, delta)) for name, column, halves in features)


# --- features ---------------------------------------------------------------------------------------

Halves = tuple[list[Pair], list[Pair]]
"""Scores of the samples that choose the event, and of those that test it. An event is a tail of one of the scores."""


def _shaped(values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    match array.ndim:
        case 1:
            return array[:, None, None]
        case 2:
            return array[:, None, :]
        case _:
            return array


def _features(sides: Pair) -> Iterator[tuple[str, int | None, Halves]]:
    """The features with their names and columns.

    The size of the noise is the distance from the centre of the row's answers among the samples that choose.
    """
    first = np.concatenate([side[: len(side) // 2] for side in sides])
    centre = np.median(np.nan_to_num(first), axis=0)
    columns = range(centre.shape[1])
    for column in columns:
        values = sides[0][:, :, column], sides[1][:, :, column]
        noise = values[0] - centre[:, column], values[1] - centre[:, column]
        yield "value", column, _halves(noise, _numbers)
        yield "noise size", column, _halves((np.abs(noise[0]), np.abs(noise[1])), _numbers)
        yield "low bits", column, _halves(values, _low_bits)
    if len(columns) > 1:
        yield "together", None, _halves((sides[0] - centre, sides[1] - centre), _together)


Scores = Callable[[Pair, Pair], list[tuple[Pair, Pair]]]
"""Computes scores from the samples that choose and those that test; only the former may be learnt from."""


def _halves(sides: Pair, scores: Scores) -> Halves:
    halves = [len(side) // 2 for side in sides]
    chosen = sides[0][: halves[0]], sides[1][: halves[1]]
    tested = sides[0][halves[0] :], sides[1][halves[1] :]
    found = scores(chosen, tested)
    return [one for one, _ in found], [other for _, other in found]


def _numbers(chosen: Pair, tested: Pair) -> list[tuple[Pair, Pair]]:
    """Two scores: the number, and how much likelier its bin was on the left; NULL comes before all numbers."""
    first, second = _flat(chosen), _flat(tested)
    edges = np.unique(
        np.quantile(np.concatenate(first), np.linspace(0, 1, _BINS + 1)[1:-1], method="nearest")
    )
    binned = _learnt(
        _each(first, lambda x: np.searchsorted(edges, x)), _each(second, lambda x: np.searchsorted(edges, x))
    )
    return [(first, second), binned]


def _low_bits(chosen: Pair, tested: Pair) -> list[tuple[Pair, Pair]]:
    """Two scores: the place of the lowest set bit, and how much likelier the three lowest bits were on the left."""
    place = _each(_flat(chosen), _lowest), _each(_flat(tested), _lowest)
    return [place, _learnt(_each(_flat(chosen), _lowest_three), _each(_flat(tested), _lowest_three))]


def _together(chosen: Pair, tested: Pair) -> list[tuple[Pair, Pair]]:
    """Scores over all components, each in units of its spread and with the sign that makes it larger on the right."""
    rows = [side.reshape(-1, side.shape[-1]) for side in (*chosen, *tested)]
    pooled = np.concatenate(rows[:2])
    low, high = np.quantile(pooled, [0.25, 0.75], axis=0)
    turn = np.where(rows[1].mean(axis=0) < rows[0].mean(axis=0), -1.0, 1.0) / np.maximum(high - low, 1e-300)
    found = []
    for score in (_sum, _extremes):
        a, b, c, d = (np.nan_to_num(score(side * turn)) for side in rows)
        found.append(((a, b), (c, d)))
    return found


def _sum(rows: Floats) -> Floats:
    result: Floats = rows.sum(axis=1)
    return result


def _extremes(rows: Floats) -> Floats:
    """Positive if the most extreme component is positive: this tells apart draws that are uniform on boxes."""
    result: Floats = rows.max(axis=1) + rows.min(axis=1)
    return result


def _flat(sides: Pair) -> Pair:
    return _each(sides, lambda side: np.where(np.isnan(side), -np.inf, side).ravel())


def _each(sides: Pair, change: Callable[[Floats], NDArray[np.generic]]) -> Pair:
    return change(sides[0]).astype(np.float64), change(sides[1]).astype(np.float64)


def _lowest(values: Floats) -> Floats:
    """The exponent of the lowest set bit; 2000 for 0, infinity and NULL."""
    digits, exponents = _digits(values)
    place = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return np.where(digits == 0, 2000.0, (exponents - _BITS + place).astype(np.float64))


def _lowest_three(values: Floats) -> Floats:
    """A label for the place of the lowest set bit and the two bits above it."""
    digits, _ = _digits(values)
    above = digits // np.maximum(digits & -digits, 1) // 2 % 4
    result: Floats = 4 * _lowest(values) + above
    return result


def _digits(values: Floats) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The absolute value as a whole number of 53 bits and its exponent."""
    mantissas, exponents = np.frexp(np.where(np.isfinite(values), np.abs(values), 0.0))
    return np.ldexp(mantissas, _BITS).astype(np.int64), exponents


def _learnt(chosen: Pair, tested: Pair) -> tuple[Pair, Pair]:
    """Replace labels by the logarithm of how much likelier they were on the left; 0 for labels not in ``chosen``."""
    labels, places = np.unique(np.concatenate(chosen), return_inverse=True)
    sizes = len(chosen[0]), len(chosen[1])
    counts = [np.bincount(part, minlength=len(labels)) for part in (places[: sizes[0]], places[sizes[0] :])]
    ratios = np.log((counts[0] + 1) / (sizes[0] + 1)) - np.log((counts[1] + 1) / (sizes[1] + 1))

    def score(values: Floats) -> Floats:
        at = np.minimum(np.searchsorted(labels, values), len(labels) - 1)
        known: Floats = np.where(labels[at] == values, ratios[at], 0.0)
        return known

    return _each(chosen, score), _each(tested, score)


# --- events -----------------------------------------------------------------------------------------


def _bound(chosen: Sequence[Pair], tested: Sequence[Pair], error: float, delta: float) -> float:
    """Choose the best of all tails of all scores, in both directions, and return the bound from testing it."""
    best, found = -np.inf, 0.0
    for (a, b), (c, d) in zip(chosen, tested, strict=True):
        for turned in (1, -1):
            cuts = np.unique(np.quantile(turned * np.concatenate([a, b]), _TAILS, method="nearest"))
            hits, misses = _at_least(turned * a, cuts), _at_least(turned * b, cuts)
            for swapped in (False, True):
                counts = (misses, hits, len(b), len(a)) if swapped else (hits, misses, len(a), len(b))
                promising = _least_epsilon(*counts, error, delta)
                place = int(np.argmax(promising))
                if promising[place] > best:
                    best = float(promising[place])
                    cut = cuts[place : place + 1]
                    first, second = (d, c) if swapped else (c, d)
                    tests = _at_least(turned * first, cut), _at_least(turned * second, cut)
                    found = float(_least_epsilon(*tests, len(first), len(second), error, delta)[0])
    return max(found, 0.0)


def _at_least(scores: Floats, cuts: Floats) -> NDArray[np.int64]:
    """How many scores are at or above each cut."""
    result: NDArray[np.int64] = len(scores) - np.searchsorted(np.sort(scores), cuts, side="left")
    return result


def _least_epsilon(
    hits: NDArray[np.int64], misses: NDArray[np.int64], left: int, right: int, error: float, delta: float
) -> Floats:
    """The least epsilon that explains ``hits`` of ``left`` samples and ``misses`` of ``right``.

    The confidence bounds of both probabilities fail with half of ``error`` each.
    """
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), left - hits + 1, error / 2), 0.0)
    high = np.where(misses < right, betaincinv(misses + 1, np.maximum(right - misses, 1), 1 - error / 2), 1.0)
    result: Floats = np.log(np.maximum(low - delta, 1e-300) / high)
    return result
