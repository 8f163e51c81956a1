"""The functions of SQL, on a plain DuckDB connection."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import udfs
from udfs.mechanisms import Staircase
from udfs.pool import Pool
from udfs.privacy import NANO

TOP = 10**38 - 1
SURE = 10**6
"""An epsilon at which noise is zero but for a probability below 1e-18."""


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        udfs.register(connection)
        yield connection


def one(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    return connection.execute(sql).fetchall()[0][0]


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (f"dp_count(5, {SURE})", 5),
        (f"dp_count(epsilon := {SURE}, n := 5)", 5),
        (f"dp_sum(-7, 1000, {SURE})", -7),
        (f"dp_release([1, -2, 3], [1, 10, 100], {SURE})", [1, -2, 3]),
        (f"dp_release([1, NULL], [1, 1], {SURE})", [1, 0]),
        (f"dp_release(NULL, [1, 1], {SURE})", [0, 0]),
        (f"dp_release([NULL], [1], {SURE})", [0]),
        (f"dp_count(NULL::BIGINT, {SURE})", 0),
        (
            f"dp_release([{TOP}::HUGEINT, -{TOP}::HUGEINT, {2**100}::HUGEINT], [1, 1, 1], {SURE})",
            [TOP, -TOP, 2**100],
        ),
        (f"dp_release([{2**127 - 1}::HUGEINT], [1], {SURE})", [TOP]),
        (f"dp_release([4, 5], [0, 1], {SURE})", [0, 5]),
        (f"dp_sum({2**90}::HUGEINT, 5, {SURE})", 2**90),
        (f"dp_laplace(-7, 1000, {SURE})", -7),
        (f"dp_laplace([4, NULL, 6], [0, 1, 2], {SURE})", [0, 0, 6]),
        (f"dp_gaussian(-7, 1, {SURE})", -7),
        (f"dp_gaussian([4, NULL, 6], [0, 1, 2], {SURE})", [0, 0, 6]),
        (f"dp_interval(100, 10, {SURE}, 0.95)", {"low": 100, "high": 100}),
    ],
)
def test_answers(connection: duckdb.DuckDBPyConnection, call: str, answer: object):
    assert one(connection, f"SELECT {call}") == answer


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("dp_count(77123, 0)", "epsilon must be at least 0.001"),
        ("dp_count(77123, -1)", "epsilon must be at least 0.001"),
        ("dp_count(77123, 0.000999999)", "epsilon must be at least 0.001"),
        ("dp_count(77123, NULL)", "epsilon must be at least 0.001"),
        ("dp_sum(77123, -1, 1)", "a sensitivity must be a whole number"),
        ("dp_sum(77123, NULL, 1)", "every row needs a list of sensitivities"),
        ("dp_release([77123], NULL::HUGEINT[], 1)", "every row needs a list of sensitivities"),
        ("dp_release([77123], [], 1)", "every row needs a list of sensitivities"),
        ("dp_release([77123], [1, 2], 1)", "as many values as sensitivities"),
        ("dp_release([77123], [170141183460469231731687303715884105727], 1)", "a sensitivity must be"),
        ("dp_noise_sd(NULL, 1)", "a sensitivity must be"),
        ("dp_laplace(77123, 1, 0)", "epsilon must be at least 0.001"),
        ("dp_laplace(77123, -1, 1)", "a sensitivity must be a whole number"),
        ("dp_gaussian(77123, 1, 0)", "rho must be at least 0.000000001"),
        ("dp_gaussian(77123, NULL, 1)", "every row needs a list of sensitivities"),
        ("dp_gaussian([77123], [1, 2], 1)", "as many values as sensitivities"),
        ("dp_sum(77123.5, -1.5, 1)", "a sensitivity must be a finite number"),
        ("dp_sum(77123.5, 'nan'::DOUBLE, 1)", "a sensitivity must be a finite number"),
        ("dp_laplace(77123.5, 'inf'::DOUBLE, 1)", "a sensitivity must be a finite number"),
        ("dp_release([77123.5], NULL::DOUBLE[], 1)", "every row needs a list of sensitivities"),
        ("dp_half_width(1, 1, 1.5)", "confidence must be between 0 and 1"),
        ("dp_half_width(1, 1, NULL)", "confidence must be between 0 and 1"),
    ],
)
def test_wrong_parameters_say_so_without_a_value(
    connection: duckdb.DuckDBPyConnection, call: str, message: str
):
    with pytest.raises(duckdb.InvalidInputException, match=message) as refused:
        connection.execute(f"SELECT {call}").fetchall()
    assert "77123" not in str(refused.value)


@pytest.mark.parametrize(
    "call",
    ["dp_count(3.5, 1.0)", "dp_count(3, 1e0)", "dp_sum('3'::VARCHAR, 1, 1)", "dp_gaussian(true, 1, 1)"],
)
def test_nothing_is_rounded_in_silence(connection: duckdb.DuckDBPyConnection, call: str):
    with pytest.raises(duckdb.BinderException):
        connection.execute(f"SELECT {call}")


def test_parameters_are_checked_before_values(connection: duckdb.DuckDBPyConnection):
    with pytest.raises(duckdb.InvalidInputException, match="epsilon"):
        connection.execute("SELECT dp_release([1, 2, 3], [1], 0)").fetchall()


def test_lengths_are_compared_row_by_row(connection: duckdb.DuckDBPyConnection):
    sql = "SELECT dp_release(if(k = 0, [1], [1, 2]), if(k = 1, [1], [1, 2]), 1) FROM range(2) t(k)"
    with pytest.raises(duckdb.InvalidInputException, match="as many values"):
        connection.execute(sql).fetchall()


def test_planning_functions(connection: duckdb.DuckDBPyConnection):
    mechanism = Staircase.best((10,), NANO // 2)
    assert one(connection, "SELECT dp_noise_sd(10, 0.5)") == pytest.approx(mechanism.noise_sd()[0])
    assert one(connection, "SELECT dp_half_width(10, 0.5, 0.95)") == mechanism.half_width(0.95)[0]
    assert one(connection, f"SELECT dp_half_width({TOP}::HUGEINT, 0.001, 0.95)") == TOP


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("dp_sum(5.25, 2, {})", 5.25),
        ("dp_sum(NULL::DOUBLE, 2, {})", 0.0),
        ("dp_sum('nan'::DOUBLE, 2, {})", 0.0),
        ("dp_release([1.5, -7.25, 3], [2.5, 0.001, 0], {})", [1.5, -7.25, 0.0]),
        ("dp_release(NULL::DOUBLE[], [1.5, 2], {})", [0.0, 0.0]),
        ("dp_laplace(1e15, 2e13, {})", 1e15),
        ("dp_laplace([1e-9, 3], [2.5e-10, 1], {})", [1e-9, 3]),
        ("dp_gaussian(-3.75, 1e-3, {})", -3.75),
    ],
)
def test_doubles_are_answered_on_a_lattice(connection: duckdb.DuckDBPyConnection, call: str, answer: object):
    """Noise at this loss stays within 1e-4 of the sensitivity, at most 3: false alarm below 1e-15."""
    assert one(connection, f"SELECT {call.format(SURE)}") == pytest.approx(answer, rel=2e-5, abs=3e-4)


def test_a_released_double_is_a_multiple_of_the_lattice_step(connection: duckdb.DuckDBPyConnection):
    """For a sensitivity of 1 the step is 2**-30, whatever the digits of the number."""
    sql = "SELECT dp_sum(k / 3.0::DOUBLE, 1.0::DOUBLE, 0.5) FROM range(1000) t(k)"
    for (released,) in connection.execute(sql).fetchall():
        assert (released * 2**30).is_integer()


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("call", "sd"),
    [
        ("dp_laplace(0, 1000, 1)", 1414.2),
        ("dp_laplace(0.0, 1000, 1)", 1414.2),
        ("dp_laplace([0, 0], [1, 1000], 1)[2]", 2828.4),
        ("dp_gaussian(0, 1000, 0.5)", 1000.0),
        ("dp_gaussian(0.0, 1000, 0.5)", 1000.0),
        ("dp_gaussian([0, 0], [1, 1000], 0.5)[2]", 1414.2),
        ("dp_sum(0.0, 1000, 1)", 1385.0),
    ],
)
def test_noise_is_of_the_right_size(connection: duckdb.DuckDBPyConnection, call: str, sd: float):
    """20,000 draws: their variance is within 0.1 of itself but for a probability below 1e-6 (kurtosis at most 6)."""
    variance = one(connection, f"SELECT var_pop(({call})::DOUBLE) FROM range(20000)")
    assert variance == pytest.approx(sd**2, rel=0.1)


def test_registering_again_and_from_a_cursor(connection: duckdb.DuckDBPyConnection):
    udfs.register(connection)
    with connection.cursor() as cursor:
        udfs.register(cursor)
        assert one(cursor, f"SELECT dp_count(5, {SURE})") == 5


def test_a_cursor_has_the_functions_over_whole_numbers(connection: duckdb.DuckDBPyConnection):
    with connection.cursor() as cursor:
        for name in ("dp_release", "dp_laplace", "dp_gaussian"):
            assert one(cursor, f"SELECT {name}([4, -5], [1, 1], {SURE})") == [4, -5]


def test_a_pool_of_ones_own():
    pool = Pool()
    with duckdb.connect() as connection:
        udfs.register(connection, pool)
        connection.execute("SELECT dp_release([1], [3], 0.25)").fetchall()
    assert list(pool._shelves) == [Staircase.best((3,), NANO // 4)]
    pool.close()


def test_every_row_draws_anew(connection: duckdb.DuckDBPyConnection):
    sql = "SELECT dp_sum(0, 1000000000, 0.01) FROM range(5000)"
    drawn = [row[0] for row in connection.execute(sql).fetchall()]
    assert len(set(drawn)) > 4990  # all different but for a probability below 1e-20


def test_a_released_table_is_what_having_and_filters_see(connection: duckdb.DuckDBPyConnection):
    connection.execute("CREATE TEMP TABLE exact AS SELECT k, 100 AS n FROM range(3000) t(k)")
    connection.execute("CREATE TEMP TABLE released AS SELECT k, dp_count(n, 0.1) AS n FROM exact")
    first = connection.execute("SELECT k, n FROM released WHERE n > 100 ORDER BY k").fetchall()
    assert first == connection.execute("SELECT k, n FROM released WHERE n > 100 ORDER BY k").fetchall()
    assert all(n > 100 for _, n in first)
    assert 0 < len(first) < 3000


def test_rows_of_many_parameters(connection: duckdb.DuckDBPyConnection):
    """Lengths, sensitivities and epsilons mixed within one chunk, NULL lists among them."""
    sql = f"""
        SELECT k, dp_release(
            CASE WHEN k % 5 = 0 THEN NULL WHEN k % 2 = 0 THEN [k] ELSE [k, -k] END,
            CASE WHEN k % 2 = 0 THEN [k % 3] ELSE [1, k % 7 + 1] END,
            {SURE} + k % 2)
        FROM range(5000) t(k)"""
    for k, released in connection.execute(sql).fetchall():
        exact = [k] if k % 2 == 0 else [k, -k]
        if k % 5 == 0 or (k % 2 == 0 and k % 3 == 0):
            exact = [0] * len(exact)
        assert released == exact


def test_no_rows(connection: duckdb.DuckDBPyConnection):
    assert connection.execute("SELECT dp_count(k, 1) FROM range(0) t(k)").fetchall() == []


@pytest.mark.statistical
def test_noise_is_joint_and_of_the_right_size(connection: duckdb.DuckDBPyConnection):
    connection.execute(
        "CREATE TEMP TABLE t AS SELECT dp_release([0, 0], [10, 1000], 1) AS r FROM range(20000)"
    )
    a, b = connection.execute("SELECT var_pop(r[1]::DOUBLE), var_pop(r[2]::DOUBLE) FROM t").fetchall()[0]
    wanted = [float(v) for v in Staircase.best((10, 1000), NANO).variance()]
    # The variance of 20,000 draws is within 0.1 of itself but for a probability below 1e-6 (kurtosis below 6).
    assert a == pytest.approx(wanted[0], rel=0.1)
    assert b == pytest.approx(wanted[1], rel=0.1)


def test_on_a_read_only_locked_database(tmp_path: Path):
    path = str(tmp_path / "data.duckdb")
    duckdb.connect(path).close()
    with duckdb.connect(path, read_only=True) as connection:
        udfs.register(connection)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        assert one(connection, f"SELECT dp_count(5, {SURE})") == 5
