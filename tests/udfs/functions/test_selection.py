"""Selection in SQL: counts, what counts as NULL, and what is refused before counts are read."""

from collections.abc import Callable, Iterator
from fractions import Fraction

import duckdb
import numpy as np
import pytest

import udfs
from udfs.mechanisms import Selection
from udfs.privacy import NANO


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
        ("dp_select(0, 1, 1, 1e-5)", False),
        ("dp_select(-5, 1, 1, 1e-5)", False),
        ("dp_select(NULL, 1, 1, 0.5)", False),
        ("dp_select(23, 1, 1, 1e-5)", True),
        (f"dp_select({2**100}::HUGEINT, 1, 1, 0.00001)", True),
        ("dp_threshold(1, 1, 1e-5)", 12),
        ("dp_threshold(10, 1, 1e-5)", Selection(10, NANO, Fraction(1, 10**5)).threshold),
    ],
)
def test_answers(connection: duckdb.DuckDBPyConnection, call: str, answer: object):
    assert one(connection, f"SELECT {call}") == answer


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("dp_select(77123, 1, 0, 1e-5)", "epsilon must be at least 0.001"),
        ("dp_select(77123, 1, NULL, 1e-5)", "epsilon must be at least 0.001"),
        ("dp_select(77123, 0, 1, 1e-5)", "0.0001 for each group"),
        ("dp_select(77123, NULL, 1, 1e-5)", "needs the most groups"),
        ("dp_select(77123, 1, 1, 0)", "delta must be between 0 and 1"),
        ("dp_select(77123, 1, 1, 1)", "delta must be between 0 and 1"),
        ("dp_select(77123, 1, 1, 'nan'::DOUBLE)", "delta must be between 0 and 1"),
        ("dp_select(77123, 1, 1, NULL)", "delta must be between 0 and 1"),
        ("dp_select(77123, 1, 1, 1e-30)", "at least 10\\^-24 for each group"),
        ("dp_threshold(1, 1, 2)", "delta must be between 0 and 1"),
    ],
)
def test_wrong_parameters_say_so_without_a_count(
    connection: duckdb.DuckDBPyConnection, call: str, message: str
):
    with pytest.raises(duckdb.InvalidInputException, match=message) as refused:
        connection.execute(f"SELECT {call}").fetchall()
    assert "77123" not in str(refused.value)


def test_each_row_has_its_own_parameters(connection: duckdb.DuckDBPyConnection):
    sql = """
        SELECT dp_select(if(k % 2 = 0, 23, 22), 1, if(k % 3 = 0, 1, 2), if(k % 5 = 0, 1e-5, 1e-4)),
               dp_threshold(1, if(k % 3 = 0, 1, 2), if(k % 5 = 0, 1e-5, 1e-4))
        FROM range(3000) t(k)"""
    rows = connection.execute(sql).fetchall()
    assert all(kept for kept, _ in rows[::2])
    for k in (0, 1, 5, 3):
        delta = Fraction(1, 10**5 if k % 5 == 0 else 10**4)
        assert rows[k][1] == Selection(1, NANO if k % 3 == 0 else 2 * NANO, delta).threshold
    assert connection.execute("SELECT dp_select(1, 1, 1, 0.1) FROM range(0)").fetchall() == []


@pytest.mark.statistical
def test_decisions_follow_the_law(
    connection: duckdb.DuckDBPyConnection, fits: Callable[..., bool]
):  # false alarm 1e-6 each, for 3 counts
    selection = Selection(2, NANO, Fraction(1, 100))
    for count in (4, 6, 7):
        sql = f"SELECT dp_select({count}, 2, 1, 0.01) AS kept FROM range(20000)"
        kept = int(np.sum(connection.execute(sql).fetchnumpy()["kept"]))
        p = selection.keep_probability(count)
        assert fits([kept, 20_000 - kept], [p, 1 - p])
