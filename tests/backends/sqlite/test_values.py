"""What is known of a value's bounds in SQLite decides which operations are its own, and which are refused."""

import sqlite3
from fractions import Fraction

import pytest

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Reach, Value, ValueKind
from dpproxy.backends.sqlite import values
from dpproxy.backends.sqlite.functions import register
from dpproxy.values.errors import Unsupported


def number(text: str) -> Value:
    return values.number(nodes.Number(text), ())


def computed(value: Value) -> Fraction:
    with sqlite3.connect(":memory:") as connection:
        register(connection)
        [found] = connection.execute(f"SELECT {value.sql}").fetchone()
    connection.close()
    return Fraction(int(found), 10**value.scale)


@pytest.mark.parametrize(
    "first", ["0", "1.5", "9223372036854775807", "9223372036854775808", f"{'9' * 30}.25"]
)
@pytest.mark.parametrize("second", ["3", "0.001", "170141183460469231731687303715884105727"])
def test_arithmetic_of_exact_numbers_is_exact_in_any_size(first: str, second: str):
    a, b = number(first), number(second)
    for sign, wanted in (("+", "__add__"), ("-", "__sub__"), ("*", "__mul__")):
        if {a.kind, b.kind} == {ValueKind.WHOLE}:
            continue  # of 64 bits the planner has excluded what overflows
        found = computed(values.exact(sign, a, b))
        assert found == getattr(Fraction(first), wanted)(Fraction(second)), (first, sign, second)


def test_a_double_is_read_exactly():
    with sqlite3.connect(":memory:") as connection:
        register(connection)
        for value in (0.1, 1e23, 5e-324, 1.7976931348623157e308, 2.0**53, -0.3):
            assert connection.execute(f"SELECT {values.double(value).sql}").fetchone() == (value,)
    connection.close()
    with pytest.raises(Unsupported):
        values.double(float("inf"))


def test_what_could_be_nan_is_refused_and_what_is_infinite_is_not_computed_with():
    anything = Value("x", ValueKind.DOUBLE)
    large = Value("x", ValueKind.DOUBLE, Reach(-1e300, 1e300, top=False, bottom=False))
    with pytest.raises(Unsupported, match="without bounds"):
        values.of_doubles("+", anything, large)
    product = values.of_doubles("*", large, large)
    assert not product.reach.is_finite
    with pytest.raises(Unsupported, match="without bounds"):
        values.of_doubles("+", product, large)


def test_comparisons_of_numbers_of_different_scales():
    for first, second, wanted in (("1.5", "1.50", 0), ("2", "1.999", 1), ("0.1", f"{'9' * 35}", -1)):
        a, b = number(first), number(second)
        for sign, holds in (("<", wanted < 0), ("=", wanted == 0), (">", wanted > 0)):
            assert bool(computed(Value(values.compared(sign, a, b), ValueKind.TRUTH))) == holds, (
                first,
                sign,
                second,
            )


@pytest.mark.parametrize(("sign", "limit", "low", "high"), [(">", "0e0", 0.0, 1.0), ("<", "2e0", 0.1, 2.0)])
def test_a_limit_is_what_it_bounds_where_that_is_null(sign: str, limit: str, low: float, high: float):
    bounded = Value("x", ValueKind.DOUBLE, Reach(0.1, 1.0, top=False, bottom=False))
    found = values.extreme(sign)(nodes.Null(), [bounded, number(limit)])
    assert (found.reach.low, found.reach.high) == (low, high)
