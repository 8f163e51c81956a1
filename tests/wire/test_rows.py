import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.values.errors import InvalidParameter, NumberOutOfRange, ProtocolViolation
from dpproxy.values.pgtypes import FLOAT8, INT4, NUMERIC, TEXT, Column
from dpproxy.wire.messages import FieldDescription, RowDescription
from dpproxy.wire.rows import encode_rows, expand_formats, row_description
from dpproxy.wire.values import decode

COLUMNS = (Column("region", TEXT), Column("n", INT4), Column("mean", FLOAT8))


def read_rows(framed: bytes) -> list[list[bytes | None]]:
    """DataRow messages, read by the letter of the protocol."""
    rows = []
    while framed:
        tag, length, count = struct.unpack_from("!cIH", framed)
        assert tag == b"D"
        body, framed = framed[7 : length + 1], framed[length + 1 :]
        row: list[bytes | None] = []
        for _ in range(count):
            (size,) = struct.unpack_from("!i", body)
            row.append(None if size < 0 else body[4 : 4 + size])
            body = body[4 + max(size, 0) :]
        assert body == b""
        rows.append(row)
    return rows


cells = st.tuples(
    st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9),
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.floats(allow_nan=False),
)


@given(st.lists(cells, max_size=5), st.sampled_from([(), (0,), (1,), (0, 1, 1)]))
def test_rows_read_back(rows: list[tuple[object, ...]], formats: tuple[int, ...]):
    codes = expand_formats(formats, len(COLUMNS))
    found = read_rows(encode_rows(COLUMNS, formats, rows))
    assert [
        tuple(
            None if data is None else decode(column.type, data, code)
            for column, data, code in zip(COLUMNS, row, codes, strict=True)
        )
        for row in found
    ] == rows


def test_the_bytes_of_a_row():
    framed = encode_rows(COLUMNS[:2], (0, 1), [("a", None), (None, 5)])
    assert framed == (
        b"D\0\0\0\x0f\0\2" + b"\0\0\0\1a" + b"\xff\xff\xff\xff"
        b"D\0\0\0\x12\0\2" + b"\xff\xff\xff\xff" + b"\0\0\0\4\0\0\0\5"
    )


def test_no_rows_and_no_columns():
    assert encode_rows(COLUMNS, (), []) == b""
    assert encode_rows((), (), [(), ()]) == b"D\0\0\0\6\0\0" * 2


def test_row_description():
    columns = (COLUMNS[0], Column("sum", NUMERIC.with_precision(12, 2)))
    assert row_description(columns, (1,)) == RowDescription(
        (FieldDescription("region", 25, -1, -1, 1), FieldDescription("sum", 1700, -1, (12 << 16) + 6, 1))
    )


@pytest.mark.parametrize("given_formats", [(2,), (0, 7), (65535, 0)])
def test_other_formats_are_refused(given_formats: tuple[int, ...]):
    with pytest.raises(InvalidParameter, match="unsupported format code"):
        expand_formats(given_formats, 2)


def test_formats_are_none_one_or_all():
    for given_formats in ((0, 0), (1, 1, 1, 1)):
        with pytest.raises(ProtocolViolation):
            expand_formats(given_formats, 3)


def test_a_number_that_does_not_fit():
    with pytest.raises(NumberOutOfRange, match="integer"):
        encode_rows(COLUMNS, (1,), [("a", 2**31, 0.0)])


def test_a_row_of_the_wrong_width_is_never_framed():
    for rows in ([("a", 1)], [("a", 1, 0.5), ("b", 2)]):
        with pytest.raises(ValueError, match="zip"):
            encode_rows(COLUMNS, (), rows)
