"""The Arrow function behind every release where DuckDB does not lead: chunks without rows, and DOUBLE."""

import hashlib
import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from udfs import arrow
from udfs.functions.joint import lists, release, release_any, release_columns, release_rows, singles
from udfs.functions.lattice import DOUBLES, INTEGERS, Lattice
from udfs.functions.staircase import KIND
from udfs.pool import Pool
from udfs.randomness import Words

EPSILON = pa.decimal128(18, 9)


@pytest.mark.parametrize(("lattice", "element"), [(INTEGERS, pa.decimal128(38, 0)), (DOUBLES, pa.float64())])
def test_no_rows(lattice: Lattice, element: pa.DataType):
    empty = pa.chunked_array([], pa.list_(element))
    assert len(release(Pool(), KIND, lattice, empty, empty, pa.chunked_array([], EPSILON))) == 0


def test_rows_of_many_parameters():
    """Lengths, sensitivities and losses mixed within one chunk of DOUBLE, a NULL list among them."""
    column = pa.list_(pa.float64())
    values = pa.array([[1.5], [2.5, -3.0], None, [4.0], [None]], column)
    widths = pa.array([[1e-6], [1e-6, 1e-6], [1e-6], [0.0], [2e-6]], column)
    losses = pa.array([Decimal(10**6 + (i == 2)) for i in range(5)], EPSILON)
    released = release(Pool(), KIND, DOUBLES, values, widths, losses).to_pylist()
    for row, exact in zip(released, [[1.5], [2.5, -3.0], [0.0], [0.0], [0.0]], strict=True):
        assert row == pytest.approx(exact, abs=1e-5)  # a false alarm has a probability below 1e-15


def test_numbers_of_any_type_come_back_as_text():
    widths, loss = (
        pa.array([[3, 2**53 + 1]], pa.list_(pa.decimal128(38, 0))),
        pa.array([Decimal(200)], EPSILON),
    )
    for element in (pa.decimal128(38, 0), pa.float64(), pa.float32()):
        values = pa.array([[5, 0]], pa.list_(element))
        [[near, far]] = release_any(Pool(), KIND, values, widths, loss).to_pylist()
        # False alarms have probabilities below 1e-40.
        assert abs(Decimal(near) - 5) <= 3
        assert abs(Decimal(far)) <= 2**54
        assert pa.types.is_floating(element) or Decimal(near) == int(near)


def test_the_overloads_of_a_name():
    found = lists(Pool(), KIND, "dp_x", "epsilon", "noise")
    assert [(f.name, f.returns, f.run is None) for f in found] == [
        ("_dp_x_doubles", "DOUBLE[]", False),
        ("_dp_x_any", "VARCHAR[]", False),
        ("dp_x", "DOUBLE[]", True),
        ("dp_x", "HUGEINT[]", False),
    ]
    assert [f.returns for f in singles("dp_x", "dp_x", "epsilon", "noise")] == ["DOUBLE", "HUGEINT"]


@given(
    st.lists(st.tuples(st.integers(-(2**127), 2**127 - 1), st.integers(0, 9)), min_size=1, max_size=4),
)
def test_a_row_without_sql_is_the_row_of_sql(columns: list[tuple[int, int]]):
    """The same words give the same answer, to the last digit: saturated, and 0 where nobody moves the sum."""
    numbers, widths = [n for n, _ in columns], [w for _, w in columns]
    assume(any(widths))
    whole = pa.decimal128(38, 0)
    values = arrow.write(arrow.from_integers(numbers), np.array([len(numbers)], dtype=np.int32))
    given_widths = pa.array([widths], pa.list_(whole))
    column = release(
        Pool(words=counted()), KIND, INTEGERS, values, given_widths, pa.array([Decimal(1)], EPSILON)
    )
    mechanism = KIND.best(tuple(widths), 10**9)
    [released] = release_rows(Pool(words=counted()), mechanism, [numbers])
    assert released == arrow.integers(arrow.read(column).pairs)
    several = [arrow.read(values).whole(len(numbers))[:, i] for i in range(len(numbers))]
    noise = Pool(words=counted()).take(mechanism, 1)
    lists = release_columns(mechanism, noise, [arrow.numbers(one) for one in several])
    assert released == arrow.integers(arrow.read(lists).pairs)


def counted() -> Words:
    """Words that look random and are the same each time."""
    stream = (hashlib.sha256(n.to_bytes(8)).digest() for n in itertools.count())
    return lambda size: b"".join(itertools.islice(stream, -(-size // 32)))[:size]
