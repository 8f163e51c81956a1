"""Whatever a column holds, and whatever its type: no function of SQL quotes a value, and none rounds one silently."""

from collections.abc import Iterator

import duckdb
import pytest

import udfs
from udfs.mechanisms import Staircase
from udfs.pool import Pool

CALLS = (
    "dp_count({0}, 0.5)",
    "dp_sum({0}, 99, 0.5)",
    "dp_sum({0}, 99.5, 0.5)",
    "dp_shortest({0}, 99, 0.5)",
    "dp_shortest([{0}, {0}], [99.5, 1], 0.5)",
    "dp_laplace({0}, 99, 0.5)",
    "dp_laplace({0}, 99.5, 0.5)",
    "dp_gaussian({0}, 99, 0.5)",
    "dp_gaussian({0}, 99.5, 0.5)",
    "dp_release([{0}, {0}], [99, 1], 0.5)",
    "dp_release([{0}, {0}], [99.5, 1], 0.5)",
    "dp_laplace([{0}, {0}], [99, 1], 0.5)",
    "dp_laplace([{0}, {0}], [99.5, 1], 0.5)",
    "dp_gaussian([{0}, {0}], [99, 1], 0.5)",
    "dp_gaussian([{0}, {0}], [99.5, 1], 0.5)",
    "dp_interval({0}, 99, 0.5, 0.95)",
    "dp_choose([{0}, {0}], 2, 1, 0.5)",
    "dp_exponential(['a', 'b'], [{0}, {0}], 1, 0.5)",
    "dp_quantile([{0}], [{0}], 0, 9, 1, 2, 1, 0.5)",
    "dp_quantiles([{0}], [{0}], 0, 9, [1, 2], 3, 1, 0.5)",
    "dp_quantile_bounds([{0}], [{0}], 0, 9, 1, 2, 1, 0.5, 0.95, 4)",
    "dp_extreme([{0}], [{0}], 0, 9, 1, 1, 0.5)",
    "dp_select({0}, 1, 0.5, 1e-6)",
    "dp_refine({0}, 'normal(44, 6)', 0.5, 'statistical')",
    "dp_refine({0}, 'nominal([1, 2], [1, 1])', 0.5, 'individual')",
    "dp_refine_label({0}, 'nominal([\"a\", \"b\"], [1, 1])', 0.5, 'statistical')",
)
"""Every function that takes a number or a text from rows, {0}."""
NO_NUMBERS = {
    "dp_half_width", "dp_noise_sd", "dp_prior", "dp_rank_error", "dp_refine_error", "dp_threshold",
}  # fmt: skip
"""Every function that takes public parameters only."""
VALUES = {
    "DOUBLE": ("7.123e300", "-7.123e300", "71.25", "'NaN'", "'infinity'", "'-infinity'", "NULL"),
    "FLOAT": ("7.123e30", "'NaN'", "'-infinity'", "NULL"),
    "VARCHAR": ("'7123x'", "'7123'", "''", "NULL"),
    "DECIMAL(38, 4)": ("7123456789012345678901234567890123.7123", "NULL"),
    "DECIMAL(38, 0)": ("71234567890123456789012345678901234567", "NULL"),
    "UHUGEINT": ("340282366920938463463374607431768211455", "NULL"),
    "HUGEINT": ("170141183460469231731687303715884105727", "NULL"),
    "BIGINT": ("9223372036854775807", "NULL"),
    "BOOLEAN": ("TRUE", "NULL"),
    "DATE": ("DATE '7123-01-01'", "NULL"),
    "JSON": ("'7123'", "NULL"),
}
TOLD = ("7123", "71.25", "3402823669", "1701411834", "9223372036854775807", "nan", "inf'", "inf ", "infinity")


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        udfs.register(connection)
        yield connection


def test_every_function_is_fed(connection: duckdb.DuckDBPyConnection):
    listed = {name for (name,) in connection.sql("SELECT DISTINCT function FROM dp_functions()").fetchall()}
    assert {call.split("(")[0] for call in CALLS} | NO_NUMBERS == listed


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("place", ["x", "max(x)", "first(x)"])
def test_no_message_holds_a_value(connection: duckdb.DuckDBPyConnection, kind: str, place: str):
    """In a column, whose type a macro knows, and in an aggregate, whose type it does not."""
    for value in VALUES[kind]:
        connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT {value}::{kind} AS x")
        for call in CALLS:
            told = refusal(connection, f"SELECT {call.format(place)} FROM t")
            assert not any(word in told for word in TOLD), call


def refusal(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """What is said of the types before any row is read; empty where the query is answered."""
    try:
        connection.execute(query).fetchall()
    except duckdb.BinderException as error:
        return str(error).lower()
    return ""


def test_what_is_not_whole_is_not_rounded_to_whole_numbers(connection: duckdb.DuckDBPyConnection):
    """A difference of 99 that is rounded to 100 would cost more than was said."""
    for aggregate in ("x", "max(x)"):
        for kind in ("DOUBLE", "FLOAT", "DECIMAL(10, 2)"):
            connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT 1.5::{kind} AS x")
            for name in ("dp_sum", "dp_laplace", "dp_gaussian"):
                [(one, several)] = connection.sql(
                    f"SELECT typeof({name}({aggregate}, 99, 0.5)), "
                    f"typeof({name.replace('sum', 'release')}([{aggregate}], [99], 0.5)) FROM t"
                ).fetchall()
                assert (one, several) in {("DOUBLE", "DOUBLE[]"), ("FLOAT", "FLOAT[]")}


def test_whole_numbers_stay_exact(connection: duckdb.DuckDBPyConnection):
    """At epsilon 50 noise of 0 has a probability above 1 - 1e-20."""
    number = 2**100 + 1
    for kind in ("HUGEINT", "BIGINT", "UTINYINT"):
        held = number if kind == "HUGEINT" else 200 if kind == "UTINYINT" else 2**62 + 1
        connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT {held}::{kind} AS x")
        calls = "dp_sum(max(x), 1, 50), dp_laplace(x, 1, 50), dp_release([max(x), 7], [1, 1], 100)"
        assert connection.sql(f"SELECT {calls} FROM t GROUP BY x").fetchall() == [(held, held, [held, 7])]


def test_a_whole_sensitivity_is_never_less_as_a_double():
    """2^53 + 1 is no DOUBLE: the next above is taken, so that noise is for as much as was said."""
    pool = Pool()
    with duckdb.connect() as own:
        udfs.register(own, pool)
        own.sql("SELECT dp_sum(1.5::DOUBLE, 9007199254740993, 1)").fetchall()
    [mechanism] = pool._shelves
    assert isinstance(mechanism, Staircase)
    assert mechanism.widths == (2**30 + 1,)
    pool.close()
