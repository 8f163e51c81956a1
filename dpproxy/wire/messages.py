"""The protocol's messages as frozen values (PostgreSQL documentation, "Message Formats")."""

from dataclasses import dataclass, field
from typing import ClassVar

# --- frontend -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SSLRequest:
    """Asks for TLS before anything else."""


@dataclass(frozen=True, slots=True)
class GSSENCRequest:
    """Asks for GSSAPI encryption; always refused."""


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """Cancels what another connection runs."""

    process: int
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Startup:
    """Opens a session; ``parameters`` holds user, database, options and settings."""

    parameters: dict[str, str]
    minor: int = 0


@dataclass(frozen=True, slots=True)
class SASLInitialResponse:
    """The client's choice of mechanism and its first message."""

    tag: ClassVar[bytes] = b"p"
    mechanism: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SASLResponse:
    """The client's next SASL message."""

    tag: ClassVar[bytes] = b"p"
    data: bytes


@dataclass(frozen=True, slots=True)
class Query:
    """A simple query: one or more statements."""

    tag: ClassVar[bytes] = b"Q"
    sql: str


@dataclass(frozen=True, slots=True)
class Parse:
    """Names a statement; ``types`` are parameter OIDs, 0 for unknown."""

    tag: ClassVar[bytes] = b"P"
    name: str
    sql: str
    types: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Bind:
    """Makes a portal of a statement; formats are 0 text, 1 binary, by the rule of none, one or all."""

    tag: ClassVar[bytes] = b"B"
    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...] = field(repr=False)
    result_formats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Describe:
    """Asks for the shape of a statement (``kind`` b"S") or a portal (b"P")."""

    tag: ClassVar[bytes] = b"D"
    kind: bytes
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """Runs a portal; ``limit`` rows at most, 0 for all."""

    tag: ClassVar[bytes] = b"E"
    portal: str
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Close:
    """Forgets a statement (``kind`` b"S") or a portal (b"P")."""

    tag: ClassVar[bytes] = b"C"
    kind: bytes
    name: str


@dataclass(frozen=True, slots=True)
class Sync:
    """Ends an extended sequence."""

    tag: ClassVar[bytes] = b"S"


@dataclass(frozen=True, slots=True)
class Flush:
    """Asks for pending output."""

    tag: ClassVar[bytes] = b"H"


@dataclass(frozen=True, slots=True)
class Terminate:
    """The client leaves."""

    tag: ClassVar[bytes] = b"X"


@dataclass(frozen=True, slots=True)
class CopyData:
    """Copy content; from a client never expected, but legal after an error."""

    tag: ClassVar[bytes] = b"d"
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class CopyDone:
    """End of copy content."""

    tag: ClassVar[bytes] = b"c"


@dataclass(frozen=True, slots=True)
class CopyFail:
    """The client aborts a copy."""

    tag: ClassVar[bytes] = b"f"
    reason: str


Frontend = (
    SSLRequest | GSSENCRequest | CancelRequest | Startup | SASLInitialResponse | SASLResponse | Query | Parse
    | Bind | Describe | Execute | Close | Sync | Flush | Terminate | CopyData | CopyDone | CopyFail
)  # fmt: skip

# --- backend ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EncryptionAnswer:
    """One byte after SSLRequest or GSSENCRequest."""

    accepted: bool


@dataclass(frozen=True, slots=True)
class AuthenticationSASL:
    """Offers mechanisms."""

    tag: ClassVar[bytes] = b"R"
    mechanisms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuthenticationSASLContinue:
    """The server's first SASL message."""

    tag: ClassVar[bytes] = b"R"
    data: bytes


@dataclass(frozen=True, slots=True)
class AuthenticationSASLFinal:
    """The server's last SASL message."""

    tag: ClassVar[bytes] = b"R"
    data: bytes


@dataclass(frozen=True, slots=True)
class AuthenticationOk:
    """The client is authenticated."""

    tag: ClassVar[bytes] = b"R"


@dataclass(frozen=True, slots=True)
class NegotiateProtocolVersion:
    """The newest minor version we speak, and the startup options we do not know."""

    tag: ClassVar[bytes] = b"v"
    minor: int
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParameterStatus:
    """A setting the client should know."""

    tag: ClassVar[bytes] = b"S"
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class BackendKeyData:
    """The process number and secret that a CancelRequest must contain."""

    tag: ClassVar[bytes] = b"K"
    process: int
    secret: bytes = field(repr=False)
    """4 bytes; from protocol 3.2 on 4 to 256."""


@dataclass(frozen=True, slots=True)
class ReadyForQuery:
    """``status``: b"I" idle, b"T" in a transaction, b"E" in a failed one."""

    tag: ClassVar[bytes] = b"Z"
    status: bytes


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """One column of a RowDescription."""

    name: str
    oid: int
    size: int
    modifier: int
    format: int


@dataclass(frozen=True, slots=True)
class RowDescription:
    """The shape of the rows that follow."""

    tag: ClassVar[bytes] = b"T"
    fields: tuple[FieldDescription, ...]


@dataclass(frozen=True, slots=True)
class ParameterDescription:
    """The parameter OIDs of a statement."""

    tag: ClassVar[bytes] = b"t"
    oids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NoData:
    """The statement returns no rows."""

    tag: ClassVar[bytes] = b"n"


@dataclass(frozen=True, slots=True)
class DataRows:
    """A run of DataRow messages, already framed by ``wire.rows.encode_rows``."""

    framed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class CopyOutResponse:
    """Copy content follows: CopyData, then CopyDone; ``format`` is 0 for text and CSV, 1 for binary."""

    tag: ClassVar[bytes] = b"H"
    format: int
    columns: int


@dataclass(frozen=True, slots=True)
class CopyRows:
    """A run of CopyData messages, already framed by ``wire.copying.copy_messages``."""

    framed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class CopyOutDone:
    """End of copy content, from the server."""

    tag: ClassVar[bytes] = b"c"


@dataclass(frozen=True, slots=True)
class CommandComplete:
    """A statement is done; ``text`` is its command tag."""

    tag: ClassVar[bytes] = b"C"
    text: str


@dataclass(frozen=True, slots=True)
class EmptyQueryResponse:
    """The statement was empty."""

    tag: ClassVar[bytes] = b"I"


@dataclass(frozen=True, slots=True)
class PortalSuspended:
    """The row limit was reached."""

    tag: ClassVar[bytes] = b"s"


@dataclass(frozen=True, slots=True)
class ParseComplete:
    """Parse is done."""

    tag: ClassVar[bytes] = b"1"


@dataclass(frozen=True, slots=True)
class BindComplete:
    """Bind is done."""

    tag: ClassVar[bytes] = b"2"


@dataclass(frozen=True, slots=True)
class CloseComplete:
    """Close is done."""

    tag: ClassVar[bytes] = b"3"


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """A refusal; ``position`` counts characters from 1."""

    tag: ClassVar[bytes] = b"E"
    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None
    position: int | None = None
    severity: str = "ERROR"


@dataclass(frozen=True, slots=True)
class NoticeResponse:
    """A notice beside an answer."""

    tag: ClassVar[bytes] = b"N"
    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None
    severity: str = "NOTICE"


Backend = (
    EncryptionAnswer | AuthenticationSASL | AuthenticationSASLContinue | AuthenticationSASLFinal
    | AuthenticationOk | NegotiateProtocolVersion | ParameterStatus | BackendKeyData | ReadyForQuery
    | RowDescription | ParameterDescription | NoData | DataRows | CopyOutResponse | CopyRows | CopyOutDone
    | CommandComplete | EmptyQueryResponse
    | PortalSuspended | ParseComplete | BindComplete | CloseComplete | ErrorResponse | NoticeResponse
)  # fmt: skip
