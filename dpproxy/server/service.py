"""The state that all clients of a server share, and the limits on connections and logins."""

import hmac
import ipaddress
import logging
import re
import secrets
import ssl
import time
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from msgspec import Struct, field

from dpproxy.algebra.plan import Caller
from dpproxy.server.options import Options
from dpproxy.server.place import Message, Place
from dpproxy.session.session import Engines, LongCall, Session, Users
from dpproxy.system.attempts import Attempts
from dpproxy.values.errors import CannotConnectNow, InvalidPassword, Refusal, ShuttingDown, TooManyConnections
from dpproxy.wire.messages import CancelRequest, Startup

LOGGING_IN: Final = 4
"""This many times ``max_connections`` clients may be logging in at a time."""
LOCAL: Final = 16
"""Further places for logins from the proxy's own machine."""
PATIENT: Final = 5.0
"""Seconds of silence after which a login may be dropped for another; one that has sent nothing may be at once."""
RESERVED: Final = 3
"""Connections beyond ``max_connections`` for administrators only."""
_SHOWN: Final = 63
"""Characters of a user or database name that are logged."""
_ORIGIN: Final = re.compile(r"-c dpproxy\.origin=(?P<key>[0-9a-f]{64})/(?P<address>[0-9A-Za-z.:%]{1,64})")
_LOG: Final = logging.getLogger(__name__)


def address_of(peer: object) -> str:
    """The address of a socket's peer; empty where it has none."""
    return str(peer[0]) if isinstance(peer, tuple) and peer else ""


def is_local(address: str) -> bool:
    """Whether an address is of the proxy's own machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return not address  # a socket of the file system has none


def origin_of(startup: Startup, key: str) -> tuple[Startup, str | None]:
    """The startup message without the address that the page, which has the key, says it acts for; and that address."""
    options = startup.parameters.get("options", "")
    found = _ORIGIN.search(options)
    if found is None or not hmac.compare_digest(found["key"].encode(), key.encode()):
        return startup, None
    own = {**startup.parameters, "options": options[: found.start()] + options[found.end() :]}
    return Startup(own, startup.minor), found["address"]


def _keys(session: Session, address: str) -> tuple[str, str]:
    """What failed logins are counted by."""
    return address, f"user {session.login_names[0]}"


class Peer(Protocol):
    """A client as others see it."""

    @property
    def session(self) -> Session:
        """Its session."""

    @property
    def address(self) -> str:
        """The address that it connects from."""

    @property
    def silent_since(self) -> float:
        """The time of its last message, or of its arrival."""

    @property
    def has_spoken(self) -> bool:
        """Whether it has sent any message."""

    def cancel(self) -> None:
        """Cancel its statement."""

    def end(self) -> None:
        """End its session."""

    def drain(self) -> None:
        """Dismiss it after the answer to its statement."""

    def stop(self) -> None:
        """Interrupt its statement and dismiss it."""

    def abandon(self) -> None:
        """Close its socket."""


_REPLIES: Final = {
    "probe": "alive",
    "client": "left",  # one that came without its socket, for which there was no number left
}
"""What the process that listens is told at once."""


class Service(Struct):
    """What all clients of a server share."""

    options: Options
    engines: Engines
    users: Users
    executor: ThreadPoolExecutor
    tls: ssl.SSLContext | None
    binding: bytes | None = None
    """The TLS channel-binding data of the server's certificate."""
    clients: MutableMapping[int, Peer] = field(default_factory=dict)
    sessions: dict[int, str] = field(default_factory=dict)
    """The users of the clients past their login whose work has not ended, by the number of their session."""
    is_draining: bool = False
    """Whether the server is stopping, and admits no new client."""
    attempts: Attempts = field(default_factory=Attempts)
    place: Place = field(default_factory=Place)

    @property
    def logging_in(self) -> int:
        """The number of clients that are not logged in, with those that are being disconnected."""
        return len(self.clients) - len(self.sessions)

    def is_crowded(self, address: str) -> bool:
        """Whether too many clients are logging in to accept another one from this address."""
        return self.logging_in >= LOGGING_IN * self.options.max_connections + LOCAL * is_local(address)

    def make_room(self, now: float) -> bool:
        """Drop the login that has been silent for longest; first remote ones that have never sent anything."""
        silent = [
            (is_local(client.address), client.has_spoken, client.silent_since, process)
            for process, client in self.clients.items()
            if client.session.caller is None
            and (not client.has_spoken or now - client.silent_since > PATIENT)
        ]
        if silent:
            self.clients.pop(min(silent)[-1]).abandon()
        return bool(silent)

    def begin_attempt(self, session: Session, address: str, *, is_of_page: bool) -> float:
        """The seconds by which a password has to wait for failures from its address, and of its user.

        An attempt from the page counts as a failure until it has succeeded: no pool of connections is there, and
        many at once delay each other.
        """
        now = time.monotonic()
        delay = max(self.attempts.delay(key, now) for key in _keys(session, address))
        if is_of_page:
            self._count(session, address, now)
        return delay

    def end_attempt(self, session: Session, address: str) -> None:
        """Take back what ``begin_attempt`` has counted: the password was right."""
        for key in _keys(session, address):
            self.attempts.forgive(key, time.monotonic())
        self.place.tell({"kind": "forgiven", "keys": _keys(session, address)})

    def _count(self, session: Session, address: str, now: float) -> None:
        for key in _keys(session, address):
            self.attempts.add_failure(key, now)
        self.place.tell({"kind": "failed", "keys": _keys(session, address)})

    def record_error(self, session: Session, sqlstate: str, address: str, *, is_of_page: bool) -> None:
        """Note an error that is sent: a failed login is logged and recorded, and delays the next ones."""
        if session.caller is not None or sqlstate != InvalidPassword.sqlstate:
            return
        if not is_of_page:
            self._count(session, address, time.monotonic())
        user, database = session.login_names
        _LOG.warning("login failed: user %r, database %r, from %s", user[:_SHOWN], database[:_SHOWN], address)
        self.engines.login_failed(user[:_SHOWN], database, address)

    def check_user(self, session: Session) -> None:
        """Raise ``ShuttingDown`` where the user was removed since the login, or has lost a role."""
        if (caller := session.caller) is not None and self.users.is_revoked(
            caller.user, caller.roles, caller.since
        ):
            raise farewell(is_admitted=True, is_ended=True)

    def end_revoked(self) -> None:
        """End the sessions of users that were removed or have lost a role."""
        for client in list(self.clients.values()):
            caller = client.session.caller
            if caller is not None and self.users.is_revoked(caller.user, caller.roles, caller.since):
                client.end()

    def cancel(self, request: CancelRequest) -> None:
        """Cancel the statement of the session that a request names, if its secret is right."""
        if not self.place.has(request.process):
            self.place.tell({"kind": "cancel", "session": request.process, "secret": request.secret.hex()})
            return
        client = self.clients.get(request.process)
        expected = client.session.secret if client else secrets.token_bytes(len(request.secret))
        same = hmac.compare_digest(request.secret, expected)
        if client is not None and same:
            client.cancel()

    def signal(self, caller: Caller, process: int, ends: bool) -> bool:  # noqa: FBT001
        """Cancel the statement of a process, or end its session; False where the caller has no session of that number.

        Only administrators may signal sessions of other users, or learn that they exist.
        """
        if self.place.has(process):
            return self._signal(caller.user, process, is_admin=caller.is_admin, ends=ends)
        user = self.place.others.get(process)
        if user is None or (user != caller.user and not caller.is_admin):
            return False
        told = {"kind": "signal", "session": process, "user": caller.user, "is_admin": caller.is_admin}
        self.place.tell({**told, "ends": ends})
        return True

    def _signal(self, user: str, process: int, *, is_admin: bool, ends: bool) -> bool:
        client = self.clients.get(process)
        theirs = client.session.caller if client is not None else None
        if client is None or theirs is None or (theirs.user != user and not is_admin):
            return False
        (client.end if ends else client.cancel)()
        return True

    def hear(self, message: Message) -> None:
        """Act on what another process tells."""
        match message:
            case {"kind": "failed" | "forgiven" as kind, "keys": keys}:
                note = self.attempts.add_failure if kind == "failed" else self.attempts.forgive
                for key in keys:
                    note(key, time.monotonic())
            case {"kind": "cancel", "session": session, "secret": secret}:
                self.cancel(CancelRequest(session, bytes.fromhex(secret)))
            case {"kind": "signal", "session": session, "user": user, "is_admin": is_admin, "ends": ends}:
                self._signal(user, session, is_admin=is_admin, ends=ends)
            case {"kind": kind} if kind in _REPLIES:
                self.place.tell({"kind": _REPLIES[kind]})
            case {"kind": "joined"}:
                for session, user in self.sessions.items():
                    self.place.tell({"kind": "opened", "session": session, "user": user})
            case _:
                self.place.learn(message)

    def check_startup(self, *, crowded: bool) -> None:
        """Raise ``TooManyConnections`` or ``CannotConnectNow`` where no login may begin."""
        if self.is_draining:
            raise CannotConnectNow("the server is shutting down")
        if crowded:
            raise TooManyConnections("too many connections are logging in", hint="try again later")

    def admit(self, caller: Caller) -> None:
        """Count a client that has logged in. Raises ``TooManyConnections``, ``CannotConnectNow``."""
        self.check_startup(crowded=False)
        most = self.options.max_connections + (RESERVED if caller.is_admin else 0)
        if len(self.sessions) + len(self.place.others) >= most:
            raise TooManyConnections(
                "too many connections", hint="close one, or raise server.max_connections"
            )
        self.sessions[caller.process] = caller.user
        self.place.tell({"kind": "opened", "session": caller.process, "user": caller.user})

    def leave(self, session: int) -> None:
        """The work of a client has ended."""
        if self.sessions.pop(session, None) is not None:
            self.place.tell({"kind": "closed", "session": session})

    def deadline(self, work: LongCall) -> float:
        """The earliest time for the outcome of charged work, in seconds after its start; 0 without padding."""
        return max(self.options.padding, work.deadline) if self.options.padding else 0.0


def farewell(*, is_admitted: bool, is_ended: bool) -> Refusal:
    """The refusal for a client that is dismissed: its session was ended, or the server stops."""
    if not is_admitted:
        return CannotConnectNow("the server is shutting down")
    why = "due to administrator command" if is_ended else "because the server stops"
    return ShuttingDown(f"terminating connection {why}")
