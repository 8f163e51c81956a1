"""Random expressions against the engine over extreme rows: never an error, never outside the bounds, one meaning."""

import math
from fractions import Fraction

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings

from dpproxy.aggregates.argument import argument
from dpproxy.analysis.typed import Typed
from dpproxy.values.errors import Internal, Refusal
from tests.analysis import grammar
from tests.analysis.rows import SIZE, compiled, connect, node_of, value_of, values_of

CHECKS = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.fixture(scope="module")
def rows():
    connection = connect()
    yield connection
    connection.close()


def attempt(text: str) -> Typed | None:
    try:
        return compiled(text)
    except Internal:
        raise
    except Refusal:
        return None


def check_steps(rows: duckdb.DuckDBPyConnection, text: str, typed: Typed) -> None:
    """An aggregate's argument is whole steps inside its own bounds, NULL only where it may be."""
    try:
        built = argument(node_of(text), typed)
    except Refusal:
        return
    for steps in values_of(rows, built.sql):
        assert (steps is None and typed.nullable) or built.low <= steps <= built.high
    assert all(v is None or abs(v) <= built.centred_width for v in values_of(rows, built.centred))


@CHECKS
@given(drawn=grammar.drawn("n"))
def test_exact_numbers_mean_what_postgresql_says(rows: duckdb.DuckDBPyConnection, drawn: grammar.Drawn):
    typed = attempt(drawn.text)
    if typed is None:
        return
    held = values_of(rows, typed.sql)
    for row in range(SIZE):
        value = value_of(held[row], typed)
        if value is None:
            assert typed.nullable
        if typed.scale is not None:
            assert value == drawn.on(row)
            assert value is None or typed.low is None or typed.low <= value
            assert value is None or typed.high is None or value <= typed.high
    check_steps(rows, drawn.text, typed)


@CHECKS
@given(drawn=grammar.drawn("b"))
def test_conditions_mean_what_postgresql_says(rows: duckdb.DuckDBPyConnection, drawn: grammar.Drawn):
    typed = attempt(drawn.text)
    if typed is None:
        return
    held = values_of(rows, typed.sql)
    assert held == [drawn.on(row) for row in range(SIZE)]
    assert typed.nullable or None not in held


@CHECKS
@given(drawn=grammar.drawn("t"))
def test_texts_mean_what_postgresql_says(rows: duckdb.DuckDBPyConnection, drawn: grammar.Drawn):
    typed = attempt(drawn.text)
    if typed is None:
        return
    held = values_of(rows, typed.sql)
    assert held == [drawn.on(row) for row in range(SIZE)]
    assert typed.longest is not None
    assert all(len(v) <= typed.longest for v in held if v is not None)


@CHECKS
@given(drawn=grammar.drawn("d") | grammar.drawn("s"))
def test_dates_mean_what_postgresql_says(rows: duckdb.DuckDBPyConnection, drawn: grammar.Drawn):
    typed = attempt(drawn.text)
    if typed is None:
        return
    held = values_of(rows, typed.sql)
    assert held == [drawn.on(row) for row in range(SIZE)]
    assert typed.nullable or None not in held
    assert all(typed.first <= v <= typed.last for v in held if v is not None)


@CHECKS
@given(drawn=grammar.drawn("i") | grammar.drawn("m"))
def test_moderate_numbers_mean_what_postgresql_says(rows: duckdb.DuckDBPyConnection, drawn: grammar.Drawn):
    typed = attempt(drawn.text)
    if typed is None or typed.scale is None:
        return
    held = [value_of(v, typed) for v in values_of(rows, typed.sql)]
    assert held == [drawn.on(row) for row in range(SIZE)]
    assert typed.nullable or None not in held
    assert all(typed.low <= v <= typed.high for v in held if v is not None and typed.bounded)


@pytest.mark.parametrize(
    "text",
    [
        "least(greatest(sqrt(real4), -5), 1e6)",
        "least(sqrt(real4), 1000000)",
        "5 - least(sqrt(real4), 1000)",
        "least(CAST(sqrt(real4) AS numeric), 1000)",
        "width_bucket(5 - least(sqrt(real4), 1000), -30, 5, 1000)",
    ],
)
def test_what_is_no_number_is_at_its_bound_and_not_passed_over(rows: duckdb.DuckDBPyConnection, text: str):
    typed = attempt(text)
    assert typed is not None
    held = [v for v in values_of(rows, typed.sql) if v is not None]
    assert len(held) > SIZE / 2
    assert all(typed.low <= Fraction(v) <= typed.high for v in held)


@CHECKS
@given(drawn=grammar.drawn("f"))
def test_floats_never_fail_and_their_steps_stay_inside(rows: duckdb.DuckDBPyConnection, drawn: grammar.Drawn):
    typed = attempt(drawn.text)
    if typed is None:
        return
    for value in values_of(rows, typed.sql):
        assert value is not None or typed.nullable
        if typed.scale is None and value is not None and math.isfinite(value) and typed.bounded:
            slack = max(abs(typed.low or 0), abs(typed.high or 0)) / Fraction(2**40)
            assert typed.low - slack <= Fraction(value) <= typed.high + slack
    check_steps(rows, drawn.text, typed)
