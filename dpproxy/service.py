"""What all clients of a server share, and who of them is let in."""

import hmac
import secrets
import ssl
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Protocol

from dpproxy.errors import CannotConnectNow, Refusal, ShuttingDown, TooManyConnections
from dpproxy.options import Options
from dpproxy.plan import Caller
from dpproxy.session import Engine, Session, Users, Work
from dpproxy.wire.messages import CancelRequest

LOGGING_IN: Final = 4
"""So many times ``max_connections`` may be in their login at one time."""
RESERVED: Final = 3
"""Connections beyond ``max_connections`` that only administrators get."""


class Peer(Protocol):
    """A client, as far as others know it."""

    @property
    def session(self) -> Session:
        """What is behind its socket."""

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
    engine: Engine
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

    @property
    def logging_in(self) -> int:
        """Clients that have not proved who they are, with those that only take their last bytes."""
        return len(self.clients) - self.admitted

    @property
    def is_crowded(self) -> bool:
        """Whether so many log in that no more may."""
        return self.logging_in >= LOGGING_IN * self.options.max_connections

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
