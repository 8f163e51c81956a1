import struct

import pytest

from dpproxy.wire import messages as m
from dpproxy.wire.backend import encode

EXAMPLES: list[tuple[m.Backend, bytes]] = [
    (m.EncryptionAnswer(accepted=True), b"S"),
    (m.EncryptionAnswer(accepted=False), b"N"),
    (m.AuthenticationSASL(("SCRAM-SHA-256",)), b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0"),
    (m.AuthenticationSASLContinue(b"r=x"), b"R\0\0\0\x0b\0\0\0\x0br=x"),
    (m.AuthenticationSASLFinal(b"v=x"), b"R\0\0\0\x0b\0\0\0\x0cv=x"),
    (m.AuthenticationOk(), b"R\0\0\0\x08\0\0\0\0"),
    (m.NegotiateProtocolVersion(0, ("_pq_.a",)), b"v\0\0\0\x13\0\3\0\0\0\0\0\1_pq_.a\0"),
    (m.ParameterStatus("a", "b"), b"S\0\0\0\x08a\0b\0"),
    (m.BackendKeyData(1, b"\xff" * 4), b"K\0\0\0\x0c\0\0\0\1\xff\xff\xff\xff"),
    (m.ReadyForQuery(b"I"), b"Z\0\0\0\5I"),
    (m.ParameterDescription((23, 25)), b"t\0\0\0\x0e\0\2\0\0\0\x17\0\0\0\x19"),
    (m.NoData(), b"n\0\0\0\4"),
    (m.DataRows(b"D\0\0\0\6\0\0"), b"D\0\0\0\6\0\0"),
    (m.CopyOutResponse(1, 2), b"H\0\0\0\x0b\1\0\2\0\1\0\1"),
    (m.CopyRows(b"d\0\0\0\5x"), b"d\0\0\0\5x"),
    (m.CopyOutDone(), b"c\0\0\0\4"),
    (m.CommandComplete("SELECT 1"), b"C\0\0\0\x0dSELECT 1\0"),
    (m.EmptyQueryResponse(), b"I\0\0\0\4"),
    (m.PortalSuspended(), b"s\0\0\0\4"),
    (m.ParseComplete(), b"1\0\0\0\4"),
    (m.BindComplete(), b"2\0\0\0\4"),
    (m.CloseComplete(), b"3\0\0\0\4"),
    (m.RowDescription(()), b"T\0\0\0\6\0\0"),
    (
        m.ErrorResponse("42601", "no", "d", "h", 7),
        b"E\0\0\0\x27SERROR\0VERROR\0C42601\0Mno\0Dd\0Hh\0P7\0\0",
    ),
    (
        m.NoticeResponse("00000", "so"),
        b"N\0\0\0\x20SNOTICE\0VNOTICE\0C00000\0Mso\0\0",
    ),
]


@pytest.mark.parametrize(("message", "expected"), EXAMPLES, ids=lambda v: type(v).__name__)
def test_bytes_of(message: m.Backend, expected: bytes):
    assert encode(message) == expected


def test_every_message_has_an_example():
    assert {type(message) for message, _ in EXAMPLES} == set(m.Backend.__args__)


def test_row_description_field():
    field = m.FieldDescription("n", 1700, -1, 655366, 1)
    body = struct.pack("!HhIhih", 0, 0, 1700, -1, 655366, 1)
    assert encode(m.RowDescription((field,))) == b"T\0\0\0\x1a\0\1n\0" + struct.pack("!I", 0) + body[2:]


def test_absent_fields_are_left_out():
    assert encode(m.ErrorResponse("XX000", "no")).endswith(b"Mno\0\0")


def test_a_zero_byte_cannot_forge_a_field():
    forged = encode(m.ErrorResponse("XX000", "no\0C00000"))
    assert forged.count(b"\0C") == 1
