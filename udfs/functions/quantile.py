"""Quantiles, minima and maxima of a histogram of whole numbers, as points between public bounds."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from udfs import arrow
from udfs.arrow import Column
from udfs.functions import columns, parameters
from udfs.functions.model import SqlFunction
from udfs.mechanisms import Quantile, QuantileBounds, Quantiles
from udfs.pool import Pool
from udfs.privacy import InvalidMechanism

Make = Callable[..., Quantile]
"""Makes a mechanism from the SQL function's parameters in their order, with nano-epsilon as a keyword argument."""
Draw = Callable[[columns.Int64, columns.Int64, columns.Int64], columns.Int64]
"""Draws from each of several histograms: their values, counts and lengths."""

_PUBLIC: Final = ("low", "high", "numerator", "denominator", "rows")
_MISSING: Final = "a quantile needs its bounds, its fraction and the rows of one unit, none of them NULL"
_EXTREME: Final = ("low", "high", "numerator", "rows")


def quantile(  # noqa: PLR0913, PLR0917 - DuckDB counts them
    values: Column,
    counts: Column,
    low: Column,
    high: Column,
    numerator: Column,
    denominator: Column,
    rows: Column,
    epsilon: Column,
) -> Column:
    """Draw a quantile of each row's histogram."""
    return _release(Quantile, values, counts, (low, high, numerator, denominator, rows, epsilon))


def extreme(
    values: Column,
    counts: Column,
    low: Column,
    high: Column,
    numerator: Column,
    rows: Column,
    epsilon: Column,
) -> Column:
    """Draw a minimum or a maximum of each row's histogram."""
    return _release(Quantile.inner, values, counts, (low, high, numerator, rows, epsilon))


def quantiles(  # noqa: PLR0913, PLR0917 - DuckDB counts them
    values: Column,
    counts: Column,
    low: Column,
    high: Column,
    numerators: Column,
    denominator: Column,
    rows: Column,
    epsilon: Column,
) -> Column:
    """Draw several quantiles of each row's histogram."""
    asked = arrow.read(numerators)
    if asked.holes or not (asked.valid & (asked.lengths > 0)).all():
        raise InvalidMechanism("every row needs a list of numerators, none of them NULL")
    *named, nano = (
        *(columns.parameters(column, _MISSING) for column in (low, high, denominator, rows)),
        parameters.nano(epsilon),
    )
    wanted = np.zeros((asked.lengths.size, int(asked.lengths.max(initial=0)), 2), dtype=np.uint64)
    for length in np.unique(asked.lengths).tolist():
        chosen = np.flatnonzero(asked.lengths == length)
        wanted[chosen, :length] = asked.gather(chosen, length)
    lengths = asked.lengths.astype(np.uint64)
    made = []
    for key, at in columns.alike(*named, nano, lengths, wanted.reshape(lengths.size, -1)):
        public, many = arrow.integers(key[:8].reshape(-1, 2)), int(key[9])
        fractions = tuple(arrow.integers(key[10:].reshape(-1, 2))[:many])
        made.append((_several(*public, numerators=fractions, nano=int(key[8])).release_each, at))
    drawn = _drawn(made, values, counts, asked.lengths.astype(np.int64))
    return arrow.write(_pairs(drawn), asked.lengths)


def bounds(  # noqa: PLR0913, PLR0917 - DuckDB counts them
    values: Column,
    counts: Column,
    low: Column,
    high: Column,
    numerator: Column,
    denominator: Column,
    rows: Column,
    epsilon: Column,
    confidence: Column,
    point: Column,
) -> Column:
    """Draw what a quantile of each row's histogram lies between, around a point."""
    levels = np.array(parameters.confidences(confidence))
    points = columns.whole(columns.parameters(point, "bounds need a point"))
    made: list[tuple[Draw, columns.Int64]] = []
    for of, alike in _mechanisms(Quantile, (low, high, numerator, denominator, rows, epsilon)):
        for level in sorted(set(levels[alike].tolist())):
            at = alike[levels[alike] == level]
            made.append((partial(QuantileBounds(of, level).release_each, points=points[at]), at))
    lengths = np.full(len(values), 2)
    return arrow.write(_pairs(_drawn(made, values, counts, lengths)), lengths.astype(np.int32))


def _several(
    low: int, high: int, denominator: int, rows: int, *, numerators: tuple[int, ...], nano: int
) -> Quantile | Quantiles:
    """A single quantile needs no parts of cells."""
    if len(numerators) == 1:
        return Quantile(low, high, numerators[0], denominator, rows, nano)
    return Quantiles(low, high, numerators, denominator, rows, nano)


def _release(make: Make, values: Column, counts: Column, public: tuple[Column, ...]) -> Column:
    """Draw one point for each row's histogram."""
    made = [(mechanism.release_each, rows) for mechanism, rows in _mechanisms(make, public)]
    return arrow.numbers(_pairs(_drawn(made, values, counts, np.ones(len(values), dtype=np.int64))))


def _pairs(drawn: columns.Int64) -> arrow.Pairs:
    return np.column_stack([drawn, drawn >> 63]).view(np.uint64)


def _drawn(
    made: Sequence[tuple[Draw, columns.Int64]],
    values: Column,
    counts: Column,
    widths: columns.Int64,
) -> columns.Int64:
    """Draw as many points for each row's histogram, end to end; parameters were checked before histograms are read."""
    lists, numbers = arrow.read(values), arrow.read(counts)
    there = lists.valid & numbers.valid
    if not (lists.lengths == numbers.lengths)[there].all():
        raise InvalidMechanism("a histogram needs as many values as counts")
    lengths = np.where(there, lists.lengths, 0).astype(np.int64)
    result, ends = np.empty(int(widths.sum()), dtype=np.int64), np.cumsum(widths)
    held = _held(arrow.single(values))
    for draw, rows in made:
        at = columns.places(lists.starts[rows], lengths[rows])
        counted = columns.whole(numbers.pairs[columns.places(numbers.starts[rows], lengths[rows])])
        if held is not None:
            counted = np.where(held[at], counted, 0)
        drawn = draw(columns.whole(lists.pairs[at]), counted, lengths[rows])
        result[columns.places(ends[rows] - widths[rows], widths[rows])] = drawn.ravel()
    return result


def _held(array: Column) -> Column:
    """Return which values are not NULL, or None if all are."""
    return arrow.present(array.values) if array.values.null_count else None


def _mechanisms(make: Make, public: tuple[Any, ...]) -> list[tuple[Quantile, columns.Int64]]:
    """Group the rows by their parameters."""
    *named, epsilon = public
    words = [columns.parameters(column, _MISSING) for column in named]
    return [
        (make(*arrow.integers(key[:-1].reshape(-1, 2)), nano=int(key[-1])), rows)
        for key, rows in columns.alike(*words, parameters.nano(epsilon))
    ]


def rank_error(
    low: Column,
    high: Column,
    numerator: Column,
    denominator: Column,
    rows: Column,
    epsilon: Column,
    confidence: Column,
) -> Column:
    """Return a bound, in rows, on the rank error of a released quantile that holds with probability ``confidence``."""
    levels = parameters.confidences(confidence)
    found = [0] * len(levels)
    for mechanism, places in _mechanisms(Quantile, (low, high, numerator, denominator, rows, epsilon)):
        for row in places.tolist():
            found[row] = mechanism.rank_error(levels[row])
    return arrow.numbers(arrow.from_integers(found))


def functions(_: Pool) -> tuple[SqlFunction, ...]:
    """Return the functions of this family."""
    histogram, hugeint = "numbers HUGEINT[], counts HUGEINT[]", " HUGEINT, "
    public = hugeint.join((*_PUBLIC, f"epsilon {parameters.EPSILON}"))
    fewer = hugeint.join((*_EXTREME, f"epsilon {parameters.EPSILON}"))
    types = ("HUGEINT",) * len(_PUBLIC) + (parameters.EPSILON,)
    rule = "NULL is no row, and no rows are answered by any point"
    return (
        SqlFunction(
            "dp_quantile",
            f"{histogram}, {public}",
            "HUGEINT",
            "the quantile numerator / denominator of a histogram as a whole number between the bounds, where one "
            f"unit has at most so many rows; {rule}",
            ("HUGEINT[]", "HUGEINT[]", *types),
            quantile,
        ),
        SqlFunction(
            "dp_quantiles",
            f"{histogram}, low HUGEINT, high HUGEINT, numerators HUGEINT[], denominator HUGEINT, "
            f"rows HUGEINT, epsilon {parameters.EPSILON}",
            "HUGEINT[]",
            "several quantiles of a histogram in one release, more accurate than as many "
            f"calls of dp_quantile for the same epsilon together; {rule}",
            ("HUGEINT[]", "HUGEINT[]", "HUGEINT", "HUGEINT", "HUGEINT[]", *types[2:4], types[-1]),
            quantiles,
        ),
        SqlFunction(
            "dp_extreme",
            f"{histogram}, {fewer}",
            "HUGEINT",
            "the minimum (0) or maximum (1) of a histogram, aimed so far inside that it is rarely beyond all rows "
            f"even between loose bounds; {rule}",
            ("HUGEINT[]", "HUGEINT[]", *types[1:]),
            extreme,
        ),
        SqlFunction(
            "dp_quantile_bounds",
            f"{histogram}, {public}, confidence DOUBLE, point HUGEINT",
            "HUGEINT[]",
            "two points around a public one, for one a quantile that was released, that dp_quantile without noise lies "
            "between with that confidence, whatever the rows are",
            ("HUGEINT[]", "HUGEINT[]", *types, "DOUBLE", "HUGEINT"),
            bounds,
        ),
        SqlFunction(
            "dp_rank_error",
            f"{public}, confidence DOUBLE",
            "HUGEINT",
            "the most rows by which the rank of dp_quantile is off with that confidence, whatever the rows are",
            (*types, "DOUBLE"),
            rank_error,
        ),
    )
