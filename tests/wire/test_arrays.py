import struct
from datetime import date
from decimal import Decimal

import pytest
from psycopg.adapt import PyFormat, Transformer

from dpproxy.values.errors import InvalidText
from dpproxy.values.pgtypes import ARRAYS, SqlType
from dpproxy.wire.arrays import flat, shape
from dpproxy.wire.values import decode, encode_value

INTS = SqlType("_int4", 1007, -1)
VALUES: list[list[object]] = [
    ["a"], ["it's", 'a "b"', "{x}", "c,d", "back\\slash", "", "NULL", None, " x "], [1, 2, None], [2**40, -1],
    [True, False], [1.5, -0.25], [Decimal("1.50"), Decimal(-3)], [date(2020, 1, 2), None], [],
]  # fmt: skip


@pytest.mark.parametrize("values", VALUES, ids=str)
@pytest.mark.parametrize("form", [PyFormat.TEXT, PyFormat.BINARY])
def test_what_psycopg_writes(values: list[object], form: PyFormat):
    dumper = Transformer().get_dumper(values, form)
    data = dumper.dump(values)
    assert data is not None
    oid = dumper.oid if dumper.oid in ARRAYS else 1009
    assert decode(SqlType("array", oid, -1), bytes(data), int(dumper.format)) == values


@pytest.mark.parametrize(
    "data", [b"", b"a", b"{a", b"{a,}", b"{,a}", b"{{a},{b,c}}", b"{{a},b}", b'{"a}', b"{a b\\}", b'{a"b}']
)
def test_texts_that_are_none(data: bytes):
    with pytest.raises(InvalidText):
        decode(SqlType("_text", 1009, -1), data, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"", struct.pack("!III", 1, 0, 25), struct.pack("!IIIiI", 1, 0, 25, 1, 1),
        struct.pack("!IIIiI", 1, 0, 25, -1, 1),
        struct.pack("!IIIiIi", 1, 0, 25, 1, 1, 9), struct.pack("!IIIiIi", 1, 0, 25, 1, 1, -2),
        struct.pack("!IIIiIi", 1, 0, 25, 1, 1, -1) + b"x", struct.pack("!IIIiIiIi", 2, 0, 25, 1, 1, 2, 1, -1),
        struct.pack("!III", 7, 0, 25) + struct.pack("!iI", 1, 1) * 7 + struct.pack("!i", -1),
        struct.pack("!IIIiI", 1, 0, 25, 2**31 - 1, 1),
    ],
)  # fmt: skip
def test_bytes_that_are_none(data: bytes):
    with pytest.raises(InvalidText):
        decode(SqlType("_text", 1009, -1), data, 1)


def test_dimensions():
    values: list[object] = [[[1, 2], [3, None]]]
    assert shape(values) == (1, 2, 2)
    assert list(flat(values)) == [1, 2, 3, None]
    for code in (0, 1):
        data = encode_value(INTS, values, code)
        assert data is not None
        assert decode(INTS, data, code) == values


@pytest.mark.parametrize("values", [[[1], 2], [[1], [2, 3]], [[]]])
def test_lists_that_are_no_array(values: list[object]):
    with pytest.raises(ValueError, match=r"^$"):
        shape(values)


def test_blanks_are_read_in_linear_time():
    assert decode(SqlType("_text", 1009, -1), b"{a" + b" " * 10**6 + b",b}", 0) == ["a", "b"]
