"""Partition selection: which groups may be released if their keys are not public."""

from fractions import Fraction

import numpy as np
import pyarrow as pa

from udfs import arrow
from udfs.arrow import Column
from udfs.functions import columns, parameters
from udfs.functions.model import SqlFunction
from udfs.mechanisms import Selection
from udfs.pool import Pool
from udfs.privacy import InvalidMechanism


def select(counts: Column, groups: Column, epsilon: Column, delta: Column) -> Column:
    """Return for each row whether its group is released; parameters are checked before counts are read."""
    made = _mechanisms(groups, epsilon, delta)
    numbers = columns.whole(arrow.pairs(arrow.single(counts)))
    result = np.empty(numbers.size, dtype=np.bool_)
    for mechanism, rows in made:
        result[rows] = mechanism.keep(numbers[rows])
    return pa.array(result)


def threshold(groups: Column, epsilon: Column, delta: Column) -> Column:
    """Return the least count with which a group is released with probability 1/2 or more."""
    made = _mechanisms(groups, epsilon, delta)
    result = np.empty(sum(rows.size for _, rows in made), dtype=np.int64)
    for mechanism, rows in made:
        result[rows] = mechanism.threshold
    return pa.array(result)


def _mechanisms(groups: Column, epsilon: Column, delta: Column) -> list[tuple[Selection, columns.Int64]]:
    """Group the rows by their parameters."""
    array = arrow.single(delta)
    words = array.to_numpy(zero_copy_only=False).astype(np.float64)  # NULL becomes NaN
    if not ((words > 0) & (words < 1)).all():
        raise InvalidMechanism("delta must be between 0 and 1, both excluded")
    most = columns.parameters(groups, "a selection needs the most groups of one unit on every row")
    return [
        (_selection(key), rows)
        for key, rows in columns.alike(most, parameters.nano(epsilon), words.view(np.uint64))
    ]


def _selection(key: arrow.Pairs) -> Selection:
    """The mechanism for a group's parameters; a float counts as the decimal it prints as."""
    [groups] = arrow.integers(key[None, :2])
    return Selection(groups, int(key[2]), Fraction(str(key[3:].view(np.float64)[0])))


def functions(_: Pool) -> tuple[SqlFunction, ...]:
    """Return the functions of this family."""
    public = f"groups HUGEINT, epsilon {parameters.EPSILON}, delta DOUBLE"
    types = ("HUGEINT", parameters.EPSILON, "DOUBLE")
    return (
        SqlFunction(
            "dp_select",
            f"n HUGEINT, {public}",
            "BOOLEAN",
            "whether a group of n distinct units may be shown, where one unit is in at most so many groups and keys "
            "are not public; epsilon and delta are for all groups together; NULL counts as 0, which never may",
            ("HUGEINT", *types),
            select,
        ),
        SqlFunction(
            "dp_threshold",
            public,
            "BIGINT",
            "the least number of units with which dp_select shows a group at least half of the time",
            types,
            threshold,
        ),
    )
