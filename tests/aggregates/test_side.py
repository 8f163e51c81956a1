from fractions import Fraction

import pytest
from sqlglot import exp

from dpproxy.aggregates.argument import argument
from dpproxy.aggregates.side import ROOT_BITS, Side, products
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.values.pgtypes import INT8
from tests.empty import empty

WIDE = [
    (0, 1), (-3, 4), (0, 2**31), (-(2**30), 2**30), (0, 2**31 + 1), (5, 2**33 + 6), (-(2**61), 2**61), (0, 2**61 - 1),
    (-7, 2**47 + 123),
]  # fmt: skip


def side(low: int, high: int, name: str = "x") -> Side:
    return Side(argument(exp.column(name), Typed(duck.column(name), INT8, 0, Fraction(low), Fraction(high))))


def near(low: int, high: int, step: int) -> list[int]:
    """The ends, the middle, and what lies around them."""
    middle = (low + high) // 2
    around = {v + d for v in (low, middle, high) for d in (-step, -(step // 2), -1, 0, 1, step // 2, step)}
    return sorted(v for v in around if low <= v <= high)


def each(expression: str, values: list[int]) -> list[int]:
    with empty() as connection:
        connection.execute("CREATE TABLE t (x BIGINT)")
        connection.executemany("INSERT INTO t VALUES (?)", [[v] for v in values])
        return [int(v) for (v,) in connection.execute(f"SELECT {expression} FROM t ORDER BY x").fetchall()]


@pytest.mark.parametrize(("low", "high"), WIDE)
def test_steps_are_rounded_and_stay_within_reach(low: int, high: int):
    found = side(low, high)
    assert found.reach <= 2**ROOT_BITS
    size = 2**found.shift
    values = near(low, high, size)
    steps = each(duck.text(found.steps), values)
    centre = found.argument.centre
    assert steps == [(v - centre + size // 2) // size for v in values]
    assert max(map(abs, steps)) == found.reach
    assert steps == sorted(steps)


@pytest.mark.parametrize(("low", "high"), WIDE)
def test_one_row_moves_no_sum_further_than_its_width(low: int, high: int):
    found = side(low, high)
    values = near(low, high, 2**found.shift)
    for measure in (found.total, found.squares, products(found, found)):
        moves = each(duck.text(measure.sql).removeprefix("SUM"), values)
        assert max(map(abs, moves)) == measure.width


def test_the_squares_are_centred():
    squares = side(-10, 10).squares
    shown = 'SUM(((CAST("x" AS BIGINT) * CAST("x" AS BIGINT)) - 50))'
    assert (duck.text(squares.sql), squares.width) == (shown, 50)
    assert side(0, 100).squares.width == 1250
    assert side(3, 3).squares.width == 1


def test_shape():
    found = side(0, 2**32)
    assert (found.shift, found.unit, found.radius, found.reach) == (2, 4, 2**29, 2**29)
    assert found.centre == 2.0**29
    assert found.total.width == found.reach
    fine = side(0, 10)
    assert (fine.shift, fine.unit, fine.radius, fine.centre) == (0, 1, 5.0, 5.0)


def test_sums_of_a_billion_rows_fit_128_bits():
    found = side(-(2**61), 2**61)
    for measure in (found.squares, products(found, found)):
        assert measure.width * 2**60 < 2**127
        assert measure.width < 2**62
