import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import adapters
from psycopg.adapt import PyFormat
from psycopg.pq import Format

from dpproxy.values.errors import InvalidText, NumberOutOfRange
from dpproxy.values.pgtypes import FLOAT4, FLOAT8
from dpproxy.wire.floats import (
    read4_binary,
    read4_text,
    read8_binary,
    read8_text,
    write4_binary,
    write4_text,
    write8_binary,
    write8_text,
)
from dpproxy.wire.values import decode


def digits_of(text: str) -> str:
    return text.partition("e")[0].replace(".", "").lstrip("-").strip("0")


def same(a: float, b: float) -> bool:
    return math.isnan(a) if math.isnan(b) else a == b and math.copysign(1, a) == math.copysign(1, b)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "-0"), (1.0, "1"), (-1.5, "-1.5"), (0.1, "0.1"), (1e20, "1e+20"), (1e-5, "1e-05"),
        (0.0001, "0.0001"), (0.00012345, "0.00012345"), (1e14, "100000000000000"), (1e15, "1e+15"),
        (123456789012345.6, "123456789012345.6"), (1234567890123456.0, "1.234567890123456e+15"),
        (1e16, "1e+16"), (1e100, "1e+100"), (1e23, "9.999999999999999e+22"), (2.0**-44, "5.684341886080802e-14"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (-1234567890123450.0, "-1.23456789012345e+15"), (0.30000000000000004, "0.30000000000000004"),
        (math.inf, "Infinity"), (-math.inf, "-Infinity"), (math.nan, "NaN"),
    ],
)  # fmt: skip
def test_float8_as_postgresql_prints_it(value: float, text: str):
    assert write8_text(value).decode() == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "-0"), (1.0, "1"), (0.1, "0.1"), (100000.0, "100000"), (1e6, "1e+06"),
        (1234567.0, "1.234567e+06"), (999999.0, "999999"), (1e-4, "0.0001"), (1e-5, "1e-05"),
        (3.4028235e38, "3.4028235e+38"),
        (1e-45, "1e-45"), (16777216.0, "1.6777216e+07"), (33554448.0, "3.3554448e+07"),
        (-2.5, "-2.5"), (math.inf, "Infinity"),
        (math.nan, "NaN"),
    ],
)  # fmt: skip
def test_float4_as_postgresql_prints_it(value: float, text: str):
    assert write4_text(value).decode() == text


@given(st.floats())
def test_float8_against_psycopg(value: float):
    loaders = [adapters.get_loader(FLOAT8.oid, code)(FLOAT8.oid) for code in (Format.TEXT, Format.BINARY)]
    assert same(loaders[0].load(write8_text(value)), value)
    assert same(loaders[1].load(write8_binary(value)), value)
    assert same(read8_text(bytes(adapters.get_dumper(float, PyFormat.TEXT)(float).dump(value))), value)
    assert same(read8_binary(bytes(adapters.get_dumper(float, PyFormat.BINARY)(float).dump(value))), value)


@given(st.floats())
def test_float8_text_is_the_shortest(value: float):
    text = write8_text(value).decode()
    assert same(read8_text(text.encode()), value)
    if math.isfinite(value) and value:
        for digits in range(len(digits_of(text)) - 1):
            shorter = f"{value:.{digits}e}"
            neighbours = (math.nextafter(value, math.inf), math.nextafter(value, -math.inf))
            assert float(shorter) != value or is_half_way(shorter, value, neighbours)


def is_half_way(text: str, value: float, neighbours: tuple[float, ...]) -> bool:
    """Whether the decimal lies exactly between two numbers: PostgreSQL never shows one."""
    return any(2 * Fraction(text) == Fraction(value) + Fraction(n) for n in neighbours if math.isfinite(n))


def singles_beside(value: float) -> tuple[float, ...]:
    bits = struct.unpack("!i", struct.pack("!f", value))[0]
    return tuple(struct.unpack("!f", struct.pack("!i", bits + step))[0] for step in (-1, 1))


@given(st.floats(width=32))
def test_float4_round_trips_and_is_the_shortest(value: float):
    assert same(read4_binary(write4_binary(value)), value)
    text = write4_text(value).decode()
    assert same(read4_text(text.encode()), value)
    if math.isfinite(value) and value:
        shortest = np.format_float_scientific(np.float32(value), unique=True, trim="-")
        assert len(digits_of(text)) == len(digits_of(shortest)) or is_half_way(
            shortest, value, singles_beside(value)
        )


@pytest.mark.parametrize("text", [b"1e400", b"-1e400", b"1e-400"])
def test_float8_out_of_range(text: bytes):
    with pytest.raises(NumberOutOfRange):
        decode(FLOAT8, text, 0)


@pytest.mark.parametrize("text", [b"1e39", b"1e-46"])
def test_float4_out_of_range(text: bytes):
    with pytest.raises(NumberOutOfRange):
        decode(FLOAT4, text, 0)


def test_zero_in_many_forms():
    for text in (b"0", b"-0.00", b".0", b"0e400", b" 0 "):
        assert read8_text(text) == 0


@pytest.mark.parametrize("text", [b"", b"1_0", b"0x1p3", b"1.2.3", b"infin", b"\xff", b"1" * 5000])
def test_not_a_float(text: bytes):
    with pytest.raises(InvalidText):
        decode(FLOAT8, text, 0)


def test_wrong_sizes():
    for kind, size in ((FLOAT8, 4), (FLOAT4, 8)):
        with pytest.raises(InvalidText):
            decode(kind, bytes(size), 1)
