"""The server's messages as bytes (PostgreSQL documentation, "Message Formats")."""

import struct
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from dpproxy.wire.messages import (
    AuthenticationOk,
    AuthenticationSASL,
    AuthenticationSASLContinue,
    AuthenticationSASLFinal,
    Backend,
    BackendKeyData,
    BindComplete,
    CloseComplete,
    CommandComplete,
    CopyOutDone,
    CopyOutResponse,
    CopyRows,
    DataRows,
    EmptyQueryResponse,
    EncryptionAnswer,
    ErrorResponse,
    FieldDescription,
    NegotiateProtocolVersion,
    NoData,
    NoticeResponse,
    ParameterDescription,
    ParameterStatus,
    ParseComplete,
    PortalSuspended,
    ReadyForQuery,
    RowDescription,
)


def _string(text: str) -> bytes:
    # A zero byte would end the string early and let the rest read as the next field.
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace") + b"\0"


def _strings(texts: Iterable[str]) -> bytes:
    return b"".join(map(_string, texts))


def _authentication(code: int, data: bytes = b"") -> bytes:
    return struct.pack("!I", code) + data


def _field(field: FieldDescription) -> bytes:
    # No column stands for a table's: table OID and attribute number are 0.
    return _string(field.name) + struct.pack(
        "!IHIhih", 0, 0, field.oid, field.size, field.modifier, field.format
    )


def _report(message: ErrorResponse | NoticeResponse, position: int | None) -> bytes:
    fields = {
        b"S": message.severity,
        b"V": message.severity,
        b"C": message.sqlstate,
        b"M": message.message,
        b"D": message.detail,
        b"H": message.hint,
        b"P": None if position is None else str(position),
    }
    return b"".join(code + _string(text) for code, text in fields.items() if text is not None) + b"\0"


_BODIES: Final[Mapping[type, tuple[bytes, Callable[[Any], bytes]]]] = MappingProxyType({
    AuthenticationOk: (b"R", lambda _: _authentication(0)),
    AuthenticationSASL: (b"R", lambda m: _authentication(10, _strings(m.mechanisms) + b"\0")),
    AuthenticationSASLContinue: (b"R", lambda m: _authentication(11, m.data)),
    AuthenticationSASLFinal: (b"R", lambda m: _authentication(12, m.data)),
    NegotiateProtocolVersion: (b"v", lambda m: struct.pack("!HHI", 3, m.minor, len(m.unknown)) + _strings(m.unknown)),
    ParameterStatus: (b"S", lambda m: _string(m.name) + _string(m.value)),
    BackendKeyData: (b"K", lambda m: struct.pack("!I", m.process) + m.secret),
    ReadyForQuery: (b"Z", lambda m: m.status),
    RowDescription: (b"T", lambda m: struct.pack("!H", len(m.fields)) + b"".join(map(_field, m.fields))),
    ParameterDescription: (b"t", lambda m: struct.pack(f"!H{len(m.oids)}I", len(m.oids), *m.oids)),
    CopyOutResponse: (b"H", lambda m: struct.pack(f"!bH{m.columns}H", m.format, m.columns, *[m.format] * m.columns)),
    CopyOutDone: (b"c", lambda _: b""),
    CommandComplete: (b"C", lambda m: _string(m.text)),
    ErrorResponse: (b"E", lambda m: _report(m, m.position)),
    NoticeResponse: (b"N", lambda m: _report(m, None)),
    NoData: (b"n", lambda _: b""),
    EmptyQueryResponse: (b"I", lambda _: b""),
    PortalSuspended: (b"s", lambda _: b""),
    ParseComplete: (b"1", lambda _: b""),
    BindComplete: (b"2", lambda _: b""),
    CloseComplete: (b"3", lambda _: b""),
})  # fmt: skip
"""By class, the type byte of a message and how its body is made."""


def frame(tag: bytes, body: bytes) -> bytes:
    """A message: type byte, length of itself and the body, body."""
    return tag + struct.pack("!I", len(body) + 4) + body


def encode(message: Backend) -> bytes:
    """The message's bytes.

    ``process`` is an unsigned 32-bit number; an error's ``position`` counts from 1.
    """
    if isinstance(message, EncryptionAnswer):
        return b"S" if message.accepted else b"N"
    if isinstance(message, DataRows | CopyRows):
        return message.framed
    tag, body = _BODIES[type(message)]
    return frame(tag, body(message))
