from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import adapters
from psycopg.adapt import PyFormat
from psycopg.pq import Format

from dpproxy.values.errors import DateOutOfRange, InvalidMoment, InvalidText, NumberOutOfRange
from dpproxy.values.pgtypes import BY_OID, DATE, TIMESTAMP
from dpproxy.wire import datetimes as d
from dpproxy.wire.values import decode

KINDS = {
    1082: (d.read_date_text, d.read_date_binary, d.write_date_text, d.write_date_binary),
    1114: (
        d.read_timestamp_text, d.read_timestamp_binary, d.write_timestamp_text, d.write_timestamp_binary,
    ),
    1184: (
        d.read_timestamptz_text, d.read_timestamptz_binary, d.write_timestamptz_text,
        d.write_timestamptz_binary,
    ),
}  # fmt: skip
moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31))  # noqa: DTZ001
values = st.one_of(
    st.dates().map(lambda value: (1082, value)),
    moments.map(lambda value: (1114, value)),
    st.builds(
        lambda value, minutes: (1184, value.replace(tzinfo=timezone(timedelta(minutes=minutes)))),
        moments,
        st.integers(-900, 900),
    ),
)


@given(values)
def test_round_trips(pair: tuple[int, date]):
    oid, value = pair
    read_text, read_binary, write_text, write_binary = KINDS[oid]
    assert read_text(write_text(value)) == value
    assert read_binary(write_binary(value)) == value


@given(values)
def test_psycopg_reads_what_we_write(pair: tuple[int, date]):
    oid, value = pair
    _, _, write_text, write_binary = KINDS[oid]
    assert adapters.get_loader(oid, Format.BINARY)(oid).load(write_binary(value)) == value
    if oid != 1184:  # psycopg's own text reader of timestamptz needs a connection's time zone
        assert adapters.get_loader(oid, Format.TEXT)(oid).load(write_text(value)) == value


@given(values)
def test_we_read_what_psycopg_writes(pair: tuple[int, date]):
    oid, value = pair
    read_text, read_binary, _, _ = KINDS[oid]
    for code, read in ((PyFormat.TEXT, read_text), (PyFormat.BINARY, read_binary)):
        dumper = adapters.get_dumper(type(value), code)(type(value))
        dumper = dumper.upgrade(value, code)
        assert read(bytes(dumper.dump(value))) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2024, 1, 2, 3, 4, 5), b"2024-01-02 03:04:05"),  # noqa: DTZ001
        (datetime(2024, 1, 2, 3, 4, 5, 120000), b"2024-01-02 03:04:05.12"),  # noqa: DTZ001
        (datetime(99, 1, 2, 0, 0, 0, 1), b"0099-01-02 00:00:00.000001"),  # noqa: DTZ001
    ],
)
def test_timestamps_as_postgresql_prints_them(value: datetime, text: bytes):
    assert d.write_timestamp_text(value) == text
    assert d.write_timestamptz_text(value.replace(tzinfo=UTC)) == text + b"+00"


def test_a_zone_moves_a_timestamptz_only():
    text = b"2024-01-02T03:04:05.5+05:30"
    assert d.read_timestamptz_text(text) == datetime(2024, 1, 1, 21, 34, 5, 500000, tzinfo=UTC)
    assert d.read_timestamp_text(text) == datetime(2024, 1, 2, 3, 4, 5, 500000)  # noqa: DTZ001
    assert d.read_date_text(b"2024-01-02 +05") == date(2024, 1, 2)
    assert d.read_timestamptz_text(b"2024-01-02") == datetime(2024, 1, 2, tzinfo=UTC)


def test_more_than_six_digits_round():
    assert d.read_timestamp_text(b"2024-01-02 23:59:59.9999995") == datetime(2024, 1, 3)  # noqa: DTZ001
    assert d.read_timestamp_text(b"2024-01-02 00:00:00.0000005") == datetime(2024, 1, 2)  # noqa: DTZ001
    assert d.read_date_text(b"2024-01-02 23:59:59.9999995") == date(2024, 1, 2)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"24-01-01", b"2024-01-01 BC", b"infinite", b"2024-W01-1", b"2024-01-01 00:00+16", b"2024-01-01-02",
        b"20240101-02", b"2024-01-01 00:00+01:99", b"2024-01-01 00:00+010203", b"2024-01-01\x1c", b"\xff",
    ],
)  # fmt: skip
def test_not_a_date(text: bytes):
    for oid in KINDS:
        with pytest.raises(InvalidMoment):
            decode(BY_OID[oid], text, 0)


@pytest.mark.parametrize(
    "text", ["2024-13-01", "2024-02-30", "20230229", "2024-01-01 25:00", "2024-01-01 00:00:61"]
)
def test_no_such_day_or_hour(text: str):
    for oid in KINDS:
        with pytest.raises(DateOutOfRange):
            decode(BY_OID[oid], text.encode(), 0)


def test_bc_and_what_is_after_9999_are_out_of_range():
    for data in (b"\x7f\xff\xff\xfe", b"\x80\0\0\1"):
        with pytest.raises(NumberOutOfRange):
            decode(DATE, data, 1)
        with pytest.raises(NumberOutOfRange):
            decode(TIMESTAMP, data + data, 1)


def test_wrong_sizes():
    for oid in KINDS:
        with pytest.raises(InvalidText):
            decode(BY_OID[oid], b"\0\0\0", 1)


def test_infinity():
    for read, write, code in (
        (d.read_date_text, d.write_date_text, 0),
        (d.read_date_binary, d.write_date_binary, 4),
        (d.read_timestamp_text, d.write_timestamp_text, 0),
        (d.read_timestamp_binary, d.write_timestamp_binary, 8),
        (d.read_timestamptz_text, d.write_timestamptz_text, 0),
        (d.read_timestamptz_binary, d.write_timestamptz_binary, 8),
    ):
        for one in d.Endless:
            written = write(one)
            assert written == (one.number(code) if code else one.value)
            assert read(written) is one
