"""Quantiles in SQL: histograms, what counts as NULL, and what is refused before values are read."""

from collections.abc import Callable, Iterator
from fractions import Fraction

import duckdb
import numpy as np
import pytest

import udfs
from udfs.mechanisms import Quantile
from udfs.privacy import NANO

SURE = 10**6
"""An epsilon at which a rank nearer by a row wins but for a probability below 1e-16 on a narrow lattice."""


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
        (f"dp_quantile([1, 5, 9], [1, 1, 1], 0, 10, 1, 2, 1, {SURE})", 5),
        (f"dp_quantile([9, 1, 5], [1, 1, 7], 0, 10, 1, 2, 1, {SURE})", 5),
        (f"dp_quantile([1, NULL, 5, 9], [1, 100, 1, 1], 0, 10, 1, 2, 1, {SURE})", 5),
        (f"dp_quantile([1, 2, 5, 9], [1, NULL, 1, 1], 0, 10, 1, 2, 1, {SURE})", 5),
        (f"dp_quantile([{-(2**100)}::HUGEINT, 3], [9, 1], 2, 3, 1, 2, 1, {SURE})", 2),
        (f"dp_quantile([-7], [{2**100}::HUGEINT], -9, 9, 1, 3, 4, {SURE})", -7),
        (f"dp_quantile(NULL, NULL, 4, 4, 1, 2, 1, {SURE})", 4),
        (f"dp_extreme([1, 5, 9], [50, 50, 50], 0, 1000, 1, 1, {SURE})", 9),
        (f"dp_extreme([100, 500, 900], [50, 50, 50], 0, 1000, 0, 1, {SURE})", 100),
        (f"dp_quantiles([1, 5, 9], [11, 20, 11], 0, 10, [1, 2, 3], 4, 1, {SURE})", [1, 5, 9]),
        (f"dp_quantiles([9, 1, NULL, 5], [11, 11, 99, 20], 0, 10, [1, 3], 4, 1, {SURE})", [1, 9]),
        (f"dp_quantiles([1, 5, 9], [1, 1, 1], 0, 10, [1], 2, 1, {SURE})", [5]),
        (f"dp_quantiles(NULL, NULL, 4, 4, [1, 2], 3, 1, {SURE})", [4, 4]),
        (f"dp_quantile_bounds([1, 5, 9], [9, 9, 9], 0, 10, 1, 2, 1, {SURE}, 0.95, 5)", [5, 5]),
        (f"dp_quantile_bounds([1, 5, 9], [9, 9, 9], 0, 10, 1, 2, 1, {SURE}, 0.95, 2)", [0, 5]),
        (f"dp_quantile_bounds([1, 5, NULL, 9], [9, 9, 99, 9], 0, 10, 0, 1, 1, {SURE}, 0.95, 3)", [0, 3]),
        (f"dp_quantile_bounds([1, 5, 9], [9, 9, 9], 0, 10, 1, 1, 1, {SURE}, 0.95, 8)", [8, 10]),
        (f"dp_quantile_bounds(NULL, NULL, 0, 10, 1, 2, 1, {SURE}, 0.95, 4)", [0, 10]),
        ("dp_rank_error(0, 1000000, 1, 2, 1, 1, 0.95)", 17),
    ],
)
def test_answers(connection: duckdb.DuckDBPyConnection, call: str, answer: object):
    assert one(connection, f"SELECT {call}") == answer


@pytest.mark.parametrize("lists", ["NULL, NULL", "[1, 2], NULL", "NULL, [77123]", "[], []", "[NULL], [5]"])
def test_no_rows_are_answered_by_any_point(connection: duckdb.DuckDBPyConnection, lists: str):
    sql = f"SELECT list(dp_quantile({lists}, 3, 5, 1, 2, 1, 1)) FROM range(200)"
    assert set(connection.execute(sql).fetchall()[0][0]) == {3, 4, 5}  # false alarm 2e-35


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("dp_quantile([77123], [77123], 0, 9, 1, 2, 1, 0)", "epsilon must be at least 0.001"),
        ("dp_quantile([77123], [77123], 9, 0, 1, 2, 1, 1)", "bounds of a quantile"),
        ("dp_quantile([77123], [77123], 0, 9, 3, 2, 1, 1)", "between 0 and 1"),
        ("dp_quantile([77123], [77123], 0, 9, 1, 0, 1, 1)", "between 0 and 1"),
        ("dp_quantile([77123], [77123], 0, 9, 1, 2, 0, 1)", "rows of one unit"),
        ("dp_quantile([77123], [77123], NULL, 9, 1, 2, 1, 1)", "none of them NULL"),
        ("dp_quantile([77123], [77123], 0, 9, 1, 2, 1, NULL)", "epsilon must be at least 0.001"),
        ("dp_quantile([77123], [77123, 1], 0, 9, 1, 2, 1, 1)", "as many values as counts"),
        ("dp_quantiles([77123], [77123], 0, 9, [2, 1], 3, 1, 1)", "quantiles must rise"),
        ("dp_quantiles([77123], [77123], 0, 9, [], 3, 1, 1)", "needs a list of numerators"),
        ("dp_quantiles([77123], [77123], 0, 9, [1, NULL], 3, 1, 1)", "needs a list of numerators"),
        ("dp_quantiles([77123], [77123], 0, 9, NULL, 3, 1, 1)", "needs a list of numerators"),
        ("dp_quantiles([77123], [77123, 2], 0, 9, [1, 2], 3, 1, 1)", "as many values as counts"),
        ("dp_extreme([77123], [77123], 0, 9, 2, 1, 1)", "between 0 and 1"),
        ("dp_quantile_bounds([77123], [77123], 0, 9, 1, 2, 1, 1, 0.95, NULL)", "need a point"),
        (
            "dp_quantile_bounds([77123], [77123], 0, 9, 1, 2, 1, 1, 1, 5)",
            "confidence must be between 0 and 1",
        ),
        ("dp_quantile_bounds([77123], [1, 2], 0, 9, 1, 2, 1, 1, 0.95, 5)", "as many values as counts"),
        ("dp_rank_error(0, 9, 1, 2, 1, 1, 1)", "confidence must be between 0 and 1"),
    ],
)
def test_wrong_parameters_say_so_without_a_value(
    connection: duckdb.DuckDBPyConnection, call: str, message: str
):
    with pytest.raises(duckdb.InvalidInputException, match=message) as refused:
        connection.execute(f"SELECT {call}").fetchall()
    assert "77123" not in str(refused.value)


def test_values_are_whole_numbers(connection: duckdb.DuckDBPyConnection):
    with pytest.raises(duckdb.BinderException):
        connection.execute("SELECT dp_quantile([1.5], [1], 0, 9, 1, 2, 1, 1)")


def test_each_row_has_its_own_histogram_and_parameters(connection: duckdb.DuckDBPyConnection):
    sql = f"""
        SELECT k % 11, dp_quantile(range(k % 11 + 1), list_transform(range(k % 11 + 1), lambda i: 3),
                                   0, 20, k % 2, 1, 1 + k % 3, {SURE})
        FROM range(3000) t(k)"""
    for row, (most, drawn) in enumerate(connection.execute(sql).fetchall()):
        assert drawn >= most if row % 2 else drawn == 0


def test_each_row_has_its_own_quantiles(connection: duckdb.DuckDBPyConnection):
    sql = f"""
        SELECT k % 11, dp_quantiles([k % 11, 15], [20, 20], 0, 20, if(k % 2 = 0, [1, 3], [1]), 4, 1, {SURE})
        FROM range(3000) t(k)"""
    for row, (value, drawn) in enumerate(connection.execute(sql).fetchall()):
        assert drawn == ([value, 15] if row % 2 == 0 else [value])


def test_each_row_has_its_own_bounds(connection: duckdb.DuckDBPyConnection):
    sql = f"""
        SELECT v, dp_quantile_bounds([v], [20], 0, 20, 1, 2, 1 + k % 2, {SURE}, if(k % 3 = 0, 0.5, 0.9), v)
        FROM (SELECT k, k % 11 AS v FROM range(3000) t(k))"""
    for value, drawn in connection.execute(sql).fetchall():
        assert drawn == [value, value]


def test_rank_errors_by_row(connection: duckdb.DuckDBPyConnection):
    sql = "SELECT dp_rank_error(0, 100, k, 4, 1, 1, if(k < 3, 0.5, 0.95)) FROM range(5) t(k)"
    found = [row[0] for row in connection.execute(sql).fetchall()]
    levels = [Fraction(1, 2) if k < 3 else Fraction(95, 100) for k in range(5)]
    assert found == [Quantile(0, 100, k, 4, 1, NANO).rank_error(levels[k]) for k in range(5)]


@pytest.mark.statistical
def test_draws_follow_the_law(
    connection: duckdb.DuckDBPyConnection, fits: Callable[..., bool]
):  # false alarm 1e-6
    sql = "SELECT dp_quantile([0, 2, 3, 7], [1, 2, 3, 1], 0, 8, 3, 4, 1, 1.5)::BIGINT AS q FROM range(20000)"
    drawn = connection.execute(sql).fetchnumpy()["q"]
    mechanism = Quantile(0, 8, 3, 4, 1, 3 * NANO // 2)
    law = [mechanism.pmf([0, 2, 3, 7], [1, 2, 3, 1], x) for x in range(9)]
    assert fits(np.bincount(drawn, minlength=9), law)
