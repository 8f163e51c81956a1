"""The staircase: released sums and counts, one or several in one joint draw."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs import arrow
from udfs.functions import parameters
from udfs.functions.model import Function
from udfs.mechanisms import Staircase
from udfs.pool import Pool
from udfs.privacy import InvalidMechanism
from udfs.randomness import Integers

Group = tuple[Staircase, NDArray[np.int64]]
"""A mechanism, and the rows of a chunk that it answers."""


def release(pool: Pool, values: Any, widths: Any, epsilon: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Add a joint draw to each row's list; parameters are checked and noise drawn before values are read."""
    sensitivities = arrow.read(widths)
    lengths = sensitivities.lengths
    if sensitivities.holes or (sensitivities.length < 1 and not (sensitivities.valid & (lengths > 0)).all()):
        raise InvalidMechanism("dp_release needs a list of sensitivities on every row")
    if not len(lengths):
        return values
    groups = list(_mechanisms(sensitivities, parameters.nano(epsilon)))
    noise = [pool.take(mechanism, len(rows)) for mechanism, rows in groups]
    lists = arrow.read(values)
    alike = lists.length == sensitivities.length > 0
    if not alike and not (lists.lengths == lengths)[lists.valid].all():
        raise InvalidMechanism("dp_release needs as many values as sensitivities")
    if len(groups) == 1:
        mechanism = groups[0][0]
        return arrow.write(_noisy(lists.whole(len(mechanism.widths)), mechanism, noise[0]), lengths)
    starts = np.cumsum(lengths) - lengths
    result = np.empty((int(lengths.sum()), 2), dtype=np.uint64)
    for (mechanism, rows), drawn in zip(groups, noise, strict=True):
        places = starts[rows][:, None] + np.arange(len(mechanism.widths))
        result[places] = _noisy(lists.gather(rows, len(mechanism.widths)), mechanism, drawn)
    return arrow.write(result, lengths)


def _noisy(values: arrow.Pairs, mechanism: Staircase, noise: Integers) -> arrow.Pairs:
    result = arrow.add(values, noise)
    if 0 in mechanism.widths:
        # What nobody can move is the sum of no rows, whatever was passed: no way around the noise.
        result[:, [width == 0 for width in mechanism.widths]] = 0
    return result


def _mechanisms(widths: arrow.Lists, nano: NDArray[np.uint64]) -> Iterator[Group]:
    """Group the rows by (sensitivities, epsilon)."""
    rows = np.arange(len(nano))
    for length in [widths.length] if widths.length > 0 else np.unique(widths.lengths).tolist():
        chosen = rows if widths.length > 0 else rows[widths.lengths == length]
        keys = widths.whole(length) if widths.length > 0 else widths.gather(chosen, length)
        if (keys == keys[:1]).all() and (nano[chosen] == nano[chosen[:1]]).all():
            yield _staircase(keys[0], int(nano[chosen[0]])), chosen
            continue
        table = np.column_stack([keys.reshape(len(chosen), -1), nano[chosen]])
        different, which = np.unique(table, axis=0, return_inverse=True)
        for index, key in enumerate(different):
            yield _staircase(key[:-1].reshape(-1, 2), int(key[-1])), chosen[which.ravel() == index]


def _staircase(widths: arrow.Pairs, nano: int) -> Staircase:
    return Staircase.best(tuple(arrow.integers(widths)), nano)


def noise_sd(sensitivity: Any, epsilon: Any) -> Any:  # noqa: ANN401
    """Return the standard deviation of the noise of a single value."""
    rows = zip(parameters.sensitivities(sensitivity), parameters.nano(epsilon).tolist(), strict=True)
    return pa.array([Staircase.best((width,), nano).noise_sd()[0] for width, nano in rows], type=pa.float64())


def half_width(sensitivity: Any, epsilon: Any, confidence: Any) -> Any:  # noqa: ANN401
    """Return the least h such that the noise of a single value is within h of 0 with the given confidence."""
    array = arrow.single(confidence)
    levels = [level if level is not None and 0 < level < 1 else 0.0 for level in array.to_pylist()]
    rows = zip(parameters.sensitivities(sensitivity), parameters.nano(epsilon).tolist(), levels, strict=True)
    widths = [
        Staircase.best((width,), nano).half_width(Fraction(str(level)))[0] for width, nano, level in rows
    ]
    return arrow.numbers(arrow.from_integers([min(width, arrow.LARGEST) for width in widths]))


def functions(pool: Pool) -> tuple[Function, ...]:
    """Return the functions of this family."""
    return (
        Function(
            "dp_release",
            "values HUGEINT[], sensitivities HUGEINT[], epsilon DECIMAL(18,9)",
            "HUGEINT[]",
            "the values with one joint draw of noise, epsilon for all together; "
            "NULL counts as 0, the sum of no rows, and so does a value of sensitivity 0",
            ("HUGEINT[]", "HUGEINT[]", parameters.EPSILON),
            partial(release, pool),
        ),
        Function(
            "dp_count",
            "n, epsilon",
            "HUGEINT",
            "a count with noise, where one unit changes it by at most 1",
            body="dp_release([n], [1], epsilon)[1]",
        ),
        Function(
            "dp_sum",
            "s, sensitivity, epsilon",
            "HUGEINT",
            "a sum of whole numbers with noise, where one unit changes it by at most sensitivity",
            body="dp_release([s], [sensitivity], epsilon)[1]",
        ),
        Function(
            "dp_noise_sd",
            "sensitivity HUGEINT, epsilon DECIMAL(18,9)",
            "DOUBLE",
            "the standard deviation of the noise of a single value",
            ("HUGEINT", parameters.EPSILON),
            noise_sd,
        ),
        Function(
            "dp_half_width",
            "sensitivity HUGEINT, epsilon DECIMAL(18,9), confidence DOUBLE",
            "HUGEINT",
            "the least h such that the noise of a single value is within h of 0 with that confidence",
            ("HUGEINT", parameters.EPSILON, "DOUBLE"),
            half_width,
        ),
    )
