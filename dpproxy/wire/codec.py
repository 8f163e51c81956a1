"""Bytes to the client's messages, and the server's messages to bytes; no input or output here."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import Final

from dpproxy.values.errors import ProtocolViolation
from dpproxy.wire.backend import encode, frame
from dpproxy.wire.frontend import MIN_STARTUP, SASL_INITIAL, SASL_RESPONSE, SESSION, STARTUP, Reader
from dpproxy.wire.messages import Frontend

__all__ = ["Decoder", "Phase", "encode", "frame"]


class Phase(Enum):
    """Which messages the bytes can be; ``Connection`` sets it, as the bytes alone do not tell."""

    STARTUP = auto()
    SASL_INITIAL = auto()
    SASL_RESPONSE = auto()
    SESSION = auto()


_READERS: Final[Mapping[Phase, Mapping[bytes, Reader]]] = MappingProxyType({
    Phase.SASL_INITIAL: SASL_INITIAL,
    Phase.SASL_RESPONSE: SASL_RESPONSE,
    Phase.SESSION: SESSION,
})  # fmt: skip
_LENGTH: Final = struct.Struct("!I")
_HEADER: Final = struct.Struct("!cI")


@dataclass(slots=True)
class Decoder:
    """Feed bytes in any cut; take whole messages out.

    A length is judged as soon as its four bytes are there, so a body over its limit is never held. After a
    ``ProtocolViolation`` the stream has lost its framing: feed no more.

    >>> decoder = Decoder(Phase.SESSION)
    >>> list(decoder.feed(b"Q" + (13).to_bytes(4, "big") + b"SELECT"))
    []
    >>> list(decoder.feed(b" 1" + bytes(1)))
    [Query(sql='SELECT 1')]
    """

    phase: Phase = Phase.STARTUP
    _buffer: bytearray = field(default_factory=bytearray, repr=False)

    @property
    def pending(self) -> int:
        """Bytes fed and not yet given out as a message."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[Frontend]:
        """Take ``data`` at once and give each complete message; ``phase`` may change between two of them.

        Raises:
            ProtocolViolation: while iterating, for anything the protocol does not allow.
        """
        self._buffer += data
        return self._messages()

    def clear(self) -> None:
        """Forget what is pending."""
        self._buffer.clear()

    def _messages(self) -> Iterator[Frontend]:
        while (header := self._header()) is not None:
            reader, start, end = header
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[start:end])
            del self._buffer[:end]
            yield reader.read(body)

    def _header(self) -> tuple[Reader, int, int] | None:
        """The next message's reader and where its body starts and ends; None while the header is short."""
        if self.phase is Phase.STARTUP:
            if len(self._buffer) < _LENGTH.size:
                return None
            (length,) = _LENGTH.unpack_from(self._buffer)
            _check_length(length, MIN_STARTUP, STARTUP.limit)
            return STARTUP, 4, length
        if not self._buffer:
            return None
        reader = _READERS[self.phase].get(bytes(self._buffer[:1]))
        if reader is None:
            raise ProtocolViolation(f"message type {bytes(self._buffer[:1])!r} is unknown or out of place")
        if len(self._buffer) < _HEADER.size:
            return None
        (_, length) = _HEADER.unpack_from(self._buffer)
        _check_length(length, 0, reader.limit)
        return reader, 5, 1 + length


def _check_length(length: int, smallest: int, largest: int) -> None:
    """``length`` counts its own four bytes; the bounds are those of the body."""
    if not smallest <= length - 4 <= largest:
        raise ProtocolViolation(f"message length {length} is out of range")
