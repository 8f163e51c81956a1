"""The same bytes for the same values as a real PostgreSQL, in both formats, and what it writes is read."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.pq import Format

from dpproxy.values import pgtypes as t
from dpproxy.values.errors import DateOutOfRange, InvalidText, NumberOutOfRange
from dpproxy.values.pgtypes import SqlType, array_of
from dpproxy.wire.intervals import Interval
from dpproxy.wire.objects import read_inet_text
from dpproxy.wire.times import END_OF_DAY
from dpproxy.wire.values import decode, encode_value
from tests.postgres import Server

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
zones = st.integers(-15 * 60, 15 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
VALUES: dict[SqlType, st.SearchStrategy[Any]] = {
    t.BOOL: st.booleans(),
    t.BYTEA: st.binary(max_size=20),
    t.CHAR: st.sampled_from(["", "r", "7", "-"]),
    t.NAME: st.text("abc ü\"'", max_size=10),
    t.INT2: st.integers(-(2**15), 2**15 - 1),
    t.INT4: st.integers(-(2**31), 2**31 - 1),
    t.INT8: st.integers(-(2**63), 2**63 - 1),
    t.TEXT: texts,
    t.VARCHAR: texts,
    t.OID: st.integers(0, 2**32 - 1),
    t.XID: st.integers(0, 2**32 - 1),
    t.JSON: st.sampled_from(['{"a": [1, null, "x"]}', "[]", '"ü"', "1.50", "null"]),
    t.JSONB: st.sampled_from(['{"a": [1, null, "x"]}', "[]", '"ü"', "1.50", "null"]),
    t.FLOAT4: st.floats(width=32, allow_nan=False),
    t.FLOAT8: st.floats(allow_nan=False),
    t.DATE: st.dates(),
    t.TIME: st.times() | st.just(END_OF_DAY),
    t.TIMETZ: st.times(timezones=zones),
    t.TIMESTAMP: st.datetimes(),
    t.TIMESTAMPTZ: st.datetimes(datetime(2, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    t.INTERVAL: st.builds(
        Interval,
        st.integers(-(2**30), 2**30) | st.integers(-30, 30),
        st.integers(-(2**30), 2**30) | st.integers(-30, 30),
        st.integers(-(2**60), 2**60) | st.integers(-(10**8), 10**8) | st.just(0),
    ),
    t.NUMERIC: st.decimals(Decimal(-(10**30)), Decimal(10**30), allow_nan=False),
    t.UUID: st.uuids(),
    t.INET: st.ip_addresses().map(lambda address: read_inet_text(str(address).encode())),
}


@pytest.fixture(scope="module")
def real(postgres: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        yield connection


def answer(
    real: psycopg.Connection, kind: SqlType, data: bytes | None, given: int, wanted: int
) -> bytes | None:
    """What PostgreSQL writes of a value that it was sent."""
    name = f'"{kind.name.removeprefix("_")}"{"[]" if kind.name.startswith("_") else ""}'
    found = real.pgconn.exec_params(
        f"SELECT $1::{name}".encode(), [data], [kind.oid], [Format(given)], Format(wanted)
    )
    assert found.status == psycopg.pq.ExecStatus.TUPLES_OK, found.error_message
    assert found.ftype(0) == kind.oid
    return found.get_value(0, 0)


def check(real: psycopg.Connection, kind: SqlType, value: object) -> None:
    ours = [encode_value(kind, value, code) for code in (0, 1)]
    for sent in (0, 1):
        theirs = [answer(real, kind, ours[sent], sent, wanted) for wanted in (0, 1)]
        assert theirs == ours
    assert [decode(kind, data, code) for code, data in enumerate(ours) if data is not None] == [value, value]


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.name)
def test_a_value(real: psycopg.Connection, kind: SqlType):
    @settings(deadline=None)
    @given(VALUES[kind])
    def run(value: object) -> None:
        if kind is t.JSONB:  # normalised there: only what it writes is compared
            data = answer(real, kind, encode_value(kind, value, 1), 1, 1)
            assert data is not None
            assert encode_value(kind, decode(kind, data, 1), 1) == data
            return
        check(real, kind, value)

    run()


@pytest.mark.parametrize("kind", [k for k in VALUES if k is not t.JSONB], ids=lambda kind: kind.name)
def test_an_array(real: psycopg.Connection, kind: SqlType):
    one = st.none() | VALUES[kind]
    rows = st.integers(1, 3).flatmap(
        lambda n: st.lists(st.lists(one, min_size=n, max_size=n), min_size=1, max_size=3)
    )

    @settings(deadline=None)
    @given(st.lists(one, max_size=4) | rows)
    def run(values: list[object]) -> None:
        check(real, array_of(kind), values)

    run()


@pytest.mark.parametrize("kind", [t.INT2VECTOR, t.OIDVECTOR], ids=lambda kind: kind.name)
@pytest.mark.parametrize("values", [[], [7], [1, 2, 3]], ids=str)
def test_a_vector(real: psycopg.Connection, kind: SqlType, values: list[object]):
    for wanted in (0, 1):
        text = " ".join(map(str, values)).encode()
        if wanted and not values:
            continue  # PostgreSQL keeps an empty one as one dimension of no values
        assert answer(real, kind, text, 0, wanted) == encode_value(kind, values, wanted)
    assert decode(kind, text, 0) == values


ARRAYS = (
    '{}', '{1,2}', '{ 1 , NULL , null }', '{"1", "NULL"}', '{{1,2},{3,4}}', '[2:3]={5,6}', '{a b,"c d", e }',
    '{\\{,"\\"\\\\"}', '{{1},{2,3}}', '{1', '1}', '{1,}', '{,1}', '{"a"b}', '{a"b"}', '{{1},2}', '{}x', '{a\\ }', '',
)  # fmt: skip


@pytest.mark.parametrize("text", ARRAYS)
def test_texts_of_arrays(real: psycopg.Connection, text: str):
    check_text(real, t.SqlType("_text", 1009, -1), text)


INTERVALS = (
    "1 year 2 mons 3 days 04:05:06.7", "1 day ago", "-1 day", "@ 1 min", "1 week", "1 fortnight", "04:05", "-04:05:06",
    "1-2", "-1-2", "P1Y2M3DT4H5M6S", "PT1.5S", "P1W", "P", "PT", "1.5 days", "1.5 months", "1.5 years", "2 decades",
    "1 century", "3 ms", "3 us", "3", "3.25", "3 d 4 h", "1 day, 2:03:04", "", "x", "1 year -2 mons", "1 dayx", "04:99",
    "3 days 4", "1 min 04:05", "1 year 1-2",
    "1 mon 1 mon", "0.1 week", "10:00:60", "P-1Y2DT-3S", "1 hour 30 minutes", "1y 2mon", "200:00:00",
)  # fmt: skip


@pytest.mark.parametrize("text", INTERVALS)
def test_texts_of_intervals(real: psycopg.Connection, text: str):
    check_text(real, t.INTERVAL, text)


UUIDS = (
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC999C0B4EF8BB6D6BB9BD380A11",
    "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}", "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "a0eebc99", "",
    "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1",
    "a0eebc9-99c0b-4ef8-bb6d-6bb9bd380a11",
)  # fmt: skip


@pytest.mark.parametrize("text", UUIDS)
def test_texts_of_uuids(real: psycopg.Connection, text: str):
    check_text(real, t.UUID, text)


@pytest.mark.parametrize(
    "text", ["24:00:00", "24:00:01", "12:60:00", "10:11", "10:11:12.1234567", "25:00", "x"]
)
def test_texts_of_times(real: psycopg.Connection, text: str):
    check_text(real, t.TIME, text)


@pytest.mark.parametrize("text", ["{", "{}", "[1, 2", "1", "nul", '"a', "NaN", '{"a":1,"a":2}', "", " 1 "])
def test_texts_of_json(real: psycopg.Connection, text: str):
    check_text(real, t.JSON, text)


def check_text(real: psycopg.Connection, kind: SqlType, text: str) -> None:
    """Read alike, or refused alike."""
    try:
        value = decode(kind, text.encode(), 0)
    except (InvalidText, NumberOutOfRange):
        with pytest.raises(AssertionError):
            answer(real, kind, text.encode(), 0, 1)
        return
    if kind.oid == t.SqlType("_text", 1009, -1).oid and text.startswith("["):
        assert answer(real, kind, text.encode(), 0, 0) == text.encode()  # bounds are kept there
        return
    assert answer(real, kind, text.encode(), 0, 1) == encode_value(kind, value, 1)


ZONES = (
    "UTC",
    "Europe/Berlin",
    "america/new_york",
    "Asia/Kolkata",
    "+5",
    "-08:00",
    "EST5EDT",
    "UTC+3",
    "Etc/GMT-14",
)


@pytest.mark.parametrize("zone", ZONES)
def test_moments_in_a_zone(real: psycopg.Connection, zone: str):
    @settings(deadline=None)
    @given(st.datetimes(datetime(1800, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
    def run(value: datetime) -> None:
        kind = SqlType("timestamptz", 1184, 8, style=zone)
        check(real, kind, value)

    real.execute("SELECT set_config('TimeZone', %s, false)", [zone])
    try:
        run()
        local = b"2024-03-05 06:07:08"
        read = decode(SqlType("timestamptz", 1184, 8, style=zone), local, 0)
        assert answer(real, t.TIMESTAMPTZ, local, 0, 1) == encode_value(t.TIMESTAMPTZ, read, 1)
    finally:
        real.execute("RESET TimeZone")


def both(*numbers: int) -> list[int]:
    return [0, *numbers, *(-number for number in numbers)]


SECOND = 1_000_000
TICKS = both(1, SECOND // 2, SECOND, SECOND * 3 // 2, 2 * SECOND, 60 * SECOND, 61 * SECOND, 3600 * SECOND,
             3601 * SECOND, 3660 * SECOND, 3661 * SECOND)  # fmt: skip
EVERY_SIGN = [Interval(*parts) for parts in product(both(1, 11, 12, 13, 25), both(1, 2), TICKS)]


@pytest.mark.parametrize("style", ["postgres", "postgres_verbose", "sql_standard", "iso_8601"])
def test_intervals_in_a_style(real: psycopg.Connection, style: str):
    kind = SqlType("interval", 1186, 16, style=style)

    @settings(deadline=None)
    @given(VALUES[t.INTERVAL])
    def run(value: Interval) -> None:
        theirs = answer(real, t.INTERVAL, encode_value(kind, value, 1), 1, 0)
        assert theirs == encode_value(kind, value, 0)

    real.execute("SELECT set_config('IntervalStyle', %s, false)", [style])
    try:
        for value in EVERY_SIGN:
            theirs = answer(real, t.INTERVAL, encode_value(kind, value, 1), 1, 0)
            assert theirs == encode_value(kind, value, 0), value
        run()
    finally:
        real.execute("RESET IntervalStyle")


def test_bytes_in_the_escape_format(real: psycopg.Connection):
    kind = SqlType("bytea", t.BYTEA.oid, -1, style="escape")
    real.execute("SET bytea_output TO escape")
    try:
        for value in (b"", bytes(range(256)), b"\\x41", b"a\\b'\"", b"\n"):
            theirs = answer(real, t.BYTEA, value, 1, 0)
            assert theirs == encode_value(kind, value, 0)
            assert decode(kind, theirs or b"", 0) == value
            assert encode_value(kind, value, 1) == value
    finally:
        real.execute("RESET bytea_output")


DAYS = (
    "2024-01-02",
    "20240102",
    " 2024-01-02",
    "2024-02-30",
    "0000-01-01",
    "0001-01-01",
    "9999-12-31",
    "24-01-02",
)
HOURS = (
    "", "T00:00:00", " 00:00:00", "t10:20:30", " 10:20", "T10", "x10:20", " 25:00", " 10:60", " 10:20:30,5",
    " 10:20:30.000", " 10:20:30.1234565", " 10:20:30.0000005", " 10:20:30.0000025", " 23:59:59.9999995",
)  # fmt: skip
ZONES = (
    "", "Z", "z", " Z", "UTC", " utc", "+02", " +02", "-02", " -02", "+02:00", "+0200", "-0230", "+15:59:59", "+16",
    "+02:60", "+020000", "+0200:00", "Z ", "\x1c",
)  # fmt: skip


def test_moments_are_read_alike(real: psycopg.Connection):
    """Or refused here: what PostgreSQL reads in further forms need not be."""
    given = [day + hour + zone for day, hour, zone in product(DAYS, HOURS, ZONES)]
    real.execute("""CREATE FUNCTION pg_temp.read(written text, type text) RETURNS text LANGUAGE plpgsql AS $$
        DECLARE found text; BEGIN EXECUTE format('SELECT %L::%s', written, type) INTO found; RETURN found;
        EXCEPTION WHEN data_exception THEN RETURN NULL; END $$""")
    real.execute("SET timezone = 'UTC'")
    for kind in (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ):
        found = real.execute(
            "SELECT pg_temp.read(written, %s) FROM unnest(%s::text[]) WITH ORDINALITY AS u (written, place)"
            " ORDER BY place",
            (kind.name, given),
        ).fetchall()
        read = {text: ours for text in given if (ours := _read(kind, text)) is not None}
        assert len(read) > 500
        theirs = {text: right for text, (right,) in zip(given, found, strict=True) if text in read}
        assert read == theirs


def _read(kind: SqlType, text: str) -> str | None:
    try:
        return (encode_value(kind, decode(kind, text.encode(), 0), 0) or b"").decode()
    except (InvalidText, NumberOutOfRange, DateOutOfRange):
        return None
