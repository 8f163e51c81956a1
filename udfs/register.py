"""The mechanisms as SQL functions of a DuckDB connection.

Every function that draws has side effects for DuckDB, so that it runs once per row; a released value should
still be kept in a table before it is used twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType
from numpy.typing import NDArray

from udfs import arrow
from udfs.mechanisms import Staircase
from udfs.pool import Pool
from udfs.privacy import InvalidMechanism
from udfs.randomness import Integers

EPSILON: Final = "DECIMAL(18,9)"
_DEFAULT: Final = Pool()

Group = tuple[Staircase, NDArray[np.int64]]
"""A mechanism, and the rows of a chunk that it answers."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function for SQL: its arguments as shown, and the Arrow function or the macro's body behind it."""

    name: str
    arguments: str
    returns: str
    does: str
    types: tuple[str, ...] = ()
    run: Callable[..., Any] | None = None
    body: str = ""


def register(connection: duckdb.DuckDBPyConnection, pool: Pool | None = None) -> None:
    """Add the ``dp_*`` functions to a connection.

    The macros belong to the connection, the rest to its database: one that has them keeps its own.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     register(connection)
    ...     connection.sql("SELECT count(*) > 4 FROM dp_functions()").fetchall()
    [(True,)]
    """
    for function in functions(pool or _DEFAULT):
        if function.run is None:
            head = f"{function.name}({function.arguments})"
            connection.execute(f"CREATE OR REPLACE TEMP MACRO {head} AS {function.body}")
        else:
            _create(connection, function.name, function.run, function)


def _create(
    connection: duckdb.DuckDBPyConnection, name: str, run: Callable[..., Any], function: Function
) -> None:
    try:
        connection.create_function(
            name,
            run,
            list(function.types),
            function.returns,
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
            side_effects=True,
        )
    except (duckdb.CatalogException, duckdb.NotImplementedException) as error:
        # The one is raised where another connection of the database has it, the other where this one has.
        if "already" not in str(error):
            raise


def release(pool: Pool, values: Any, widths: Any, epsilon: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Add a joint draw to each row's list; parameters are checked and noise drawn before values are read."""
    sensitivities = arrow.read(widths)
    lengths = sensitivities.lengths
    if sensitivities.holes or (sensitivities.length < 1 and not (sensitivities.valid & (lengths > 0)).all()):
        raise InvalidMechanism("dp_release needs a list of sensitivities on every row")
    if not len(lengths):
        return values
    groups = list(_mechanisms(sensitivities, _nano(epsilon)))
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


def _nano(epsilon: Any) -> NDArray[np.uint64]:  # noqa: ANN401
    """Return epsilon in nano-epsilon, which is how DECIMAL(18,9) holds it."""
    array = arrow.single(epsilon)
    pairs = arrow.pairs(array)
    if array.null_count or pairs[:, 1].any():
        raise InvalidMechanism("epsilon must be at least 0.001")
    return pairs[:, 0]


def _sensitivities(column: Any) -> list[int]:  # noqa: ANN401
    array = arrow.single(column)
    if array.null_count:
        raise InvalidMechanism("a sensitivity must be a whole number between 0 and 10^38 - 1")
    return arrow.integers(arrow.pairs(array))


def noise_sd(sensitivity: Any, epsilon: Any) -> Any:  # noqa: ANN401
    """Return the standard deviation of the noise of a single value."""
    rows = zip(_sensitivities(sensitivity), _nano(epsilon).tolist(), strict=True)
    return pa.array([Staircase.best((width,), nano).noise_sd()[0] for width, nano in rows], type=pa.float64())


def half_width(sensitivity: Any, epsilon: Any, confidence: Any) -> Any:  # noqa: ANN401
    """Return the least h such that the noise of a single value is within h of 0 with the given confidence."""
    array = arrow.single(confidence)
    levels = [level if level is not None and 0 < level < 1 else 0.0 for level in array.to_pylist()]
    rows = zip(_sensitivities(sensitivity), _nano(epsilon).tolist(), levels, strict=True)
    widths = [
        Staircase.best((width,), nano).half_width(Fraction(str(level)))[0] for width, nano, level in rows
    ]
    return arrow.numbers(arrow.from_integers([min(width, arrow.LARGEST) for width in widths]))


def functions(pool: Pool) -> tuple[Function, ...]:
    """Every function, in the order of ``dp_functions()``."""
    listed = (
        Function(
            "dp_release",
            "values HUGEINT[], sensitivities HUGEINT[], epsilon DECIMAL(18,9)",
            "HUGEINT[]",
            "the values with one joint draw of noise, epsilon for all together; "
            "NULL counts as 0, the sum of no rows, and so does a value of sensitivity 0",
            ("HUGEINT[]", "HUGEINT[]", EPSILON),
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
            ("HUGEINT", EPSILON),
            noise_sd,
        ),
        Function(
            "dp_half_width",
            "sensitivity HUGEINT, epsilon DECIMAL(18,9), confidence DOUBLE",
            "HUGEINT",
            "the least h such that the noise of a single value is within h of 0 with that confidence",
            ("HUGEINT", EPSILON, "DOUBLE"),
            half_width,
        ),
    )
    return (*listed, _catalogue(listed))


def _catalogue(listed: tuple[Function, ...]) -> Function:
    rows = ", ".join(f"('{f.name}', '{f.arguments}', '{f.returns}', '{f.does}')" for f in listed)
    body = f'TABLE SELECT * FROM (VALUES {rows}) AS t("function", arguments, returns, description)'  # noqa: S608
    return Function("dp_functions", "", "TABLE", "this list", body=body)
