"""DOUBLE on a lattice: distances never grow beyond the sensitivity in steps, and numbers come back."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs import arrow
from udfs.functions.lattice import DOUBLES, INTEGERS, upwards
from udfs.privacy import InvalidMechanism


def pairs(*values: float) -> arrow.Pairs:
    return np.array([[bits, 0] for bits in np.array(values).view(np.uint64)], dtype=np.uint64)


def steps(value: float, width: float) -> int:
    return arrow.integers(DOUBLES.steps(pairs(value)[None], pairs(width)))[0]


widths = st.floats(1e-200, 1e200)
parts = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(widths)
def test_a_sensitivity_is_at_least_two_to_the_30_steps(width: float):
    (found,) = DOUBLES.widths(pairs(width))
    assert 2**30 <= found <= 2**31


@given(widths, parts, st.floats(-1, 1))
def test_neighbours_are_at_most_the_sensitivity_apart(width: float, part: float, move: float):
    first = width * part
    second = first + width * move
    if abs(Fraction(first) - Fraction(second)) <= Fraction(width):
        assert abs(steps(first, width) - steps(second, width)) <= DOUBLES.widths(pairs(width))[0]


@pytest.mark.parametrize(
    ("first", "second"), [(0.5, 1.5), (-0.5, 0.5), (1.5, 2.5), (0.49999999999999994, 1.5)]
)
def test_halves_do_not_add_a_step(first: float, second: float):
    step = 2.0**-30  # that of a sensitivity of 1
    assert (
        0
        <= steps(second * step, 1.0) - steps(first * step, 1.0)
        <= math.ceil(Fraction(second) - Fraction(first))
    )


@given(widths, parts)
def test_numbers_come_back_to_half_a_step(width: float, part: float):
    value = width * part
    back = DOUBLES.numbers(DOUBLES.steps(pairs(value)[None], pairs(width)), pairs(width))
    (found,) = DOUBLES.column(back[0]).to_pylist()
    assert abs(found - value) <= width * 2**-31 + abs(value) * 2**-52


@given(st.integers(-(2**53), 2**53), st.integers(0, 73))
def test_whole_steps_are_exact(size: int, power: int):
    """Both ways, for either sign: a complement would not fit a float."""
    value = size * 2.0**power
    number = DOUBLES.steps(pairs(value * 2.0**-30)[None], pairs(1.0))
    assert arrow.integers(number) == [size * 2**power]
    assert DOUBLES.column(DOUBLES.numbers(number, pairs(1.0))[0]).to_pylist() == [value * 2.0**-30]


@pytest.mark.parametrize(
    ("value", "wanted"), [(math.nan, 0), (math.inf, int(1e38)), (-math.inf, -int(1e38)), (1e300, int(1e38))]
)
def test_what_is_far_out_saturates(value: float, wanted: int):
    assert steps(value, 1.0) == wanted


@pytest.mark.parametrize("width", [math.nan, math.inf, -1.0, -math.inf])
def test_a_sensitivity_is_finite(width: float):
    with pytest.raises(InvalidMechanism):
        DOUBLES.widths(pairs(1.0, width))


def test_ends_of_the_range():
    assert DOUBLES.widths(pairs(0.0, 1.0, 5e-324, 1.7e308)) == (
        0,
        2**30,
        2**30,
        DOUBLES.widths(pairs(1.7e308))[0],
    )


def test_whole_numbers_are_what_they_are():
    values = arrow.from_integers([5, -(2**90)])
    assert INTEGERS.widths(arrow.from_integers([0, 10**30])) == (0, 10**30)
    assert INTEGERS.steps(values, values) is values
    assert INTEGERS.numbers(values, values) is values


@given(st.integers(-(2**127), 2**127 - 1))
def test_a_whole_sensitivity_is_never_above_what_it_becomes(number: int):
    [low, high] = upwards(arrow.from_integers([number]))[0]
    found = Fraction(float(np.uint64(low).view(np.float64)))
    assert high == 0
    assert found == -1 if number < 0 else number <= found <= number * (1 + Fraction(1, 2**51))
