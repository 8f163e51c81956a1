import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import adapters
from psycopg.pq import Format

from dpproxy.values import pgtypes as t
from dpproxy.values.errors import InvalidText, NumberOutOfRange, Unsupported
from dpproxy.wire.values import decode, encode_value, encoder

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
pairs = st.one_of(
    *(
        st.tuples(st.just(kind), st.integers(-(2 ** (8 * kind.size - 1)), 2 ** (8 * kind.size - 1) - 1))
        for kind in (t.INT2, t.INT4, t.INT8)
    ),
    st.tuples(st.just(t.OID), st.integers(0, 2**32 - 1)),
    st.tuples(st.just(t.BOOL), st.booleans()),
    st.tuples(st.just(t.BYTEA), st.binary()),
    st.tuples(st.sampled_from([t.TEXT, t.VARCHAR, t.NAME, t.UNKNOWN]), texts),
    st.tuples(st.just(t.FLOAT8), st.floats(allow_nan=False)),
    st.tuples(st.just(t.FLOAT4), st.floats(allow_nan=False, width=32)),
    st.tuples(st.just(t.NUMERIC), st.decimals(allow_nan=False, min_value=-(10**40), max_value=10**40)),
    st.tuples(st.just(t.DATE), st.dates()),
    st.tuples(st.just(t.TIMESTAMP), st.datetimes()),
)


@given(pairs, st.integers(0, 1))
def test_round_trips(pair: tuple[t.SqlType, object], code: int):
    kind, value = pair
    data = encode_value(kind, value, code)
    assert data is not None
    assert decode(kind, data, code) == value


@given(pairs, st.integers(0, 1))
def test_psycopg_reads_what_we_write(pair: tuple[t.SqlType, object], code: int):
    kind, value = pair
    loader = adapters.get_loader(kind.oid, Format(code))
    if loader is None:  # unknown: psycopg has none in binary
        assert kind is t.UNKNOWN
        return
    read = loader(kind.oid).load(encode_value(kind, value, code))
    # psycopg reads the text of a float4 as a float8.
    assert (struct.unpack("f", struct.pack("f", read))[0] if kind is t.FLOAT4 else read) == value


@given(st.sampled_from(t.TYPES), st.binary(max_size=20), st.integers(0, 1))
def test_any_bytes_give_a_value_or_a_refusal(kind: t.SqlType, data: bytes, code: int):
    try:
        value = decode(kind, data, code)
    except (InvalidText, NumberOutOfRange):
        return
    assert encode_value(kind, value, code) is not None


@given(st.sampled_from(t.TYPES), st.text("0123456789+-.eE :TZ\\xtfnaIi", max_size=20))
def test_near_literals_give_a_value_or_a_refusal(kind: t.SqlType, text: str):
    try:
        value = decode(kind, text.encode(), 0)
    except (InvalidText, NumberOutOfRange):
        return
    written = encode_value(kind, value, 0)
    assert written is not None
    assert encode_value(kind, decode(kind, written, 0), 0) == written


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (t.INT4, b""), (t.INT4, b"1.0"), (t.INT4, b"1_0"), (t.INT4, b"\xff"), (t.INT4, "٣".encode()), (t.OID, b"x"),
        (t.BOOL, b"maybe"), (t.BOOL, b"o"), (t.TEXT, b"\xff"), (t.TEXT, b"a\0b"), (t.BYTEA, b"\\x0"),
        (t.BYTEA, b"\\xzz"), (t.BYTEA, b"a\\9"), (t.BYTEA, b"\\400"),
    ],
)  # fmt: skip
def test_bad_text(kind: t.SqlType, text: bytes):
    with pytest.raises(InvalidText):
        decode(kind, text, 0)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (t.INT2, b""),
        (t.INT4, bytes(8)),
        (t.INT8, bytes(4)),
        (t.OID, bytes(5)),
        (t.BOOL, b"\2"),
        (t.TEXT, b"\xff"),
    ],
)
def test_bad_binary(kind: t.SqlType, data: bytes):
    with pytest.raises(InvalidText):
        decode(kind, data, 1)


def test_the_message_names_the_type_and_not_the_value():
    with pytest.raises(InvalidText, match=r"^invalid text input for type integer$"):
        decode(t.INT4, b"ann", 0)
    with pytest.raises(NumberOutOfRange, match=r"^value out of range for type smallint$"):
        decode(t.INT2, b"40000", 0)


@pytest.mark.parametrize("text", [b"2147483648", b"-2147483649", b"9" * 100_000])
def test_integer_text_out_of_range(text: bytes):
    with pytest.raises(NumberOutOfRange):
        decode(t.INT4, text, 0)


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize(
    ("kind", "value"),
    [(t.INT2, 2**15), (t.INT4, -(2**31) - 1), (t.INT8, 2**63), (t.OID, -1), (t.FLOAT4, 1e39)],
)
def test_answers_out_of_range(kind: t.SqlType, value: object, code: int):
    with pytest.raises(NumberOutOfRange):
        encode_value(kind, value, code)


def test_text_forms():
    shown = [
        (t.BOOL, True, b"t"), (t.BOOL, False, b"f"), (t.BYTEA, b"\0\xff", b"\\x00ff"), (t.INT8, -5, b"-5"),
        (t.NUMERIC.with_precision(10, 2), Decimal("1.5"), b"1.50"), (t.FLOAT8, 2.0, b"2"), (t.TEXT, "é", "é".encode()),
    ]  # fmt: skip
    for kind, value, text in shown:
        assert encode_value(kind, value, 0) == text


def test_text_literals():
    assert decode(t.BYTEA, b"a\\000\\\\b", 0) == b"a\0\\b"
    assert decode(t.INT4, b" +7 ", 0) == 7
    assert [decode(t.BOOL, text, 0) for text in (b"TRUE", b"y", b"off", b" 0 ")] == [True, True, False, False]


def test_a_scale_holds_in_binary_too():
    data = encode_value(t.NUMERIC.with_precision(10, 2), Decimal(3), 1)
    assert data == struct.pack("!HhHHH", 1, 0, 0, 2, 3)


def test_null_is_none():
    assert all(encode_value(kind, None, code) is None for kind in t.TYPES for code in (0, 1))


def test_every_type_is_covered_and_no_other():
    assert all(callable(encoder(kind, code)) for kind in t.TYPES for code in (0, 1))
    other = t.SqlType("xml", 142, -1)
    with pytest.raises(Unsupported):
        encoder(other, 0)
    with pytest.raises(Unsupported):
        decode(other, b"{}", 0)


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize(
    ("kind", "value"), [(t.BOOL, "f"), (t.BOOL, 0), (t.BYTEA, 5), (t.INT8, "5"), (t.UUID, 5)]
)
def test_a_value_of_another_type_is_never_written(kind: t.SqlType, value: object, code: int):
    with pytest.raises((TypeError, AttributeError, ValueError)):
        encode_value(kind, value, code)
