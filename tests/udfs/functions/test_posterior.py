"""Posteriors from SQL."""

import duckdb
import pytest

import udfs


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    udfs.register(found)
    return found


def test_each_row_has_its_own_law(connection: duckdb.DuckDBPyConnection):
    rows = connection.sql(
        "SELECT _dp_posterior('normal(44, 6)', v, s, 0.0, 0.0, b, 2000) FROM "
        "(VALUES (50.0, 3.0, true), (50.0, 1e9, true), (50.0, 1e-6, false)) AS t(v, s, b)"
    ).fetchall()
    assert [r[0] for r in rows] == [
        pytest.approx(48.8, abs=0.01),
        pytest.approx(44, abs=0.01),
        pytest.approx(50),
    ]


def test_a_draw_far_out_is_rare(connection: duckdb.DuckDBPyConnection):
    [(far, near)] = connection.sql(
        "SELECT _dp_surprise('normal(44, 6)', 200.0, 3.0, 0.0, 0.0, false), "
        "_dp_surprise('normal(44, 6)', 44.0, 3.0, 0.0, 0.0, false)"
    ).fetchall()
    assert far < 1e-6
    assert near > 0.9


@pytest.mark.parametrize(
    "call",
    [
        "_dp_posterior('nominal([\"a\"], [1])', 1.0, 1.0, 0.0, 0.0, false, 9)",
        "_dp_posterior(NULL, 1.0, 1.0, 0.0, 0.0, false, 9)",
        "_dp_surprise('normal(', 1.0, 1.0, 0.0, 0.0, false)",
    ],
)
def test_what_is_no_prior_over_numbers_is_refused(connection: duckdb.DuckDBPyConnection, call: str):
    with pytest.raises(duckdb.Error, match="prior"):
        connection.sql(f"SELECT {call}").fetchall()


def test_they_are_not_listed(connection: duckdb.DuckDBPyConnection):
    listed = connection.sql('SELECT "function" FROM dp_functions()').fetchall()
    assert not any("posterior" in name for (name,) in listed)
