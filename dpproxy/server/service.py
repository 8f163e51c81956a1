"""What all clients of a server share, and who of them is let in."""

import hmac
import ipaddress
import logging
import secrets
import ssl
import time
from collections import OrderedDict
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Protocol

from dpproxy.algebra.plan import Caller
from dpproxy.server.options import Options
from dpproxy.session.session import Engines, Session, Users, Work
from dpproxy.values.errors import CannotConnectNow, InvalidPassword, Refusal, ShuttingDown, TooManyConnections
from dpproxy.wire.messages import CancelRequest

LOGGING_IN: Final = 4
"""So many times ``max_connections`` may be in their login at one time."""
LOCAL: Final = 16
"""So many more where they come from the proxy's own machine: others cannot take these places."""
PATIENT: Final = 5.0
"""Seconds of silence in a login, after which it may have to make room; who has said nothing at all may at once."""
RESERVED: Final = 3
"""Connections beyond ``max_connections`` that only administrators get."""


MOST_ADDRESSES: Final = 10_000
"""That are remembered for their failed logins."""
HALF_LIFE: Final = 30.0
"""Seconds after which a failed login counts for half."""
FIRST: Final = 0.25
LONGEST: Final = 5.0
"""Seconds that the answer to a login takes from where there was a failed one, and where there were many."""
_SHOWN: Final = 63
"""Characters of a name that is put on record."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class Attempts:
    """Failed logins by address: the more there were of late, the longer the next one from there takes.

    Right passwords are slowed alike, so that waiting tells nothing; names are not, so that nobody is locked out.
    """

    _failed: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    """How many, halved with time, and when that was."""

    def add_failure(self, address: str, now: float) -> None:
        """One more."""
        key = _network(address)
        self._failed[key] = (self._count(key, now) + 1, now)
        self._failed.move_to_end(key)
        if len(self._failed) > MOST_ADDRESSES:
            self._failed.popitem(last=False)

    def delay(self, address: str, now: float) -> float:
        """Seconds that the next answer takes."""
        count = self._count(_network(address), now)
        return 0.0 if count < 0.5 else min(LONGEST, FIRST * 2.0 ** min(count - 1, 10))

    def _count(self, key: str, now: float) -> float:
        count, at = self._failed.get(key, (0.0, now))
        return float(count * 0.5 ** ((now - at) / HALF_LIFE))


def _network(address: str) -> str:
    """Where an address counts: in IPv6 everybody has many."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else address


def address_of(peer: object) -> str:
    """Where a socket comes from; empty where that has no address."""
    return str(peer[0]) if isinstance(peer, tuple) and peer else ""


def is_local(address: str) -> bool:
    """Whether it is of the proxy's own machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return not address  # a socket of the file system has none


class Peer(Protocol):
    """A client, as far as others know it."""

    @property
    def session(self) -> Session:
        """What is behind its socket."""

    @property
    def address(self) -> str:
        """Where it connects from."""

    @property
    def silent_since(self) -> float:
        """When it said something last, or came."""

    @property
    def has_spoken(self) -> bool:
        """Whether it has said anything at all."""

    def cancel(self) -> None:
        """Cancel what it runs."""

    def end(self) -> None:
        """End its session."""

    def drain(self) -> None:
        """Have it leave when it has its answer."""

    def stop(self) -> None:
        """Have it leave now."""

    def abandon(self) -> None:
        """It had its time."""


@dataclass(slots=True)
class Service:
    """What all clients of a server share."""

    options: Options
    engines: Engines
    users: Users
    executor: ThreadPoolExecutor
    tls: ssl.SSLContext | None
    binding: bytes | None = None
    """What SCRAM binds to of the server's certificate."""
    clients: MutableMapping[int, Peer] = field(default_factory=dict)
    admitted: int = 0
    """Clients past their login whose work has not ended."""
    is_draining: bool = False
    """The server stops: nobody new is let in."""
    attempts: Attempts = field(default_factory=Attempts)

    @property
    def logging_in(self) -> int:
        """Clients that have not proved who they are, with those that only take their last bytes."""
        return len(self.clients) - self.admitted

    def is_crowded(self, address: str) -> bool:
        """Whether so many log in that no more may from there."""
        return self.logging_in >= LOGGING_IN * self.options.max_connections + LOCAL * is_local(address)

    def make_room(self, now: float) -> bool:
        """Part from the login that is silent for longest: first of those from elsewhere that never said a word."""
        silent = [
            (is_local(client.address), client.has_spoken, client.silent_since, process)
            for process, client in self.clients.items()
            if client.session.caller is None
            and (not client.has_spoken or now - client.silent_since > PATIENT)
        ]
        if silent:
            self.clients.pop(min(silent)[-1]).abandon()
        return bool(silent)

    def record_error(self, session: Session, sqlstate: str, address: str) -> None:
        """An error is told; a login that failed is put on record, and slows the next one from there."""
        if session.caller is not None or sqlstate != InvalidPassword.sqlstate:
            return
        self.attempts.add_failure(address, time.monotonic())
        user, database = session.login_names
        _LOG.warning("login failed: user %r, database %r, from %s", user[:_SHOWN], database[:_SHOWN], address)
        self.engines.login_failed(user[:_SHOWN], database, address)

    def check_user(self, session: Session) -> None:
        """Raises ``ShuttingDown`` where the user has gone since the login, or lost a role."""
        if (caller := session.caller) is not None and self.users.is_revoked(caller.user, caller.roles):
            raise farewell(is_admitted=True, is_ended=True)

    def end_revoked(self) -> None:
        """End the sessions of users that are gone, or have lost a role."""
        for client in list(self.clients.values()):
            caller = client.session.caller
            if caller is not None and self.users.is_revoked(caller.user, caller.roles):
                client.end()

    def cancel(self, request: CancelRequest) -> None:
        """Cancel what the session runs that the request names, if the secret is right."""
        client = self.clients.get(request.process)
        expected = client.session.secret if client else secrets.token_bytes(len(request.secret))
        same = hmac.compare_digest(request.secret, expected)
        if client is not None and same:
            client.cancel()

    def signal(self, caller: Caller, process: int, ends: bool) -> bool:  # noqa: FBT001
        """Cancel what the session of a process runs, or end that session; False where the caller has none such.

        Which numbers are other users' is for administrators: to everybody else they are as good as nobody's.
        """
        client = self.clients.get(process)
        theirs = client.session.caller if client is not None else None
        if client is None or theirs is None:
            return False
        if theirs.user != caller.user and not caller.is_admin:
            return False
        (client.end if ends else client.cancel)()
        return True

    def check_startup(self, *, crowded: bool) -> None:
        """Whether a login may begin. Raises ``TooManyConnections``, ``CannotConnectNow``."""
        if self.is_draining:
            raise CannotConnectNow("the server is shutting down")
        if crowded:
            raise TooManyConnections("too many connections are logging in", hint="try again later")

    def admit(self, *, is_admin: bool) -> None:
        """Somebody has proved who they are. Raises ``TooManyConnections``, ``CannotConnectNow``."""
        self.check_startup(crowded=False)
        if self.admitted >= self.options.max_connections + (RESERVED if is_admin else 0):
            raise TooManyConnections(
                "too many connections", hint="close one, or raise server.max_connections"
            )
        self.admitted += 1

    def deadline(self, work: Work) -> float:
        """Seconds after the start of charged work at which its outcome leaves at the earliest; 0 for at once."""
        return max(self.options.padding, work.deadline) if self.options.padding else 0.0


def farewell(*, is_admitted: bool, is_ended: bool) -> Refusal:
    """Why a client that did nothing has to leave: somebody ended its session, or the server stops."""
    if not is_admitted:
        return CannotConnectNow("the server is shutting down")
    why = "due to administrator command" if is_ended else "because the server stops"
    return ShuttingDown(f"terminating connection {why}")
