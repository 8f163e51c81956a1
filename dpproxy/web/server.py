"""The page's process: an HTTP server on a socket that the proxy has opened."""

import asyncio
import math
import socket
from collections import Counter
from typing import ClassVar, Final

import uvicorn
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from dpproxy.web import administrator, analyst, report, users
from dpproxy.web.options import Options, is_loopback
from dpproxy.web.site import Site, application

MOST_CONNECTIONS: Final = 256
"""Connections of browsers at one time."""
MOST_OF_ADDRESS: Final = 64
"""Of them, those of one address that is not this machine's own."""
HEAD: Final = 15.0
"""Seconds in which the head of a request has to arrive."""
IDLE: Final = 20
"""Seconds that a connection waits for its next request."""


class Protocol(H11Protocol):
    """HTTP/1.1 that does not wait for clients that never finish the head of a request, and has room for others."""

    _addresses: ClassVar[Counter[str]] = Counter()
    """Open connections by the address of the browser."""
    _address: str = ""
    _head: asyncio.TimerHandle | None = None
    _unread: float = math.inf
    """Bytes of answers that the browser had not taken when it was last looked at."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a connection; it is closed where its address has too many."""
        super().connection_made(transport)  # type: ignore[arg-type]
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""
        self._addresses[self._address] += 1
        if self._addresses[self._address] > MOST_OF_ADDRESS and not is_loopback(self._address):
            transport.close()
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        self._unread = math.inf
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection."""
        super().connection_lost(exc)
        self._addresses[self._address] -= 1
        if not self._addresses[self._address]:
            del self._addresses[self._address]
        if self._head is not None:
            self._head.cancel()

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection where nothing more is asked, and nothing is read of what was answered."""
        unread = self.transport.get_write_buffer_size()
        if 0 < unread < self._unread:
            self._unread = unread
            wait = self.timeout_keep_alive, self.timeout_keep_alive_handler
            self.timeout_keep_alive_task = self.loop.call_later(*wait)  # the next request cancels it
        else:
            self.transport.abort()

    def _watch_head(self) -> None:
        """Close the connection where no request is whole in time."""
        cycle = getattr(self, "cycle", None)
        is_waiting = cycle is None or cycle.response_complete
        if is_waiting and self._head is None:
            self._head = self.loop.call_later(HEAD, self.transport.close)
        elif not is_waiting and self._head is not None:
            self._head.cancel()
            self._head = None


def _routes(site: Site) -> list[Route]:
    return [*analyst.routes(site), *administrator.routes(site), *users.routes(site), *report.routes(site)]


def server(options: Options) -> uvicorn.Server:
    """The server of the page."""
    config = uvicorn.Config(
        application(options, _routes),
        http=Protocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=16_384,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=5,
        ssl_certfile=options.tls_certificate,
        ssl_keyfile=options.tls_key,
    )
    return uvicorn.Server(config)


def serve(options: Options, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT."""
    asyncio.run(server(options).serve(sockets=[listener]))
