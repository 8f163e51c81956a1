"""Quantiles, minima and maxima of a histogram of whole numbers, as points between public bounds."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from udfs import arrow
from udfs.functions import columns, parameters
from udfs.functions.model import Function
from udfs.mechanisms import Quantile
from udfs.pool import Pool
from udfs.privacy import InvalidMechanism

Make = Callable[..., Quantile]
"""Makes a mechanism from the SQL function's parameters in their order, with nano-epsilon as a keyword argument."""

_PUBLIC: Final = ("low", "high", "numerator", "denominator", "rows")
_EXTREME: Final = ("low", "high", "numerator", "rows")


def quantile(  # noqa: PLR0913, PLR0917 - DuckDB counts them
    values: Any,  # noqa: ANN401 - pyarrow has no types
    counts: Any,  # noqa: ANN401
    low: Any,  # noqa: ANN401
    high: Any,  # noqa: ANN401
    numerator: Any,  # noqa: ANN401
    denominator: Any,  # noqa: ANN401
    rows: Any,  # noqa: ANN401
    epsilon: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Draw a quantile of each row's histogram."""
    return _release(Quantile, values, counts, (low, high, numerator, denominator, rows, epsilon))


def extreme(
    values: Any,  # noqa: ANN401
    counts: Any,  # noqa: ANN401
    low: Any,  # noqa: ANN401
    high: Any,  # noqa: ANN401
    numerator: Any,  # noqa: ANN401
    rows: Any,  # noqa: ANN401
    epsilon: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Draw a minimum or a maximum of each row's histogram."""
    return _release(Quantile.inner, values, counts, (low, high, numerator, rows, epsilon))


def _release(make: Make, values: Any, counts: Any, public: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """Draw one point for each row's histogram; parameters are checked before histograms are read."""
    made = _mechanisms(make, public)
    lists, numbers = arrow.read(values), arrow.read(counts)
    there = lists.valid & numbers.valid
    if not (lists.lengths == numbers.lengths)[there].all():
        raise InvalidMechanism("a histogram needs as many values as counts")
    lengths = np.where(there, lists.lengths, 0).astype(np.int64)
    result = np.empty(lengths.size, dtype=np.int64)
    held = _held(arrow.single(values))
    for mechanism, rows in made:
        at = columns.places(lists.starts[rows], lengths[rows])
        counted = columns.whole(numbers.pairs[columns.places(numbers.starts[rows], lengths[rows])])
        if held is not None:
            counted = np.where(held[at], counted, 0)
        result[rows] = mechanism.release_each(columns.whole(lists.pairs[at]), counted, lengths[rows])
    return arrow.numbers(np.column_stack([result, result >> 63]).view(np.uint64))


def _held(array: Any) -> Any:  # noqa: ANN401
    """Return which values are not NULL, or None if all are."""
    return arrow.present(array.values) if array.values.null_count else None


def _mechanisms(make: Make, public: tuple[Any, ...]) -> list[tuple[Quantile, columns.Int64]]:
    """Group the rows by their parameters."""
    *named, epsilon = public
    message = "a quantile needs its bounds, its fraction and the rows of one unit, none of them NULL"
    words = [columns.parameters(column, message) for column in named]
    return [
        (make(*arrow.integers(key[:-1].reshape(-1, 2)), nano=int(key[-1])), rows)
        for key, rows in columns.alike(*words, parameters.nano(epsilon))
    ]


def rank_error(
    low: Any,  # noqa: ANN401
    high: Any,  # noqa: ANN401
    numerator: Any,  # noqa: ANN401
    denominator: Any,  # noqa: ANN401
    rows: Any,  # noqa: ANN401
    epsilon: Any,  # noqa: ANN401
    confidence: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Return a bound, in rows, on the rank error of a released quantile that holds with probability ``confidence``."""
    levels = parameters.confidences(confidence)
    found = [0] * len(levels)
    for mechanism, places in _mechanisms(Quantile, (low, high, numerator, denominator, rows, epsilon)):
        for row in places.tolist():
            found[row] = mechanism.rank_error(levels[row])
    return arrow.numbers(arrow.from_integers(found))


def functions(_: Pool) -> tuple[Function, ...]:
    """Return the functions of this family."""
    histogram, hugeint = "numbers HUGEINT[], counts HUGEINT[]", " HUGEINT, "
    public = hugeint.join((*_PUBLIC, f"epsilon {parameters.EPSILON}"))
    fewer = hugeint.join((*_EXTREME, f"epsilon {parameters.EPSILON}"))
    types = ("HUGEINT",) * len(_PUBLIC) + (parameters.EPSILON,)
    rule = "NULL is no row, and no rows are answered by any point"
    return (
        Function(
            "dp_quantile",
            f"{histogram}, {public}",
            "HUGEINT",
            "the quantile numerator / denominator of a histogram as a whole number between the bounds, where one "
            f"unit has at most so many rows; {rule}",
            ("HUGEINT[]", "HUGEINT[]", *types),
            quantile,
        ),
        Function(
            "dp_extreme",
            f"{histogram}, {fewer}",
            "HUGEINT",
            "the minimum (0) or maximum (1) of a histogram, aimed so far inside that it is rarely beyond all rows "
            f"even between loose bounds; {rule}",
            ("HUGEINT[]", "HUGEINT[]", *types[1:]),
            extreme,
        ),
        Function(
            "dp_rank_error",
            f"{public}, confidence DOUBLE",
            "HUGEINT",
            "the most rows by which the rank of dp_quantile is off with that confidence, whatever the rows are",
            (*types, "DOUBLE"),
            rank_error,
        ),
    )
