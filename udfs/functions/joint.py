"""Lists of numbers released with one joint draw of noise for each row, whatever the mechanism.

SQL never casts a number to a type whose range might be too small: such a cast quotes the number in its error, or
rounds it. When DuckDB chooses among the overloads of a macro, it does not know the type of ``sum(x)`` yet, and adds
casts to the argument types of the overload: therefore no argument with a number has a declared type there. DuckDB
derives the type later, from ``number // 1::HUGEINT``: HUGEINT for whole numbers, DOUBLE for others, and for text an
error that contains no value. The quotient is never computed: ``cast_to_type`` reads its type alone.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from udfs import arrow
from udfs.arrow import Column
from udfs.functions import parameters
from udfs.functions.lattice import DOUBLES, INTEGERS, Lattice, upwards
from udfs.functions.model import SqlFunction
from udfs.pool import Pool
from udfs.privacy import InvalidMechanism, Mechanism
from udfs.randomness import Integers


class Joint(Mechanism, Protocol):
    """A mechanism with a sensitivity for each component: by how much one unit can move it, in lattice steps."""

    @property
    def widths(self) -> tuple[int, ...]:
        """The sensitivities."""


Best = Callable[[tuple[int, ...], int], Joint]
"""Returns the mechanism for sensitivities in lattice steps and a loss in nano-epsilon or nano-rho."""


class JointKind(Struct, frozen=True):
    """How a family of functions chooses its mechanism, and its error message for an invalid loss."""

    best: Best
    least: str = "epsilon must be at least 0.001"


Group = tuple[Joint, arrow.Pairs, NDArray[np.int64]]
"""A mechanism, the sensitivities as they were passed, and the numbers of the chunk's rows that it answers."""


def release(
    pool: Pool, kind: JointKind, lattice: Lattice, values: Column, widths: Column, loss: Column
) -> Column:
    """Add a joint draw to each row's list; parameters are checked and noise drawn before values are read."""
    return _release(pool, kind, lattice, values, arrow.read(widths), loss)


def release_any(pool: Pool, kind: JointKind, values: Column, widths: Column, loss: Column) -> Column:
    """The same for lists of either type, with whole sensitivities; released numbers are returned as text."""
    column, sensitivities = arrow.single(values), arrow.read(widths)
    if pa.types.is_floating(column.type.value_type):
        doubles = column.cast(pa.list_(pa.float64()))  # of FLOAT, which never fails
        sensitivities = replace(sensitivities, pairs=upwards(sensitivities.pairs))
        released = _release(pool, kind, DOUBLES, doubles, sensitivities, loss)
    else:
        released = _release(pool, kind, INTEGERS, column, sensitivities, loss)
    return released.cast(pa.list_(pa.string()))


def release_rows(pool: Pool, mechanism: Joint, rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Release rows of whole numbers of at most 128 bits as the SQL functions do: for callers without SQL."""
    noise, width = pool.take(mechanism, len(rows)), len(mechanism.widths)
    values = arrow.from_integers([number for row in rows for number in row]).reshape(len(rows), width, 2)
    drawn = arrow.integers(_noisy(values, mechanism, values, noise, INTEGERS))
    return [drawn[start : start + width] for start in range(0, len(drawn), width)]


def release_columns(mechanism: Joint, noise: Integers, columns: Sequence[Column]) -> Column:
    """The same of a column for each component, with draws of the mechanism that nobody else gets: as lists."""
    values = np.stack([arrow.pairs(arrow.single(column)) for column in columns], axis=1)
    if len(noise) != len(values):
        raise AssertionError("rows that share a draw")
    noisy = _noisy(values, mechanism, values, noise, INTEGERS)
    return arrow.write(noisy, np.full(len(values), len(mechanism.widths)))


def _release(
    pool: Pool,
    kind: JointKind,
    lattice: Lattice,
    values: Column,
    sensitivities: arrow.ListColumn,
    loss: Column,
) -> Column:
    lengths = sensitivities.lengths
    if sensitivities.holes or (sensitivities.length < 1 and not (sensitivities.valid & (lengths > 0)).all()):
        raise InvalidMechanism("every row needs a list of sensitivities, none of them NULL")
    if not len(lengths):
        return values
    groups = list(_groups(sensitivities, parameters.nano(loss, kind.least), kind.best, lattice))
    noise = [pool.take(mechanism, len(rows)) for mechanism, _, rows in groups]
    lists = arrow.read(values)
    alike = lists.length == sensitivities.length > 0
    if not alike and not (lists.lengths == lengths)[lists.valid].all():
        raise InvalidMechanism("every row needs as many values as sensitivities")
    if len(groups) == 1:
        mechanism, key, _ = groups[0]
        whole = _noisy(lists.whole(len(mechanism.widths)), mechanism, key, noise[0], lattice)
        return arrow.write(whole, lengths, lattice.column)
    starts = np.cumsum(lengths) - lengths
    result = np.empty((int(lengths.sum()), 2), dtype=np.uint64)
    for (mechanism, key, rows), drawn in zip(groups, noise, strict=True):
        places = starts[rows][:, None] + np.arange(len(mechanism.widths))
        chosen = lists.gather(rows, len(mechanism.widths))
        result[places] = _noisy(chosen, mechanism, key, drawn, lattice)
    return arrow.write(result, lengths, lattice.column)


def _noisy(
    values: arrow.Pairs, mechanism: Joint, key: arrow.Pairs, noise: Integers, lattice: Lattice
) -> arrow.Pairs:
    result = arrow.add(lattice.steps(values, key), noise)
    if 0 in mechanism.widths:
        # A component of sensitivity 0 is a sum over no rows: it is 0 whatever was passed, or it would bypass the noise.
        result[:, [width == 0 for width in mechanism.widths]] = 0
    return lattice.numbers(result, key)


def _groups(
    widths: arrow.ListColumn, nano: NDArray[np.uint64], best: Best, lattice: Lattice
) -> Iterator[Group]:
    """Group the rows by (sensitivities, loss)."""
    rows = np.arange(len(nano))
    for length in [widths.length] if widths.length > 0 else np.unique(widths.lengths).tolist():
        chosen = rows if widths.length > 0 else rows[widths.lengths == length]
        keys = widths.whole(length) if widths.length > 0 else widths.gather(chosen, length)
        if (keys == keys[:1]).all() and (nano[chosen] == nano[chosen[:1]]).all():
            yield best(lattice.widths(keys[0]), int(nano[chosen[0]])), keys[0], chosen
            continue
        table = np.column_stack([keys.reshape(len(chosen), -1), nano[chosen]])
        different, which = np.unique(table, axis=0, return_inverse=True)
        for index, row in enumerate(different):
            key = row[:-1].reshape(-1, 2)
            yield best(lattice.widths(key), int(row[-1])), key, chosen[which.ravel() == index]


def lists(pool: Pool, kind: JointKind, name: str, loss: str, does: str) -> tuple[SqlFunction, ...]:
    """Return ``name`` over lists of whole numbers and over lists of DOUBLE; ``loss`` names its parameter."""
    rule = "a number of sensitivity 0 count as 0, the sum of no rows"
    rest = f"{loss} {parameters.EPSILON}"
    return (
        SqlFunction(f"_{name}_doubles", "", "DOUBLE[]", "", *_arrow(pool, kind, DOUBLES)),
        SqlFunction(f"_{name}_any", "", "VARCHAR[]", "", (), partial(release_any, pool, kind)),
        SqlFunction(
            name,
            f"numbers, sensitivities DOUBLE[], {rest}",
            "DOUBLE[]",
            f"{does}, on a lattice of at least 2^30 steps per sensitivity; NULL, NaN and {rule}",
            body=f"_{name}_doubles(numbers, sensitivities, {loss})",
        ),
        SqlFunction(
            name,
            f"numbers, sensitivities HUGEINT[], {rest}",
            "HUGEINT[]",
            f"{does}; NULL and {rule}; DOUBLE[] where the numbers are not whole",
            *_arrow(pool, kind, INTEGERS),
            body=_typed(f"_{name}_any({{}}, sensitivities, {loss})", "numbers", "[numbers[1] // 1::HUGEINT]"),
        ),
    )


def singles(name: str, lists: str, loss: str, does: str) -> tuple[SqlFunction, ...]:
    """Return ``name`` over one whole number and over one DOUBLE: macros that call the functions over ``lists``."""
    rest = f"{loss} {parameters.EPSILON}"
    body = f"_{lists}_any([{{}}], [sensitivity], {loss})[1]"
    return (
        SqlFunction(
            name,
            f"number, sensitivity DOUBLE, {rest}",
            "DOUBLE",
            does,
            body=f"_{lists}_doubles([number], [sensitivity], {loss})[1]",
        ),
        SqlFunction(
            name,
            f"number, sensitivity HUGEINT, {rest}",
            "HUGEINT",
            f"{does}; DOUBLE where the number is not whole",
            body=_typed(body, "number", "number // 1::HUGEINT"),
        ),
    )


def _typed(call: str, argument: str, kind: str) -> str:
    """A call with its argument and result cast to the type of ``kind``, an expression that is not computed."""
    return f"cast_to_type({call.format(f'cast_to_type({argument}, {kind})')}, {kind})"


def _arrow(pool: Pool, kind: JointKind, lattice: Lattice) -> tuple[tuple[str, ...], Callable[..., Any]]:
    column = f"{lattice.type}[]"
    return (column, column, parameters.EPSILON), partial(release, pool, kind, lattice)
