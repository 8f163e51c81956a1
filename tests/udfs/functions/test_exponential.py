"""Choices in SQL: the candidates, what counts as NULL, and what is refused before scores are read."""

from collections.abc import Callable, Iterator

import duckdb
import numpy as np
import pytest

import udfs
from udfs.mechanisms import Exponential
from udfs.privacy import NANO

SURE = 10**6
"""An epsilon at which a better score wins but for a probability below 1e-18."""


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
        (f"dp_choose([3, 5, 4], 3, 1, {SURE})", 2),
        (f"dp_choose([NULL, -1], 2, 1, {SURE})", 1),
        (f"dp_choose([NULL, 1], 2, 1, {SURE})", 2),
        (f"dp_choose([{-(2**100)}::HUGEINT, {2**100}::HUGEINT], 2, 1, {SURE})", 2),
        (f"dp_exponential(['a', 'b', 'c'], [3, 5, 4], 1, {SURE})", "b"),
        (f"dp_exponential([DATE '2020-01-01', NULL], [1, 2], 1, {SURE})", None),
        (f"dp_exponential([1.5], [7], 3, {SURE})", 1.5),
        ("dp_exponential(epsilon := 1, sensitivity := 1, scores := [1], candidates := [8])", 8),
    ],
)
def test_answers(connection: duckdb.DuckDBPyConnection, call: str, answer: object):
    assert one(connection, f"SELECT {call}") == answer


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("dp_choose([77123], 1, 1, 0)", "epsilon must be at least 0.001"),
        ("dp_choose([77123], 1, 1, NULL)", "epsilon must be at least 0.001"),
        ("dp_choose([77123], 1, 0, 1)", "twice the sensitivity"),
        ("dp_choose([77123], 1, NULL, 1)", "needs the sensitivity"),
        ("dp_choose([77123], NULL, 1, 1)", "needs a list of candidates"),
        ("dp_choose([77123], 0, 1, 1)", "at least one candidate"),
        ("dp_choose([77123], 2, 1, 1)", "as many scores as candidates"),
        ("dp_exponential(c, [77123], 1, 1) FROM (VALUES (NULL::INT[])) t(c)", "needs a list of candidates"),
        ("dp_exponential([], [77123], 1, 1)", "at least one candidate"),
        ("dp_exponential(['a', 'b'], [77123], 1, 0)", "epsilon must be at least 0.001"),
    ],
)
def test_wrong_parameters_say_so_without_a_score(
    connection: duckdb.DuckDBPyConnection, call: str, message: str
):
    with pytest.raises(duckdb.InvalidInputException, match=message) as refused:
        connection.execute(f"SELECT {call}").fetchall()
    assert "77123" not in str(refused.value)


def test_scores_are_whole_numbers(connection: duckdb.DuckDBPyConnection):
    with pytest.raises(duckdb.BinderException):
        connection.execute("SELECT dp_choose([1.5], 1, 1, 1)")


def test_each_row_has_its_own_parameters_and_list(connection: duckdb.DuckDBPyConnection):
    sql = f"""
        SELECT dp_choose(list_transform(range(k % 5 + 1), lambda i: if(i = k % 3, 1000, 0)), k % 5 + 1,
                         if(k % 2 = 0, 1, 2), if(k % 7 = 0, {SURE}, {SURE - 1})) AS c, k % 3 AS best, k % 5 AS last
        FROM range(5000) t(k)"""
    rows = connection.execute(sql).fetchall()
    assert all(chosen == best + 1 for chosen, best, last in rows if best <= last)
    assert all(1 <= chosen <= last + 1 for chosen, _, last in rows)


def test_no_rows(connection: duckdb.DuckDBPyConnection):
    assert connection.execute("SELECT dp_choose([1], 1, 1, 1) FROM range(0)").fetchall() == []


@pytest.mark.statistical
def test_draws_follow_the_law(
    connection: duckdb.DuckDBPyConnection, fits: Callable[..., bool]
):  # false alarm 2e-6; a list of NULL is one of zeros
    sql = "SELECT dp_choose(if(k < 20000, [4, 6, 5], NULL), 3, 2, 1.5) AS c FROM range(40000) t(k)"
    chosen = connection.execute(sql).fetchnumpy()["c"] - 1
    mechanism = Exponential.of(2, 3 * NANO // 2)
    for drawn, scores in ((chosen[:20_000], [4, 6, 5]), (chosen[20_000:], [0, 0, 0])):
        assert fits(np.bincount(drawn, minlength=3), [mechanism.pmf(scores, i) for i in range(3)])
