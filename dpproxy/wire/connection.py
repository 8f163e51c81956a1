"""The protocol's states: which message may come when, as a table.

No input or output here: bytes go in and legal messages come out; the session reports its decisions by methods.
``Decoder`` cuts the bytes into messages, in whatever pieces they arrive.
"""

import struct
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

from dpproxy.values.errors import Internal, ProtocolViolation
from dpproxy.values.structs import PartlyShown
from dpproxy.wire.backend import encode
from dpproxy.wire.frontend import MIN_STARTUP, SASL_INITIAL, SASL_RESPONSE, SESSION, STARTUP, Reader
from dpproxy.wire.messages import (
    Backend,
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


class Phase(Enum):
    """The set of messages that bytes can be, which depends on the state; ``Connection`` sets it."""

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


class Decoder(PartlyShown, Struct):
    """Feed bytes in any cut; take whole messages out.

    A length is judged as soon as its four bytes are there, so a body over its limit is never held. After a
    ``ProtocolViolation`` the stream has lost its framing: feed no more.

    >>> decoder = Decoder(Phase.SESSION)
    >>> list(decoder.feed(b"Q" + (13).to_bytes(4, "big") + b"SELECT"))
    []
    >>> list(decoder.feed(b" 1" + bytes(1)))
    [Query(sql='SELECT 1')]
    """

    HIDDEN = frozenset({"_buffer"})

    phase: Phase = Phase.STARTUP
    _buffer: bytearray = field(default_factory=bytearray)

    @property
    def pending(self) -> int:
        """The number of bytes that are not yet part of a returned message."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[Frontend]:
        """Take ``data`` at once and give each complete message; ``phase`` may change between two of them.

        Raises:
            ProtocolViolation: while iterating, for anything the protocol does not allow.
        """
        self._buffer += data
        return self._messages()

    def clear(self) -> None:
        """Drop pending bytes."""
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


class ConnectionState(Enum):
    """Where a connection stands. The client must stay quiet in ENCRYPTION_ASKED and VERIFYING."""

    STARTUP = auto()
    ENCRYPTION_ASKED = auto()
    ENCRYPTED = auto()
    AUTHENTICATING = auto()
    CHALLENGED = auto()
    VERIFYING = auto()
    READY = auto()
    EXTENDED = auto()
    SKIP_TO_SYNC = auto()
    CLOSED = auto()


_S = ConnectionState
_COPY: Final = (CopyData, CopyDone, CopyFail)
_EXTENDED: Final = (Parse, Bind, Describe, Execute, Close)

# Every message not named is a violation in that state.
NEXT: Final[Mapping[ConnectionState, Mapping[type[Frontend], ConnectionState]]] = MappingProxyType({
    _S.STARTUP: {
        SSLRequest: _S.ENCRYPTION_ASKED, GSSENCRequest: _S.ENCRYPTION_ASKED, CancelRequest: _S.CLOSED,
        Startup: _S.AUTHENTICATING,
    },
    _S.ENCRYPTION_ASKED: {},
    _S.ENCRYPTED: {CancelRequest: _S.CLOSED, Startup: _S.AUTHENTICATING},
    _S.AUTHENTICATING: {SASLInitialResponse: _S.CHALLENGED},
    _S.CHALLENGED: {SASLResponse: _S.VERIFYING},
    _S.VERIFYING: {},
    _S.READY: {
        Query: _S.READY, Sync: _S.READY, Flush: _S.READY, Terminate: _S.CLOSED,
        **dict.fromkeys(_EXTENDED, _S.EXTENDED), **dict.fromkeys(_COPY, _S.READY),
    },
    _S.EXTENDED: {
        Query: _S.READY, Sync: _S.READY, Flush: _S.EXTENDED, Terminate: _S.CLOSED,
        **dict.fromkeys(_EXTENDED, _S.EXTENDED), **dict.fromkeys(_COPY, _S.EXTENDED),
    },
    _S.SKIP_TO_SYNC: {
        **dict.fromkeys((Query, Flush, *_EXTENDED, *_COPY), _S.SKIP_TO_SYNC),
        Sync: _S.READY, Terminate: _S.CLOSED,
    },
    _S.CLOSED: {},
})  # fmt: skip

# Legal, but without effect: content of a COPY that was refused, and all that follows an error up to Sync.
DROPPED: Final[Mapping[ConnectionState, frozenset[type[Frontend]]]] = MappingProxyType({
    _S.READY: frozenset(_COPY),
    _S.EXTENDED: frozenset(_COPY),
    _S.SKIP_TO_SYNC: frozenset((Query, Flush, *_EXTENDED, *_COPY)),
})  # fmt: skip

# What an error that is told to the client leads to; everywhere else it ends the connection.
FAILED: Final[Mapping[ConnectionState, ConnectionState]] = MappingProxyType({
    _S.READY: _S.READY,
    _S.EXTENDED: _S.SKIP_TO_SYNC,
    _S.SKIP_TO_SYNC: _S.SKIP_TO_SYNC,
})  # fmt: skip

_QUIET: Final = frozenset({_S.ENCRYPTION_ASKED, _S.VERIFYING})
_PHASES: Final[Mapping[ConnectionState, Phase]] = MappingProxyType({
    _S.STARTUP: Phase.STARTUP,
    _S.ENCRYPTED: Phase.STARTUP,
    _S.AUTHENTICATING: Phase.SASL_INITIAL,
    _S.CHALLENGED: Phase.SASL_RESPONSE,
    _S.READY: Phase.SESSION,
    _S.EXTENDED: Phase.SESSION,
    _S.SKIP_TO_SYNC: Phase.SESSION,
})  # fmt: skip


class Connection:
    """One client's side of the protocol.

    Take each message that ``receive`` gives and act on it before taking the next: what is legal next depends
    on the answer. The order is: SSLRequest or GSSENCRequest, answered by ``tls_accepted`` or ``tls_refused``;
    Startup; SASLInitialResponse; SASLResponse, answered by ``login_done``; then the session's messages.
    """

    __slots__ = ("_asked", "_decoder", "_state")

    def __init__(self) -> None:
        self._state = ConnectionState.STARTUP
        self._decoder = Decoder()
        self._asked: set[type[Frontend]] = set()

    @property
    def state(self) -> ConnectionState:
        """Where the connection stands."""
        return self._state

    def receive(self, data: bytes) -> Iterator[Frontend]:
        """Take bytes at once and give the messages that are legal; a closed connection gives none.

        Raises:
            ProtocolViolation: while iterating; the connection is then closed.
        """
        if self._state is ConnectionState.CLOSED:
            return iter(())
        return self._legal(self._decoder.feed(data))

    def send(self, message: Backend) -> bytes:
        """The message's bytes."""
        return encode(message)

    def tls_accepted(self) -> None:
        """TLS starts after the answer ``S``; not one byte may have come before it."""
        self._answer(ConnectionState.ENCRYPTION_ASKED, ConnectionState.ENCRYPTED)

    def tls_refused(self) -> None:
        """The answer was ``N``, to SSLRequest or GSSENCRequest; the client goes on in the clear."""
        self._answer(ConnectionState.ENCRYPTION_ASKED, ConnectionState.STARTUP)

    def login_done(self) -> None:
        """The client is authenticated."""
        self._answer(ConnectionState.VERIFYING, ConnectionState.READY)

    def error_sent(self) -> None:
        """An error was sent: the rest of an extended sequence is skipped up to its Sync."""
        self._enter(FAILED.get(self._state, ConnectionState.CLOSED))

    def close(self) -> None:
        """Read nothing more."""
        self._enter(ConnectionState.CLOSED)

    def _answer(self, asked: ConnectionState, entered: ConnectionState) -> None:
        if self._state is not asked:
            raise Internal(f"answer to {asked.name} in {self._state.name}")
        try:
            self._check_quiet()
        except ProtocolViolation:
            self.close()
            raise
        self._enter(entered)

    def _legal(self, messages: Iterator[Frontend]) -> Iterator[Frontend]:
        try:
            self._check_quiet()
            for message in messages:
                dropped = type(message) in DROPPED.get(self._state, ())
                self._advance(message)
                if not dropped:
                    yield message
                if self._state is ConnectionState.CLOSED:
                    return
        except ProtocolViolation:
            self.close()
            raise

    def _advance(self, message: Frontend) -> None:
        kind = type(message)
        entered = NEXT[self._state].get(kind)
        if entered is None:
            raise ProtocolViolation(f"{kind.__name__} is out of place")
        if entered is ConnectionState.ENCRYPTION_ASKED:
            if kind in self._asked:
                raise ProtocolViolation(f"{kind.__name__} is sent twice")
            self._asked.add(kind)
        self._enter(entered)
        self._check_quiet()

    def _check_quiet(self) -> None:
        # Bytes that came in the clear would otherwise be read as if they had come encrypted (CVE-2021-23214).
        if self._state in _QUIET and self._decoder.pending:
            raise ProtocolViolation("bytes came before the answer they depend on")

    def _enter(self, state: ConnectionState) -> None:
        self._state = state
        if state is ConnectionState.CLOSED:
            self._decoder.clear()
        elif state not in _QUIET:
            self._decoder.phase = _PHASES[state]
