"""One client's session without input or output: login, statements, portals, transactions.

``Session.receive`` is a generator: it takes a message, yields messages to send and each ``LongCall`` to make. The
caller makes it, on whichever thread, and sends the result back in, or throws the exception.
"""

import logging
import secrets
import traceback
from collections.abc import Callable
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Protocol

from dpproxy.algebra.plan import Caller
from dpproxy.config.settings import REPORTED, SETTINGS
from dpproxy.session.login import LONG_KEY, database_of, key_length, negotiation, settings_of, user_of
from dpproxy.session.queries import Queries
from dpproxy.session.state import SessionState
from dpproxy.session.transaction import Status, Transaction
from dpproxy.session.work import Engine, Engines, LongCall, Steps, work
from dpproxy.values.errors import Internal, ProtocolViolation, Refusal, UnknownDatabase
from dpproxy.wire import messages as m
from dpproxy.wire.frontend import check_text
from dpproxy.wire.scram import ScramSecret, ScramServer

__all__ = ["Engines", "LongCall", "Session", "Steps", "Users"]

_LOG: Final = logging.getLogger(__name__)


class Users(Protocol):
    """The users who may connect; read again at each login."""

    def lookup(self, name: str) -> ScramSecret | None:
        """The secret of a user, None where there is none of that name."""

    def roles(self, name: str) -> frozenset[str]:
        """The roles of a user."""

    def since(self, name: str) -> datetime | None:
        """When the user was added; None where that is not known."""

    def is_revoked(self, name: str, roles: frozenset[str], since: datetime | None) -> bool:
        """Whether a user who logged in with these roles was removed, or has lost one. Returns quickly."""


class Session:
    """One client's session.

    ``finished`` is True once the connection is to be closed; ``caller`` is None until the login is done. ``process``
    and ``secret`` identify the session in a CancelRequest.
    """

    def __init__(self, engines: Engines, users: Users, *, process: int = 0, mock_key: bytes = b"") -> None:
        self.process = process
        self.secret = secrets.token_bytes(LONG_KEY)
        self.binding: bytes | None = None
        """The TLS channel-binding data for SCRAM; None without TLS."""
        self.caller: Caller | None = None
        self.finished = False
        self.admit: Callable[[Caller], None] = lambda _: None
        """Called after authentication; raises where the server has no place left."""
        self.signal: Callable[[Caller, int, bool], bool] = lambda _caller, _process, _ends: False
        """Cancels or ends the session of a process, where the caller may; the flag says whether to end it."""
        self._engines = engines
        self._engine: Engine | None = None
        self._users = users
        self._mock_key = mock_key or secrets.token_bytes(32)
        self._startup = m.Startup({})
        self._scram: ScramServer | None = None
        self._queries: Queries | None = None
        self._reported: dict[str, str] = {}
        self._skipping = False
        self._login: dict[type, Callable[[Any], Steps[None]]] = {
            m.Startup: self._start,
            m.SASLInitialResponse: self._sasl_first,
            m.SASLResponse: self._sasl_final,
        }

    def receive(self, message: m.Frontend) -> Steps[None]:
        """Act on one message."""
        if self._skipping and not isinstance(message, m.Sync | m.Terminate):
            return
        try:
            yield from self._handle(message)
        except Refusal as refusal:
            yield from self._refuse(message, refusal)
        except Exception as error:  # noqa: BLE001 - logged without its text, which may hold a row's value
            yield from self._refuse(message, _internal(error))
        if self._queries is not None:
            self._queries.state.sweep()

    @property
    def transaction(self) -> Transaction | None:
        """The state of its transaction and settings, None before the login is done."""
        return None if self._queries is None else self._queries.state.transaction

    @property
    def login_names(self) -> tuple[str, str]:
        """The user and the database that the login names."""
        named = self._startup.parameters
        return named.get("user", ""), named.get("database") or named.get("user", "")

    @property
    def is_reading(self) -> bool:
        """Whether some query of the session still produces rows for the client to read."""
        return self._queries is not None and any(s.is_open for s in self._queries.state.streams)

    def let_go(self) -> None:
        """Close the session's open queries, whose rows the client has not read for too long."""
        if self._queries is not None:
            self._queries.state.let_go(self._queries.state.streams)

    def close(self) -> None:
        """End the session: the client has left."""
        self.let_go()
        if self.caller is not None and self._engine is not None:
            self._engine.close(self.caller)
            self.caller = None

    def cancel(self, *, only_unpaid: bool = False) -> None:
        """Interrupt the running statement; with ``only_unpaid``, one that was charged runs to its end."""
        if self.caller is not None and self._engine is not None:
            self._engine.cancel(self.caller.session, only_unpaid=only_unpaid)

    def _handle(self, message: m.Frontend) -> Steps[None]:
        kind = type(message)
        check_text(message)
        if self._queries is None and kind in self._login:
            yield from self._login[kind](message)
        elif self._queries is not None and kind in _QUERIES:
            self._queries.state.transaction.arrive()
            yield from _QUERIES[kind](self._queries, message)
        elif kind not in _SILENT:
            raise ProtocolViolation(f"{kind.__name__} is out of place")
        if self._queries is not None and kind in _ENDS:
            self._skipping = False
            yield from self._ready(self._queries)
        self.finished = self.finished or kind is m.Terminate

    # --- login

    def _start(self, message: m.Startup) -> Steps[None]:
        if (answer := negotiation(message)) is not None:
            yield answer
        self._startup = message
        self.secret = self.secret[: key_length(message)]
        user = user_of(message)
        made = partial(ScramServer, self._users.lookup, user, self._mock_key, self.binding)
        self._scram = yield from work(made)
        yield m.AuthenticationSASL(self._scram.mechanisms)

    def _sasl_first(self, message: m.SASLInitialResponse) -> Steps[None]:
        yield m.AuthenticationSASLContinue(self._challenger().first(message.mechanism, message.data))

    def _sasl_final(self, message: m.SASLResponse) -> Steps[None]:
        final = self._challenger().final(message.data)
        yield m.AuthenticationSASLFinal(final)
        yield m.AuthenticationOk()
        yield from self._open()

    def _challenger(self) -> ScramServer:
        if self._scram is None:
            raise ProtocolViolation("an authentication message is out of place")
        return self._scram

    def _open(self) -> Steps[None]:
        user, database = user_of(self._startup), database_of(self._startup)
        if not (yield from work(partial(self._engines.database_exists, database))):
            raise UnknownDatabase(
                f'database "{database}" does not exist',
                hint="a database is a data source of the server's configuration, usually main: ask who runs it",
            )
        roles = yield from work(partial(self._users.roles, user))
        since = yield from work(partial(self._users.since, user))
        caller = Caller(user, roles, secrets.token_hex(16), database, self.process, since)
        configured = yield from work(partial(self._engines.initial_settings, caller))
        state = SessionState(
            Transaction(settings_of(self._startup, configured)), send=partial(self.signal, caller)
        )
        self.admit(caller)
        self._engine = yield from work(partial(self._engines.connect, caller))
        self.caller = caller
        self._queries = Queries(self._engine, caller, state)
        yield from self._report(state)
        yield m.BackendKeyData(self.process, self.secret)
        yield m.ReadyForQuery(Status.IDLE.value)

    # --- messages to the client

    def _refuse(self, message: m.Frontend, refusal: Refusal) -> Steps[None]:
        queries = self._queries
        offset = queries.offset if queries else 0
        position = None if refusal.position is None else offset + refusal.position + 1
        severity = "ERROR" if queries else "FATAL"
        yield m.ErrorResponse(
            refusal.sqlstate, refusal.message, refusal.detail, refusal.hint, position, severity
        )
        if queries is None:
            self.finished = True
            return
        queries.fail()
        if isinstance(message, m.Query | m.Sync):
            yield from self._ready(queries)
        else:
            self._skipping = True

    def _report(self, state: SessionState) -> Steps[None]:
        """Send the settings that have changed since they were last reported."""
        for key in REPORTED:
            value = state.transaction.settings[key]
            if self._reported.get(key) != value:
                self._reported[key] = value
                yield m.ParameterStatus(SETTINGS[key].name, value)

    def _ready(self, queries: Queries) -> Steps[None]:
        queries.finish()
        yield from self._report(queries.state)
        yield m.ReadyForQuery(queries.state.transaction.status.value)


def _internal(error: Exception) -> Internal:
    """The refusal for an internal error, which is logged by class and place, never by its text."""
    number = secrets.token_hex(4)
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    _LOG.error("internal error %s: %s at %s", number, type(error).__name__, places)
    return Internal("internal error", detail=f"It is number {number} in the server's log.")


_QUERIES: Final = MappingProxyType[type, Callable[[Queries, Any], Steps[None]]]({
    m.Query: Queries.query,
    m.Parse: Queries.parse,
    m.Bind: Queries.bind,
    m.Describe: Queries.describe,
    m.Execute: Queries.execute,
    m.Close: Queries.close,
})  # fmt: skip
_ENDS: Final = frozenset({m.Query, m.Sync})
_SILENT: Final = frozenset({m.Sync, m.Flush, m.Terminate, m.CopyData, m.CopyDone, m.CopyFail})
