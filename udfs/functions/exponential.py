"""The exponential mechanism: one of a list of candidates by their scores."""

import numpy as np
import pyarrow as pa

from udfs import arrow
from udfs.arrow import Column
from udfs.functions import columns, parameters
from udfs.functions.model import SYSTEM, SqlFunction
from udfs.mechanisms.exponential import Exponential
from udfs.pool import Pool
from udfs.privacy import InvalidMechanism


def choose(scores: Column, candidates: Column, sensitivity: Column, epsilon: Column) -> Column:
    """Return the index of each row's choice, from 1; parameters are checked before scores are read."""
    widths = columns.parameters(sensitivity, "a choice needs the sensitivity of its scores on every row")
    groups = [
        (Exponential.of(arrow.integers(key[None, :2])[0], int(key[2])), rows)
        for key, rows in columns.alike(widths, parameters.nano(epsilon))
    ]
    lengths = columns.whole(
        columns.parameters(candidates, "a choice needs a list of candidates on every row")
    )
    if (lengths < 1).any():
        raise InvalidMechanism("a choice needs at least one candidate on every row")
    lists = arrow.read(scores)
    if not (lists.lengths == lengths)[lists.valid].all():
        raise InvalidMechanism("a choice needs as many scores as candidates")
    result = np.empty(lengths.size, dtype=np.int64)
    for mechanism, rows in groups:
        result[rows] = mechanism.choose_each(_scores(lists, lengths, rows), lengths[rows])
    return pa.array(result + 1)


def _scores(lists: arrow.ListColumn, lengths: columns.Int64, rows: columns.Int64) -> columns.Int64:
    """Return the scores of ``rows``, list after list; zeros where a list is NULL."""
    if rows.size == lengths.size and lists.valid.all():  # all rows: the buffer has them in order already
        first = int(lists.starts[0])
        return columns.whole(lists.pairs[first : first + int(lengths.sum())])
    valid = lists.valid[rows]
    where = columns.places(lists.starts[rows[valid]], lengths[rows[valid]])
    scores = columns.whole(lists.pairs[where])
    if valid.all():
        return scores
    result = np.zeros(int(lengths[rows].sum()), dtype=np.int64)
    result[np.repeat(valid, lengths[rows])] = scores
    return result


def functions(_: Pool) -> tuple[SqlFunction, ...]:
    """Return the functions of this family."""
    rule = "NULL counts as a score of 0, the score over no rows"
    return (
        SqlFunction(
            "dp_choose",
            f"scores HUGEINT[], candidates HUGEINT, sensitivity HUGEINT, epsilon {parameters.EPSILON}",
            "BIGINT",
            f"the place, from 1, of one of so many candidates, the better its score the likelier; {rule}",
            ("HUGEINT[]", "HUGEINT", "HUGEINT", parameters.EPSILON),
            choose,
        ),
        SqlFunction(
            "dp_exponential",
            "candidates, scores, sensitivity, epsilon",
            "the type of a candidate",
            f"one of the public candidates, the better its score the likelier; {rule}",
            body=f"candidates[{SYSTEM}dp_choose(scores, len(candidates), sensitivity, epsilon)]",
        ),
    )
