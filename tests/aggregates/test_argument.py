import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from dpproxy.aggregates.argument import LARGEST_REACH, LATTICE_BITS, argument
from dpproxy.aggregates.average import Average
from dpproxy.aggregates.sum import Sum
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.values.errors import BoundsMissing, TypeMismatch
from dpproxy.values.pgtypes import FLOAT8, INT4
from tests.aggregates.conftest import Calls
from tests.empty import empty


def of(calls: Calls, text: str):
    (found,) = calls(f"sum({text})")
    assert isinstance(found, Sum)
    return found.argument


@pytest.mark.parametrize(
    ("text", "unit", "low", "high"),
    [
        ("age", Fraction(1), 0, 100),
        ("small", Fraction(1), -3, 4),
        ("pay", Fraction(1, 100), 0, 500_000),
        ("age * 2 - 1", Fraction(1), -1, 199),
        ("pay + age", Fraction(1, 100), 0, 510_000),
        ("pay * 0.5", Fraction(1, 200), 0, 500_000),
        ("grade", Fraction(1), 1, 5),
        ("height", Fraction(1, 2**21), 0, 2**29),
        ("7", Fraction(1), 7, 7),
    ],
)
def test_the_lattice_and_its_bounds(calls: Calls, text: str, unit: Fraction, low: int, high: int):
    found = of(calls, text)
    assert (found.unit, found.low, found.high) == (unit, low, high)


def test_widths_from_zero_and_from_the_centre(calls: Calls):
    small = of(calls, "small")
    assert (small.width, small.centre, small.centred_width) == (4, 0, 4)
    grade = of(calls, "grade")
    assert (grade.width, grade.centre, grade.centred_width) == (5, 3, 2)
    nothing = of(calls, "0")
    assert (nothing.width, nothing.centred_width) == (1, 1)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-5, 1000), (Fraction(1, 10**9), Fraction(1, 10**6)), (0, 10**15)]
)
def test_a_double_has_about_2_30_steps(low: Fraction, high: Fraction):
    typed = Typed(duck.column("x"), FLOAT8, None, Fraction(low), Fraction(high))
    found = argument(exp.column("x"), typed)
    assert 2 ** (LATTICE_BITS - 1) <= found.width <= 2**LATTICE_BITS
    assert math.log2(found.unit).is_integer()


def test_refused(calls: Calls):
    with pytest.raises(TypeMismatch):
        of(calls, "city")
    with pytest.raises(TypeMismatch):
        of(calls, "smokes")
    with pytest.raises(BoundsMissing, match="has no bounds"):
        of(calls, "age / height")
    with pytest.raises(BoundsMissing, match="too wide"):
        of(calls, "CAST(big AS numeric) * big")


def test_a_domain_at_the_ends_of_what_a_double_holds():
    wide = Typed(duck.column("x"), FLOAT8, None, Fraction(0), LARGEST_REACH + 1)
    with pytest.raises(BoundsMissing, match="too wide"):
        argument(exp.column("x"), wide)
    narrow = Typed(duck.column("x"), FLOAT8, None, Fraction(0), Fraction(1, 2**1070))
    assert argument(exp.column("x"), narrow).width == 1


VALUES = st.floats(width=32) | st.sampled_from([0.0, -0.0, 256.0, math.nan, math.inf, -math.inf])


@settings(deadline=None)
@given(
    st.lists(VALUES, min_size=1, max_size=20),
    st.sampled_from([(-1, 1), (0, 1000), (Fraction(1, 3), Fraction(7, 3))]),
)
def test_every_row_stays_inside_the_width(values: list[float], bounds: tuple[Fraction, Fraction]):
    low, high = (Fraction(float(b)) for b in bounds)
    expression = argument(exp.Neg(this=exp.column("x")),
                          Typed(duck.column("x"), FLOAT8, None, low, high))  # fmt: skip
    with empty() as connection:
        connection.execute("CREATE TABLE t (x DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?)", [[v] for v in values])
        steps = connection.execute(f"SELECT {duck.text(expression.sql)} FROM t").fetchall()
    assert all(expression.low <= n <= expression.high for (n,) in steps)


def test_bounds_that_are_wrong_are_enforced_all_the_same():
    """Whatever interval arithmetic believed, an expression is clamped again."""
    typed = Typed(duck.column("x"), INT4, 0, Fraction(0), Fraction(10))
    found = argument(exp.Neg(this=exp.column("x")), typed)
    with empty() as connection:
        rows = connection.execute(
            f"SELECT {duck.text(found.sql)} FROM (VALUES (99), (-99), (NULL)) AS t(x)"
        ).fetchall()
    assert rows == [(10,), (0,), (None,)]


def test_an_average_and_a_sum_read_the_same_steps(calls: Calls):
    total, mean = calls("sum(pay + 1), avg(pay + 1)")
    assert isinstance(total, Sum)
    assert isinstance(mean, Average)
    assert total.argument == mean.argument
