import struct

import pytest

from dpproxy.values.errors import InvalidBytes, ProtocolViolation
from dpproxy.wire import messages as m
from dpproxy.wire.frontend import MAX_SQL, SASL_INITIAL, SESSION, STARTUP, check_text

VERSION = struct.pack("!HH", 3, 0)


def read(tag: bytes, body: bytes) -> m.Frontend:
    return SESSION[tag].read(body)


def test_startup_keeps_parameters_and_minor_version():
    packet = struct.pack("!HH", 3, 2) + b"user\0ann\0options\0-c a=b\0_pq_.x\0\0\0"
    assert STARTUP.read(packet) == m.Startup({"user": "ann", "options": "-c a=b", "_pq_.x": ""}, 2)


def test_requests_in_place_of_a_startup():
    assert STARTUP.read(struct.pack("!HH", 1234, 5679)) == m.SSLRequest()
    assert STARTUP.read(struct.pack("!HH", 1234, 5680)) == m.GSSENCRequest()
    assert STARTUP.read(struct.pack("!HHII", 1234, 5678, 7, 2**32 - 1)) == m.CancelRequest(7, b"\xff" * 4)


@pytest.mark.parametrize(
    "packet",
    [
        b"\0\2\0\0user\0ann\0\0",  # protocol 2
        struct.pack("!HH", 1234, 5677),
        struct.pack("!HH", 1234, 5679) + b"x",
        struct.pack("!HHI", 1234, 5678, 7),
        struct.pack("!HHI257x", 1234, 5678, 7),
        VERSION,
        VERSION + b"user\0ann\0",
        VERSION + b"user\0ann",
        VERSION + b"user\0ann\0\0x",
        VERSION + b"user\0ann\0user\0bob\0\0",
        VERSION + b"user\0\xff\0\0",
    ],
)
def test_bad_startup_packets(packet: bytes):
    with pytest.raises(ProtocolViolation):
        STARTUP.read(packet)


@pytest.mark.parametrize(
    ("tag", "body"),
    [
        (b"Q", b""),
        (b"Q", b"SELECT 1"),
        (b"Q", b"SELECT\0 1\0"),
        (b"P", b"a\0SELECT 1\0"),
        (b"P", b"a\0SELECT 1\0\0\2\0\0\0\0"),
        (b"P", b"a\0SELECT 1\0\0\0x"),
        (b"B", b"\0\0\0\0\0\1\xff\xff\xff\xfe\0\0"),  # length -2
        (b"B", b"\0\0\0\0\0\1\0\0\0\2a\0\0"),  # value runs into the formats
        (b"B", b"\0\0\0\2\0\0\0\0\0\1\0\0\0\1a\0\0"),  # two formats for one value
        (b"B", b"\0\0\0\0\0\0\0\0\0"),
        (b"D", b"X\0"),
        (b"D", b"S"),
        (b"C", b""),
        (b"E", b"a\0\0\0\0"),
        (b"E", b"a\0\0\0\0\0\0"),
        (b"f", b"no"),
    ],
)
def test_bad_bodies(tag: bytes, body: bytes):
    with pytest.raises(ProtocolViolation):
        read(tag, body)


def test_execute_takes_a_negative_limit_as_none():
    assert read(b"E", b"p\0\xff\xff\xff\xff") == m.Execute("p", 0)


def test_a_null_parameter_is_not_an_empty_one():
    bind = read(b"B", b"\0s\0\0\0\0\2\xff\xff\xff\xff\0\0\0\0\0\1\0\1")
    assert bind == m.Bind("", "s", (), (None, b""), (1,))


def test_sasl_initial_response():
    sasl = SASL_INITIAL[b"p"].read
    assert sasl(b"SCRAM-SHA-256\0\0\0\0\2ab") == m.SASLInitialResponse("SCRAM-SHA-256", b"ab")
    assert sasl(b"SCRAM-SHA-256\0\xff\xff\xff\xff") == m.SASLInitialResponse("SCRAM-SHA-256", b"")
    for bad in (b"", b"X\0\0\0\0\3ab", b"X\0\0\0\0\1ab", b"X\0\xff\xff\xff\xfe"):
        with pytest.raises(ProtocolViolation):
            sasl(bad)


def test_a_long_statement_reads():
    sql = "x" * (MAX_SQL - 1)
    assert read(b"Q", sql.encode() + b"\0") == m.Query(sql)


def test_bytes_that_are_no_text_are_for_the_session_to_refuse():
    for tag, body in (
        (b"Q", b"SELECT '\xff'\0"),
        (b"P", b"a\0\xff\0\0\0"),
        (b"D", b"S\xff\0"),
        (b"E", b"\xff\0\0\0\0\0"),
    ):
        message = SESSION[tag].read(body)
        with pytest.raises(InvalidBytes, match="0xff"):
            check_text(message)
    for sql in ("SELECT 1", "SELECT 'é \U0010ffff'"):
        check_text(SESSION[b"Q"].read(sql.encode() + b"\0"))
