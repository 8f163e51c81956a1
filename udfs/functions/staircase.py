"""The staircase mechanism: sums and counts, one or several in one joint draw."""

from typing import Final

import pyarrow as pa

from udfs import arrow
from udfs.arrow import Column
from udfs.functions import parameters
from udfs.functions.joint import JointKind, lists, singles
from udfs.functions.model import SYSTEM, SqlFunction
from udfs.mechanisms import Shortest, Staircase
from udfs.pool import Pool

KIND: Final = JointKind(Staircase.best)
# The released number is clamped so that interval ends stay within 128 bits: an overflow error would quote numbers.
_INSIDE: Final = (
    "least(greatest(cast_to_type(released, released // 1::HUGEINT), "
    f"{-arrow.LARGEST}::HUGEINT), {arrow.LARGEST}::HUGEINT)"
)
_HALF: Final = f"least(dp_half_width(sensitivity, epsilon, confidence), {7 * 10**37}::HUGEINT)"
_ONE: Final = f"sensitivity HUGEINT, epsilon {parameters.EPSILON}"


def noise_sd(sensitivity: Column, epsilon: Column) -> Column:
    """Return the standard deviation of the noise of a single value."""
    rows = zip(parameters.sensitivities(sensitivity), parameters.nano(epsilon).tolist(), strict=True)
    return pa.array([Staircase.best((width,), nano).noise_sd()[0] for width, nano in rows], type=pa.float64())


def half_width(sensitivity: Column, epsilon: Column, confidence: Column) -> Column:
    """Return the least h such that the noise of a single value is within h of 0 with the given confidence."""
    rows = zip(
        parameters.sensitivities(sensitivity),
        parameters.nano(epsilon).tolist(),
        parameters.confidences(confidence),
        strict=True,
    )
    widths = [Staircase.best((width,), nano).half_width(level)[0] for width, nano, level in rows]
    return arrow.numbers(arrow.from_integers([min(width, arrow.LARGEST) for width in widths]))


def functions(pool: Pool) -> tuple[SqlFunction, ...]:
    """Return the functions of this family."""
    return (
        *lists(
            pool,
            KIND,
            "dp_release",
            "epsilon",
            "the numbers with one joint draw of noise, epsilon for all together",
        ),
        SqlFunction(
            "dp_count",
            f"n, epsilon {parameters.EPSILON}",
            "HUGEINT",
            "a count with noise, where one unit changes it by at most 1",
            body=f"{SYSTEM}dp_release([n], [1], epsilon)[1]",
        ),
        *singles(
            "dp_sum",
            "dp_release",
            "epsilon",
            "a sum with noise, where one unit changes it by at most sensitivity",
        ),
        *lists(
            pool,
            JointKind(Shortest.best),
            "dp_shortest",
            "epsilon",
            "the numbers with one joint draw of the noise whose intervals of 95 % are shortest",
        ),
        *singles(
            "dp_shortest",
            "dp_shortest",
            "epsilon",
            "a number with that noise, where one unit changes it by at most sensitivity",
        ),
        SqlFunction(
            "dp_noise_sd",
            _ONE,
            "DOUBLE",
            "the standard deviation of the noise of dp_sum",
            ("HUGEINT", parameters.EPSILON),
            noise_sd,
        ),
        SqlFunction(
            "dp_half_width",
            f"{_ONE}, confidence DOUBLE",
            "HUGEINT",
            "the least h such that the noise of dp_sum is within h of 0 with that confidence",
            ("HUGEINT", parameters.EPSILON, "DOUBLE"),
            half_width,
        ),
        SqlFunction(
            "dp_interval",
            f"released, {_ONE}, confidence DOUBLE",
            "STRUCT(low HUGEINT, high HUGEINT)",
            "what dp_sum was given lies in this interval around what it returned, with that confidence",
            body=f"struct_pack(low := {_INSIDE} - {_HALF}, high := {_INSIDE} + {_HALF})",
        ),
    )
