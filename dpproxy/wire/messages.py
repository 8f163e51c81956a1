"""The protocol's messages as frozen values (PostgreSQL documentation, "Message Formats")."""

from msgspec import Struct

from dpproxy.values.structs import PartlyShown

# --- frontend -----------------------------------------------------------------------------------


class SSLRequest(Struct, frozen=True):
    """Asks for TLS before anything else."""


class GSSENCRequest(Struct, frozen=True):
    """Asks for GSSAPI encryption; always refused."""


class CancelRequest(PartlyShown, Struct, frozen=True):
    """Cancels what another connection runs."""

    HIDDEN = frozenset({"secret"})

    process: int
    secret: bytes


class Startup(Struct, frozen=True):
    """Opens a session; ``parameters`` holds user, database, options and settings."""

    parameters: dict[str, str]
    minor: int = 0


class SASLInitialResponse(Struct, frozen=True):
    """The client's choice of mechanism and its first message."""

    mechanism: str
    data: bytes


class SASLResponse(Struct, frozen=True):
    """The client's next SASL message."""

    data: bytes


class Query(Struct, frozen=True):
    """A simple query: one or more statements."""

    sql: str


class Parse(Struct, frozen=True):
    """Names a statement; ``types`` are parameter OIDs, 0 for unknown."""

    name: str
    sql: str
    types: tuple[int, ...] = ()


class Bind(PartlyShown, Struct, frozen=True):
    """Makes a portal of a statement; formats are 0 text, 1 binary, by the rule of none, one or all."""

    HIDDEN = frozenset({"values"})

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


class Describe(Struct, frozen=True):
    """Asks for the shape of a statement (``kind`` b"S") or a portal (b"P")."""

    kind: bytes
    name: str


class Execute(Struct, frozen=True):
    """Runs a portal; ``limit`` rows at most, 0 for all."""

    portal: str
    limit: int = 0


class Close(Struct, frozen=True):
    """Forgets a statement (``kind`` b"S") or a portal (b"P")."""

    kind: bytes
    name: str


class Sync(Struct, frozen=True):
    """Ends an extended sequence."""


class Flush(Struct, frozen=True):
    """Asks for pending output."""


class Terminate(Struct, frozen=True):
    """The client leaves."""


class CopyData(PartlyShown, Struct, frozen=True):
    """Copy content; from a client never expected, but legal after an error."""

    HIDDEN = frozenset({"data"})

    data: bytes


class CopyDone(Struct, frozen=True):
    """End of copy content."""


class CopyFail(Struct, frozen=True):
    """The client aborts a copy."""

    reason: str


Frontend = (
    SSLRequest | GSSENCRequest | CancelRequest | Startup | SASLInitialResponse | SASLResponse | Query | Parse
    | Bind | Describe | Execute | Close | Sync | Flush | Terminate | CopyData | CopyDone | CopyFail
)  # fmt: skip

# --- backend ------------------------------------------------------------------------------------


class EncryptionAnswer(Struct, frozen=True):
    """One byte after SSLRequest or GSSENCRequest."""

    accepted: bool


class AuthenticationSASL(Struct, frozen=True):
    """Offers mechanisms."""

    mechanisms: tuple[str, ...]


class AuthenticationSASLContinue(Struct, frozen=True):
    """The server's first SASL message."""

    data: bytes


class AuthenticationSASLFinal(Struct, frozen=True):
    """The server's last SASL message."""

    data: bytes


class AuthenticationOk(Struct, frozen=True):
    """The client is authenticated."""


class NegotiateProtocolVersion(Struct, frozen=True):
    """The newest minor version we speak, and the startup options we do not know."""

    minor: int
    unknown: tuple[str, ...]


class ParameterStatus(Struct, frozen=True):
    """A setting the client should know."""

    name: str
    value: str


class BackendKeyData(PartlyShown, Struct, frozen=True):
    """The process number and secret that a CancelRequest must contain."""

    HIDDEN = frozenset({"secret"})

    process: int
    secret: bytes
    """4 bytes; from protocol 3.2 on 4 to 256."""


class ReadyForQuery(Struct, frozen=True):
    """``status``: b"I" idle, b"T" in a transaction, b"E" in a failed one."""

    status: bytes


class FieldDescription(Struct, frozen=True):
    """One column of a RowDescription."""

    name: str
    oid: int
    size: int
    modifier: int
    format: int


class RowDescription(Struct, frozen=True):
    """The shape of the rows that follow."""

    fields: tuple[FieldDescription, ...]


class ParameterDescription(Struct, frozen=True):
    """The parameter OIDs of a statement."""

    oids: tuple[int, ...]


class NoData(Struct, frozen=True):
    """The statement returns no rows."""


class DataRows(PartlyShown, Struct, frozen=True):
    """A run of DataRow messages, already framed by ``wire.rows.encode_rows``."""

    HIDDEN = frozenset({"framed"})

    framed: bytes


class CopyOutResponse(Struct, frozen=True):
    """Copy content follows: CopyData, then CopyDone; ``format`` is 0 for text and CSV, 1 for binary."""

    format: int
    columns: int


class CopyRows(PartlyShown, Struct, frozen=True):
    """A run of CopyData messages, already framed by ``wire.copying.copy_messages``."""

    HIDDEN = frozenset({"framed"})

    framed: bytes


class CopyOutDone(Struct, frozen=True):
    """End of copy content, from the server."""


class CommandComplete(Struct, frozen=True):
    """A statement is done; ``text`` is its command tag."""

    text: str


class EmptyQueryResponse(Struct, frozen=True):
    """The statement was empty."""


class PortalSuspended(Struct, frozen=True):
    """The row limit was reached."""


class ParseComplete(Struct, frozen=True):
    """Parse is done."""


class BindComplete(Struct, frozen=True):
    """Bind is done."""


class CloseComplete(Struct, frozen=True):
    """Close is done."""


class ErrorResponse(Struct, frozen=True):
    """A refusal; ``position`` counts characters from 1."""

    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None
    position: int | None = None
    severity: str = "ERROR"


class NoticeResponse(Struct, frozen=True):
    """A notice beside an answer."""

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
