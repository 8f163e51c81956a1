"""Knowledge refinement: one draw from a prior, which is passed as text, with its masses moved towards the truth."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs import arrow
from udfs.arrow import Column
from udfs.functions import parameters
from udfs.functions.model import SqlFunction
from udfs.mechanisms.refinement import Refinement
from udfs.pool import Pool
from udfs.prior_notation import parse
from udfs.privacy import InvalidMechanism

Group = tuple[Refinement, NDArray[np.int64]]
"""A refinement, and the numbers of the chunk's rows that it answers."""

KINDS: Final[dict[str, Callable[..., Refinement]]] = {
    "statistical": Refinement.statistical,
    "individual": Refinement.individual,
}
_PARAMETERS: Final = ("VARCHAR", parameters.EPSILON, "VARCHAR", "DOUBLE")


def numbers(truths: Column, prior: Column, epsilon: Column, kind: Column, delta: Column) -> Column:
    """Answer for truths that are numbers; parameters are checked before any of them is read."""
    groups = list(_groups(prior, epsilon, kind, delta))
    if any(refinement.prior.labelled for refinement, _ in groups):
        raise InvalidMechanism("this prior is over text: dp_refine_label takes it")
    array = arrow.single(truths)
    values = array.to_numpy(zero_copy_only=False).astype(np.float64)  # NULL becomes NaN
    result = np.empty(len(values))
    for refinement, rows in groups:
        if refinement.prior.distance == "absolute":
            result[rows] = refinement.release_numbers(values[rows])
        else:
            result[rows] = refinement.release_all(values[rows].tolist())
    return pa.array(result)


def texts(truths: Column, prior: Column, epsilon: Column, kind: Column, delta: Column) -> Column:
    """Answer for truths that are text; parameters are checked before any of them is read."""
    groups = list(_groups(prior, epsilon, kind, delta))
    if not all(refinement.prior.labelled for refinement, _ in groups):
        raise InvalidMechanism("this prior is over numbers: dp_refine takes it")
    array = arrow.single(truths)
    values = np.array([*array.to_pylist(), None], dtype=object)[:-1]
    result = np.empty(len(values), dtype=object)
    for refinement, rows in groups:
        result[rows] = refinement.release_all(values[rows].tolist())
    return pa.array(result, type=pa.string())


def error(prior: Column, epsilon: Column, kind: Column, delta: Column) -> Column:
    """Return the expected distance of the answer from the truth, where the truth is drawn from the prior."""
    result = np.empty(len(arrow.single(prior)))
    for refinement, rows in _groups(prior, epsilon, kind, delta):
        result[rows] = refinement.expected_distance
    return pa.array(result)


def _groups(prior: Column, epsilon: Column, kind: Column, delta: Column) -> Iterator[Group]:
    """Group the rows by their parameters."""
    texts_, kinds = (arrow.single(column).dictionary_encode() for column in (prior, kind))
    deltas = arrow.single(delta).dictionary_encode()
    for column, name in ((texts_, "a prior"), (kinds, "a kind"), (deltas, "a delta")):
        if column.null_count:
            raise InvalidMechanism(f"a refinement needs {name} on every row")
    codes = [column.indices.to_numpy().astype(np.uint64) for column in (texts_, kinds, deltas)]
    keys = np.column_stack([parameters.nano(epsilon), *codes])
    if (keys == keys[:1]).all():
        different, which = keys[:1], np.zeros(len(keys), dtype=np.int64)
    else:
        different, which = np.unique(keys, axis=0, return_inverse=True)
    named = [column.dictionary.to_pylist() for column in (texts_, kinds, deltas)]
    for index, (nano, *places) in enumerate(different.tolist()):
        written = [names[place] for names, place in zip(named, places, strict=True)]
        yield _refinement(nano, *written), np.flatnonzero(which.ravel() == index)


@lru_cache(maxsize=256)
def _refinement(nano: int, prior: str, kind: str, delta: float) -> Refinement:
    if kind not in KINDS:
        raise InvalidMechanism(f"the kind of a refinement is {' or '.join(KINDS)}")
    if not 0 <= delta < 1:
        raise InvalidMechanism("delta must be at least 0 and below 1")
    return KINDS[kind](parse(prior), nano, Fraction(repr(delta)))


def functions(_: Pool) -> tuple[SqlFunction, ...]:
    """Return the functions of this family."""
    return (
        SqlFunction(
            "dp_prior",
            'family, "values", masses, distances := NULL',
            "VARCHAR",
            "a prior as text from lists: of the family table, nominal, ordinal, histogram or custom",
            body="family || '(' || to_json(\"values\") || ', ' || to_json(masses) "
            "|| CASE WHEN distances IS NULL THEN '' ELSE ', ' || to_json(distances) END || ')'",
        ),
        SqlFunction("_dp_refine_error", "", "DOUBLE", "dp_refine_error", _PARAMETERS, error),
        SqlFunction("_dp_refine", "", "DOUBLE", "dp_refine", ("DOUBLE", *_PARAMETERS), numbers),
        SqlFunction("_dp_refine_label", "", "VARCHAR", "dp_refine_label", ("VARCHAR", *_PARAMETERS), texts),
        SqlFunction(
            "dp_refine",
            "truth, prior, epsilon, kind, delta := 0",
            "DOUBLE",
            "one value of a prior over numbers, moved towards the truth: kind statistical for a query over many "
            "units, individual for the value of one unit, NULL if it is absent",
            body="_dp_refine(truth, prior, epsilon, kind, delta)",
        ),
        SqlFunction(
            "dp_refine_label",
            "truth, prior, epsilon, kind, delta := 0",
            "VARCHAR",
            "the same for a prior over text",
            body="_dp_refine_label(truth, prior, epsilon, kind, delta)",
        ),
        SqlFunction(
            "dp_refine_error",
            "prior, epsilon, kind, delta := 0",
            "DOUBLE",
            "the expected distance of the answer of a refinement from the truth, where the prior is right",
            body="_dp_refine_error(prior, epsilon, kind, delta)",
        ),
    )
