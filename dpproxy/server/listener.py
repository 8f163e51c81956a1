"""The server: listens, accepts clients, and stops."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Final

from dpproxy.config.tls import server_context
from dpproxy.server.client import Client
from dpproxy.server.options import Options
from dpproxy.server.place import Channel, Message, Place
from dpproxy.server.service import LOCAL, LOGGING_IN, RESERVED, Service
from dpproxy.session.session import Engines, Users
from dpproxy.system.processor import Processor
from dpproxy.values.errors import StartupError
from dpproxy.wire.binding import server_end_point

__all__ = ["Options", "Server"]

GRACE: Final = 10.0
"""Seconds that clients get to disconnect when the server stops."""
USERS: Final = 1.0
"""Seconds between two checks for sessions of removed users."""
BACKLOG: Final = 1024
"""Connections that may wait to be accepted."""
LOOK: Final = 0.02
"""Seconds between two checks of whether all clients have left."""
SPARE: Final = 4
"""Threads for logins, beside one for each session."""

Accept = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]


class Server:
    """Serves the engines to many clients, until it is stopped."""

    def __init__(self, options: Options, engines: Engines, users: Users, place: Place | None = None) -> None:
        executor = ThreadPoolExecutor(
            options.max_connections + RESERVED + SPARE, thread_name_prefix="statement"
        )
        crt = options.tls_certificate
        tls = None if crt is None else server_context(crt, options.tls_key)
        self._service = Service(options, engines, users, executor, tls, _binding(options))
        self._service.place = place or Place()
        self._last_process = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._hurried = False

    def run(self, on_listening: Callable[[int], None] = lambda _port: None) -> None:
        """Serve until SIGTERM, SIGINT or ``stop``; ``on_listening`` is called with the port.

        At the first signal running statements get ``options.drain`` seconds, at the second none.

        Raises:
            StartupError: the address cannot be listened on.
        """
        with self._service.executor:
            asyncio.run(self._serve(on_listening))

    def stop(self) -> None:
        """Dismiss every client now and end ``run``; may be called from any thread."""
        self._hurried = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._stopping.set)

    def _signalled(self) -> None:
        self._hurried = self._stopping.is_set()
        self._stopping.set()

    @contextmanager
    def running(self) -> Iterator[int]:
        """Serve in a thread of its own; yields the port.

        Raises:
            StartupError: the address cannot be listened on.
        """
        port: Future[int] = Future()

        def run() -> None:
            try:
                self.run(port.set_result)
            except StartupError as error:
                port.set_exception(error)

        thread = threading.Thread(target=run, name="server")
        thread.start()
        try:
            yield port.result()
        finally:
            self.stop()
            thread.join()

    async def _serve(self, on_listening: Callable[[int], None]) -> None:
        self._loop = asyncio.get_running_loop()
        with signals(self._loop, self._signalled):
            try:
                async with asyncio.TaskGroup() as tasks:
                    close = await self._listen(tasks, on_listening)
                    home = tasks.create_task(Processor().keep(asyncio.sleep))
                    users = tasks.create_task(self._watch_users())
                    await self._stopping.wait()
                    home.cancel()
                    users.cancel()
                    await self._drain()
                    close()
                    tasks.create_task(self._part())
            except* StartupError as group:
                raise group.exceptions[0] from None

    async def _listen(
        self, tasks: asyncio.TaskGroup, on_listening: Callable[[int], None]
    ) -> Callable[[], None]:
        """Take clients from the address, or from the process that listens; returns what ends that."""
        service, place = self._service, self._service.place

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # Clients over the limit of logins get an error; beyond twice the limit they are dropped without one.
            if service.logging_in >= 2 * (LOGGING_IN * service.options.max_connections + LOCAL):
                writer.transport.abort()
                place.tell({"kind": "left"})
            else:
                _keep_alive(writer.get_extra_info("socket"))
                tasks.create_task(self._attend(reader, writer))

        if place.end is None:
            listener = await listen(service.options, accept)
            on_listening(listener.sockets[0].getsockname()[1])
            return listener.close

        def receive(message: Message, client: socket.socket | None) -> None:
            if client is None:
                service.hear(message)
            else:
                tasks.create_task(self._adopt(client, accept))

        channel = Channel(place.end, receive)
        place.tell = channel.send
        orphaned = tasks.create_task(self._orphaned(channel))
        on_listening(0)

        def close() -> None:
            orphaned.cancel()
            channel.close()

        return close

    async def _adopt(self, client: socket.socket, accept: Accept) -> None:
        """Serve a client that another process has accepted."""
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader(loop=loop), accept, loop=loop)
        try:
            await loop.connect_accepted_socket(lambda: protocol, client)
        except OSError:  # it has gone
            client.close()
            self._service.place.tell({"kind": "left"})

    async def _orphaned(self, channel: Channel) -> None:
        """Stop where the process that listens has ended."""
        await channel.ended.wait()
        self._stopping.set()

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._last_process = self._service.place.session(self._last_process)
        client = Client(self._service, reader, writer, self._last_process)
        self._service.clients[client.session.process] = client
        try:
            await client.run()
        finally:
            self._service.clients.pop(client.session.process, None)
            self._service.place.tell({"kind": "left"})

    async def _watch_users(self) -> None:
        """End idle sessions, too, whose user was removed or has lost a role."""
        while True:
            await asyncio.sleep(USERS)
            self._service.end_revoked()

    async def _drain(self) -> None:
        """Admit no new client, and wait for running statements."""
        self._service.is_draining = True
        self._service.place.tell({"kind": "leaving"})
        for client in list(self._service.clients.values()):
            client.drain()
        for _ in range(int(self._service.options.drain / LOOK)):
            if not self._service.sessions or self._hurried:
                return
            await asyncio.sleep(LOOK)

    async def _part(self) -> None:
        for client in list(self._service.clients.values()):
            client.stop()
        for _ in range(int(GRACE / LOOK)):
            if not self._service.clients:
                return
            await asyncio.sleep(LOOK)
        for client in list(self._service.clients.values()):
            client.abandon()


def _keep_alive(connected: socket.socket) -> None:
    """Enable TCP keep-alive, which detects clients that vanished, after some minutes."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def listen(
    options: Options, accept: Accept = lambda _reader, _writer: None, *, serves: bool = True
) -> asyncio.Server:
    """Listen on the address. Raises ``StartupError``."""
    host, port = options.host, options.port
    try:
        return await asyncio.start_server(accept, host, port, backlog=BACKLOG, start_serving=serves)
    except OSError as error:
        known = error.errno and not isinstance(error, socket.gaierror)
        reason = os.strerror(error.errno or 0) if known else error.strerror
        raise StartupError(f"cannot listen on {host}:{port}: {reason}") from None


def _binding(options: Options) -> bytes | None:
    file = options.tls_certificate
    return None if file is None else server_end_point(file.read_text(encoding="utf-8"))


@contextmanager
def signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT stop the server, where it runs in the main thread."""
    wanted = (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ()
    for number in wanted:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in wanted:
            loop.remove_signal_handler(number)
