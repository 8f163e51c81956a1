"""Digits to base 10,000 at the ends of what fits; test_bulk.py has the rest, drawn at random."""

from decimal import Decimal

import pyarrow as pa
import pytest

from dpproxy.wire.digits import numeric_cells
from dpproxy.wire.numeric import write_binary


@pytest.mark.parametrize("scale", [0, 1, 2, 4, 5, 8, 18])
def test_the_ends(scale: int):
    steps = [
        0,
        1,
        -1,
        9999,
        10_000,
        10_001,
        10**8,
        10**15 - 1,
        10**15,
        -(10**15),
        10**20,
        123_456_789_012_345,
    ]
    values = [None, *(Decimal(f"{number}E-{scale}") for number in steps)]
    cells = numeric_cells(pa.array(values, pa.decimal128(38, scale)))
    assert cells.to_pylist() == [None if v is None else write_binary(v, scale) for v in values]


def test_nothing():
    assert numeric_cells(pa.array([], pa.decimal128(38, 2))).to_pylist() == []
    assert numeric_cells(pa.array([None], pa.decimal128(38, 2))).to_pylist() == [None]
