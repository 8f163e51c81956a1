"""Which message may come when: the protocol's states, as a table.

No input or output here: bytes go in, legal messages come out, and the session tells what it decided.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final

from dpproxy.values.errors import Internal, ProtocolViolation
from dpproxy.wire.codec import Decoder, Phase, encode
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


class State(Enum):
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


_S = State
_COPY: Final = (CopyData, CopyDone, CopyFail)
_EXTENDED: Final = (Parse, Bind, Describe, Execute, Close)

# Every message not named is a violation in that state.
NEXT: Final[Mapping[State, Mapping[type[Frontend], State]]] = MappingProxyType({
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
DROPPED: Final[Mapping[State, frozenset[type[Frontend]]]] = MappingProxyType({
    _S.READY: frozenset(_COPY),
    _S.EXTENDED: frozenset(_COPY),
    _S.SKIP_TO_SYNC: frozenset((Query, Flush, *_EXTENDED, *_COPY)),
})  # fmt: skip

# What an error that is told to the client leads to; everywhere else it ends the connection.
FAILED: Final[Mapping[State, State]] = MappingProxyType({
    _S.READY: _S.READY,
    _S.EXTENDED: _S.SKIP_TO_SYNC,
    _S.SKIP_TO_SYNC: _S.SKIP_TO_SYNC,
})  # fmt: skip

_QUIET: Final = frozenset({_S.ENCRYPTION_ASKED, _S.VERIFYING})
_PHASES: Final[Mapping[State, Phase]] = MappingProxyType({
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
    Startup; SASLInitialResponse; SASLResponse, answered by ``authenticated``; then the session's messages.
    """

    __slots__ = ("_asked", "_decoder", "_state")

    def __init__(self) -> None:
        self._state = State.STARTUP
        self._decoder = Decoder()
        self._asked: set[type[Frontend]] = set()

    @property
    def state(self) -> State:
        """Where the connection stands."""
        return self._state

    def receive(self, data: bytes) -> Iterator[Frontend]:
        """Take bytes at once and give the messages that are legal; a closed connection gives none.

        Raises:
            ProtocolViolation: while iterating; the connection is then closed.
        """
        if self._state is State.CLOSED:
            return iter(())
        return self._legal(self._decoder.feed(data))

    def send(self, message: Backend) -> bytes:
        """The message's bytes."""
        return encode(message)

    def tls_accepted(self) -> None:
        """TLS starts after the answer ``S``; not one byte may have come before it."""
        self._answer(State.ENCRYPTION_ASKED, State.ENCRYPTED)

    def tls_refused(self) -> None:
        """The answer was ``N``, to SSLRequest or GSSENCRequest; the client goes on in the clear."""
        self._answer(State.ENCRYPTION_ASKED, State.STARTUP)

    def authenticated(self) -> None:
        """The client's proof was right."""
        self._answer(State.VERIFYING, State.READY)

    def failed(self) -> None:
        """An error was told to the client: an extended sequence is skipped to its Sync."""
        self._enter(FAILED.get(self._state, State.CLOSED))

    def close(self) -> None:
        """Nothing more is read."""
        self._enter(State.CLOSED)

    def _answer(self, asked: State, entered: State) -> None:
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
                if self._state is State.CLOSED:
                    return
        except ProtocolViolation:
            self.close()
            raise

    def _advance(self, message: Frontend) -> None:
        kind = type(message)
        entered = NEXT[self._state].get(kind)
        if entered is None:
            raise ProtocolViolation(f"{kind.__name__} is out of place")
        if entered is State.ENCRYPTION_ASKED:
            if kind in self._asked:
                raise ProtocolViolation(f"{kind.__name__} is sent twice")
            self._asked.add(kind)
        self._enter(entered)
        self._check_quiet()

    def _check_quiet(self) -> None:
        # Bytes that came in the clear would otherwise be read as if they had come encrypted (CVE-2021-23214).
        if self._state in _QUIET and self._decoder.pending:
            raise ProtocolViolation("bytes came before the answer they depend on")

    def _enter(self, state: State) -> None:
        self._state = state
        if state is State.CLOSED:
            self._decoder.clear()
        elif state not in _QUIET:
            self._decoder.phase = _PHASES[state]
