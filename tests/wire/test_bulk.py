"""Whole columns give the same bytes as their values one by one."""

import struct
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    SqlType,
)
from dpproxy.wire.bulk import copied_binary, copied_lines, data_rows, numeric_cells
from dpproxy.wire.numeric import write_binary
from dpproxy.wire.rows import binary_row, encode_rows

MOMENT = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)  # noqa: DTZ001


def numerics(scale: int) -> st.SearchStrategy[Decimal]:
    steps = st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-(10**9), 10**9)
    return steps.map(lambda number: Decimal(f"{number}E-{scale}"))


KINDS: list[tuple[SqlType, pa.DataType, st.SearchStrategy[object]]] = [
    (INT2, pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    (INT4, pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (INT8, pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (FLOAT8, pa.float64(), st.floats() | st.integers(-(10**12), 10**12).map(float) | st.floats(-2, 2)),
    (BOOL, pa.bool_(), st.booleans()),
    (TEXT, pa.string(), st.text(st.characters(exclude_categories=["Cs"]))),
    (DATE, pa.date32(), st.dates()),
    (TIMESTAMP, pa.timestamp("us"), st.datetimes(*MOMENT)),
    (NUMERIC, pa.decimal128(38, 0), numerics(0)),
    (NUMERIC.with_precision(38, 2), pa.decimal128(38, 2), numerics(2)),
    (NUMERIC.with_precision(38, 4), pa.decimal128(38, 4), numerics(4)),
    (NUMERIC.with_precision(38, 9), pa.decimal128(38, 9), numerics(9)),
]


@pytest.mark.parametrize("code", [0, 1], ids=["text", "binary"])
@pytest.mark.parametrize(("kind", "stored", "values"), KINDS, ids=lambda v: getattr(v, "name", ""))
def test_one_column(kind: SqlType, stored: pa.DataType, values: st.SearchStrategy[object], code: int):
    @given(st.lists(st.none() | values, max_size=20))
    def check(column: list[object]) -> None:
        expected = encode_rows((Column("a", kind),), (code,), [(value,) for value in column])
        assert data_rows((Column("a", kind),), (code,), [pa.array(column, stored)]) == expected

    check()


COLUMNS = (
    Column("i", INT4),
    Column("t", TEXT),
    Column("n", NUMERIC.with_precision(38, 2)),
    Column("d", DATE),
)
ROWS: list[tuple[object, ...]] = [
    (1, "one", Decimal("1.50"), date(2020, 1, 1)),
    (None, "", None, None),
    (-7, None, Decimal("-12345678.90"), date(1999, 12, 31)),
]
ARRAYS = [
    pa.array([row[at] for row in ROWS], kind)
    for at, kind in enumerate((pa.int32(), pa.string(), pa.decimal128(38, 2), pa.date32()))
]


@pytest.mark.parametrize("formats", [(), (1,), (0, 1, 0, 1)])
def test_rows_of_several_columns(formats: tuple[int, ...]):
    assert data_rows(COLUMNS, formats, ARRAYS) == encode_rows(COLUMNS, formats, ROWS)


def test_slices_of_arrays():
    assert data_rows(COLUMNS, (1,), [a.slice(1, 2) for a in ARRAYS]) == encode_rows(COLUMNS, (1,), ROWS[1:])
    assert data_rows(COLUMNS, (), [a.slice(3) for a in ARRAYS]) == b""


def test_copies():
    bodies = [binary_row(COLUMNS, row) for row in ROWS]
    assert copied_binary(COLUMNS, ARRAYS) == b"".join(
        b"d" + struct.pack("!I", len(b) + 4) + b for b in bodies
    )
    cells = [pa.array([b"a", None], pa.binary()), pa.array([b"", b"bc"], pa.binary())]
    assert copied_lines(cells, b"|", b"?") == b"d\0\0\0\x07a|\nd\0\0\0\x09?|bc\n"


@pytest.mark.parametrize(
    ("kind", "array"),
    [
        (INT4, pa.array([1, None], pa.int64())),
        (NUMERIC, pa.array([Decimal("1.5")])),
        (TEXT, pa.array([None, None])),
        (TIMESTAMPTZ, pa.array([datetime(2020, 1, 1)], pa.timestamp("us", "UTC"))),  # noqa: DTZ001
        (TIMESTAMP, pa.array([datetime(2020, 1, 1)], pa.timestamp("ns"))),  # noqa: DTZ001
        (FLOAT8, pa.array([1.5], pa.float32())),
    ],
)
def test_other_arrays_are_written_value_by_value(kind: SqlType, array: pa.Array):
    column = (Column("a", kind),)
    for code in (0, 1):
        expected = encode_rows(column, (code,), [(value,) for value in array.to_pylist()])
        assert data_rows(column, (code,), [array]) == expected


@pytest.mark.parametrize("code", [0, 1])
def test_a_text_that_postgres_cannot_hold_is_not_cut_by_clients(code: int):
    texts = ["a\0b", None, "", "\0", "c"]
    column, shown = (
        Column("t", TEXT),
        ["a\N{REPLACEMENT CHARACTER}b", None, "", "\N{REPLACEMENT CHARACTER}", "c"],
    )
    framed = encode_rows([column], (code,), [(text,) for text in shown])
    assert data_rows([column], (code,), [pa.array(["?", *texts])[1:]]) == framed
    assert encode_rows([column], (code,), [(text,) for text in texts]) == framed


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
