import struct
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from psycopg import adapters
from psycopg.adapt import PyFormat
from psycopg.pq import Format
from psycopg.types.numeric import DecimalBinaryDumper, NumericBinaryLoader

from dpproxy.values.errors import InvalidText, NumberOutOfRange
from dpproxy.values.pgtypes import NUMERIC
from dpproxy.wire.numeric import read_binary, read_text, write_binary, write_text
from dpproxy.wire.values import decode

NUMERIC_OID = 1700
finite = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**60), max_value=10**60)
decimals = finite | st.sampled_from([Decimal("NaN"), Decimal("Infinity"), Decimal("-Infinity")])


def compiled(oid: int) -> object:
    """psycopg's reader of the binary form, the compiled one where it is installed."""
    loader = adapters.get_loader(oid, Format.BINARY)
    assert loader is not None
    return loader(oid)


def same(a: Decimal, b: Decimal) -> bool:
    return a.is_nan() if b.is_nan() else a == b


@given(decimals)
@example(Decimal("0.0001"))
@example(Decimal(10000))
@example(Decimal("1E+40"))
@example(Decimal("1E-40"))
@example(Decimal("-0.00"))
def test_psycopg_reads_what_we_write(value: Decimal):
    for loader in (compiled(NUMERIC_OID), NumericBinaryLoader(NUMERIC_OID)):
        assert same(loader.load(write_binary(value)), value)


@given(decimals)
@example(Decimal("0E-20"))
def test_we_read_what_psycopg_writes(value: Decimal):
    for dumper in (adapters.get_dumper(Decimal, PyFormat.BINARY)(Decimal), DecimalBinaryDumper(Decimal)):
        assert same(read_binary(bytes(dumper.dump(value))), value)


@given(decimals)
def test_round_trips(value: Decimal):
    assert same(read_binary(write_binary(value)), value)
    assert same(read_text(write_text(value)), value)


@given(finite)
def test_both_forms_show_the_same_digits(value: Decimal):
    assert write_text(read_binary(write_binary(value))) == write_text(value)


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (Decimal("1E+3"), None, b"1000"),
        (Decimal("1E-10"), None, b"0.0000000001"),
        (Decimal("-0.0"), None, b"0.0"),
        (5, 2, b"5.00"),
        (Decimal("2.345"), 2, b"2.35"),
        (Decimal("-0.001"), 2, b"0.00"),
        (Decimal("1.50"), None, b"1.50"),
        (10**50, 0, b"1" + b"0" * 50),
    ],
)
def test_text_and_scale(value: Decimal | int, scale: int | None, text: bytes):
    assert write_text(value, scale) == text
    assert write_text(read_binary(write_binary(value, scale))) == text


def test_the_documented_layout():
    # 12345.678 is the digits 1, 2345, 6780 to base 10,000; the first counts 10,000 to the power 1.
    assert write_binary(Decimal("12345.678")) == struct.pack("!HhHHHHH", 3, 1, 0, 3, 1, 2345, 6780)
    assert write_binary(Decimal("-0.00012")) == struct.pack("!HhHHHH", 2, -1, 0x4000, 5, 1, 2000)


@pytest.mark.parametrize(
    "text", [b"", b"1.2.3", b".", b"e5", b"1e", b"0x10", b"\xff", b"1_000", "٣".encode()]
)
def test_not_a_number(text: bytes):
    with pytest.raises(InvalidText):
        decode(NUMERIC, text, 0)


@pytest.mark.parametrize("text", [b"1e131072", b"1e999999999", b"1e-16384", b"0e999999999"])
def test_too_many_digits(text: bytes):
    with pytest.raises(NumberOutOfRange):
        decode(NUMERIC, text, 0)


def test_shown_digits_cut_what_follows():
    assert read_binary(struct.pack("!HhHHHH", 2, 0, 0, 1, 1, 9999)) == Decimal("1.9")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        struct.pack("!HhHHH", 1, 0, 0, 0, 10000),
        struct.pack("!HhHHH", 2, 0, 0, 0, 1),
        struct.pack("!HhHHHH", 1, 0, 0, 0, 1, 1),
        struct.pack("!HhHH", 0, 0, 0x1234, 0),
        struct.pack("!HhHH", 0, 0, 0, 16384),
    ],
)
def test_bad_binary(data: bytes):
    with pytest.raises(InvalidText):
        decode(NUMERIC, data, 1)
