"""Rows compared with rows, beside rows of people: what PostgreSQL says, and nothing that could fail."""

from collections.abc import Iterator

import duckdb
import pytest

from dpproxy.values.errors import SyntaxRefused, TooComplex, Unsupported
from tests.analysis.rows import compiled, connect, values_of


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with connect() as opened:
        yield opened


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("(age, small) = (5, 1)", "age = 5 AND small = 1"),
        ("(age, small) <> (5, 1)", "age <> 5 OR small <> 1"),
        ("(age, small) < (5, 1)", "age < 5 OR (age = 5 AND small < 1)"),
        ("(age, small) >= (5, 1)", "age > 5 OR (age = 5 AND small >= 1)"),
        ("(age, small) IN ((5, 1), (7, 2))", "(age = 5 AND small = 1) OR (age = 7 AND small = 2)"),
        ("age BETWEEN SYMMETRIC 9 AND 1", "age BETWEEN 1 AND 9"),
    ],
)
def test_they_are_compared_part_by_part(connection: duckdb.DuckDBPyConnection, text: str, same: str):
    found, wanted = compiled(text), compiled(same)
    assert values_of(connection, found.sql) == values_of(connection, wanted.sql)
    assert found.nullable is wanted.nullable


@pytest.mark.parametrize(
    "text", ["(age, small) = (1, 2, 3)", "(age, small) IN (1, 2)", "(age, small) IN ((1, 2), (1, 2, 3))"]
)
def test_rows_of_two_lengths_are_none(text: str):
    with pytest.raises(SyntaxRefused, match="unequal number"):
        compiled(text)


def test_lists_and_rows_that_are_long_are_compiled_or_refused():
    pairs = ", ".join(f"({n}, {n})" for n in range(50))
    assert not compiled(f"(age, age) IN ({pairs})").nullable
    for text in (f"(age, age) IN ({', '.join([pairs] * 80)})", f"({'age, ' * 40}1) < ({'2, ' * 40}1)"):
        with pytest.raises(TooComplex):
            compiled(text)


def test_other_operators_are_refused():
    with pytest.raises(Unsupported, match="rows are compared"):
        compiled("(age, small) IS DISTINCT FROM (1, 2)")
