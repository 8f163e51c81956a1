"""Bodies of the client's messages, read from bytes (PostgreSQL documentation, "Message Formats").

A reader takes the body after the length field, and uses up every byte of it or raises ``ProtocolViolation``.
"""

import re
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from dpproxy.values.errors import InvalidBytes, ProtocolViolation
from dpproxy.wire.messages import (
    Bind,
    CancelRequest,
    Close,
    CopyData,
    CopyDone,
    CopyFail,
    Describe,
    Execute,
    Flush,
    Frontend,
    GSSENCRequest,
    Parse,
    Query,
    SASLInitialResponse,
    SASLResponse,
    SSLRequest,
    Startup,
    Sync,
    Terminate,
)

MAX_STARTUP: Final = 10_000
MAX_SASL: Final = 4 * 1024
MAX_NAME: Final = 64 * 1024
MAX_SQL: Final = 1024 * 1024
MAX_BIND: Final = 1024 * 1024
MAX_COPY: Final = 1024 * 1024
MIN_STARTUP: Final = 4
MOST_SECRET: Final = 256

MAJOR_VERSION: Final = 3


class _Body:
    """A cursor over one body; every step checks that the bytes are there."""

    __slots__ = ("_at", "_bytes")

    def __init__(self, body: bytes) -> None:
        self._bytes = body
        self._at = 0

    @property
    def rest(self) -> int:
        return len(self._bytes) - self._at

    def take(self, size: int) -> bytes:
        if size > self.rest:
            raise ProtocolViolation("message ends inside a field")
        start, self._at = self._at, self._at + size
        return self._bytes[start : self._at]

    def int16(self) -> int:
        return int.from_bytes(self.take(2), "big")

    def int32(self, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(4), "big", signed=signed)

    def int16s(self) -> tuple[int, ...]:
        count = self.int16()
        return struct.unpack(f"!{count}H", self.take(2 * count))

    def int32s(self) -> tuple[int, ...]:
        count = self.int16()
        return struct.unpack(f"!{count}I", self.take(4 * count))

    def until_zero(self) -> bytes:
        end = self._bytes.find(b"\0", self._at)
        if end < 0:
            raise ProtocolViolation("string without its terminating zero byte")
        start, self._at = self._at, end + 1
        return self._bytes[start:end]

    def string(self) -> str:
        try:
            return self.until_zero().decode("utf-8")
        except UnicodeDecodeError:
            raise ProtocolViolation("string is not UTF-8") from None

    def text(self) -> str:
        """A string of a session: a byte that is not UTF-8 is kept, for ``check_text`` to refuse."""
        return self.until_zero().decode("utf-8", "surrogateescape")

    def value(self) -> bytes | None:
        """Int32 length and that many bytes; length -1 is NULL."""
        size = self.int32(signed=True)
        if size == -1:
            return None
        if size < 0:
            raise ProtocolViolation(f"value of negative length {size}")
        return self.take(size)

    def kind(self) -> bytes:
        kind = self.take(1)
        if kind not in {b"S", b"P"}:
            raise ProtocolViolation(f"kind {kind!r} is neither b'S' (statement) nor b'P' (portal)")
        return kind

    def end(self) -> None:
        if self.rest:
            raise ProtocolViolation("message has bytes after its last field")


# --- before the session: no type byte, told apart by the version field -------------------------------


def _cancel(body: _Body) -> CancelRequest:
    process, size = body.int32(), body.rest
    if not 4 <= size <= MOST_SECRET:
        raise ProtocolViolation(f"a cancel key of {size} bytes")
    return CancelRequest(process, body.take(size))


def _parameters(body: _Body) -> dict[str, str]:
    parameters: dict[str, str] = {}
    while name := body.string():
        if name in parameters:
            raise ProtocolViolation("startup parameter given twice")
        parameters[name] = body.string()
    return parameters


_REQUESTS: Final[Mapping[int, Callable[[_Body], Frontend]]] = MappingProxyType({
    (1234 << 16) | 5678: _cancel,
    (1234 << 16) | 5679: lambda _: SSLRequest(),
    (1234 << 16) | 5680: lambda _: GSSENCRequest(),
})  # fmt: skip


def _startup(body: _Body) -> Frontend:
    """A startup packet or one of the three requests that may stand in its place."""
    code = body.int32()
    if code in _REQUESTS:
        return _REQUESTS[code](body)
    if code >> 16 == MAJOR_VERSION:
        return Startup(_parameters(body), code & 0xFFFF)
    raise ProtocolViolation(f"unsupported frontend protocol {code >> 16}.{code & 0xFFFF}: it is 3 here")


# --- the session -------------------------------------------------------------------------------------


class Reader(Struct, frozen=True):
    """How to read one message: the largest body in bytes, and how its fields are taken, which are all of it."""

    limit: int
    take: Callable[[_Body], Frontend]

    def read(self, packet: bytes) -> Frontend:
        """The message of a body."""
        body = _Body(packet)
        message = self.take(body)
        body.end()
        return message


def _bind(body: _Body) -> Bind:
    portal, statement, formats = body.text(), body.text(), body.int16s()
    values = tuple(body.value() for _ in range(body.int16()))
    if len(formats) not in {0, 1, len(values)}:
        raise ProtocolViolation(f"Bind has {len(formats)} parameter formats for {len(values)} parameters")
    return Bind(portal, statement, formats, values, body.int16s())


_NO_TEXT: Final = re.compile(r"[\ud800-\udfff]").search
_TEXTS: Final[Mapping[type[Frontend], tuple[str, ...]]] = MappingProxyType({
    Query: ("sql",), Parse: ("sql", "name"), Bind: ("portal", "statement"), Describe: ("name",), Execute: ("portal",),
    Close: ("name",),
})  # fmt: skip


def check_text(message: Frontend) -> None:
    """Raise ``InvalidBytes`` for a message of a session with bytes that are not UTF-8."""
    for name in _TEXTS.get(type(message), ()):
        text: str = getattr(message, name)
        if not text.isascii() and (found := _NO_TEXT(text)) is not None:
            byte = ord(found[0]) & 0xFF
            raise InvalidBytes(f'invalid byte sequence for encoding "UTF8": 0x{byte:02x}')


STARTUP: Final = Reader(MAX_STARTUP, _startup)
SASL_INITIAL: Final[Mapping[bytes, Reader]] = MappingProxyType({
    b"p": Reader(MAX_SASL, lambda b: SASLInitialResponse(b.string(), b.value() or b"")),
})  # fmt: skip
"""The mechanism and the client-first message; an absent one (length -1) is empty."""
SASL_RESPONSE: Final[Mapping[bytes, Reader]] = MappingProxyType({
    b"p": Reader(MAX_SASL, lambda b: SASLResponse(b.take(b.rest))),
})  # fmt: skip
SESSION: Final[Mapping[bytes, Reader]] = MappingProxyType({
    b"Q": Reader(MAX_SQL, lambda b: Query(b.text())),
    b"P": Reader(MAX_SQL, lambda b: Parse(b.text(), b.text(), b.int32s())),
    b"B": Reader(MAX_BIND, _bind),
    b"D": Reader(MAX_NAME, lambda b: Describe(b.kind(), b.text())),
    # PostgreSQL takes any limit below one as "no limit".
    b"E": Reader(MAX_NAME, lambda b: Execute(b.text(), max(b.int32(signed=True), 0))),
    b"C": Reader(MAX_NAME, lambda b: Close(b.kind(), b.text())),
    b"S": Reader(0, lambda _: Sync()),
    b"H": Reader(0, lambda _: Flush()),
    b"X": Reader(0, lambda _: Terminate()),
    b"d": Reader(MAX_COPY, lambda b: CopyData(b.take(b.rest))),
    b"c": Reader(0, lambda _: CopyDone()),
    b"f": Reader(MAX_NAME, lambda b: CopyFail(b.text())),
})  # fmt: skip
