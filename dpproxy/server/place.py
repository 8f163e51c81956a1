"""One process among several that serve one address: its number, what it knows of the others, and the way to them.

A message is a small JSON object on a socket that keeps messages apart; one may carry the socket of a client.
"""

import asyncio
import errno
import json
import logging
import os
import socket
from collections import deque
from collections.abc import Callable, MutableMapping
from typing import Any, BinaryIO, Final

from msgspec import Struct, field

Message = dict[str, Any]
VARIABLE: Final = "_DPPROXY_PLACE"
"""The environment variable with the number of the open file that tells a process its place."""
_LONGEST: Final = 1 << 17
"""Bytes of a message; a longer one is not sent. The system takes somewhat more."""
_PAUSE: Final = 0.1
"""Seconds until what the system had no room for is sent again."""
_ENDED: Final = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.EBADF)

_LOG: Final = logging.getLogger(__name__)


class Channel:
    """Messages to and from another process; used by one event loop's thread alone."""

    def __init__(self, end: socket.socket, receive: Callable[[Message, socket.socket | None], None]) -> None:
        end.settimeout(0)
        self._end = end
        self._receive = receive
        self._waiting = deque[tuple[bytes, socket.socket | None]]()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(end, self._read)
        self.ended = asyncio.Event()
        """Set once the other process has closed its end."""

    def send(self, message: Message, client: socket.socket | None = None) -> None:
        """Send, and close this process's copy of the client; what the other process has no room for yet waits."""
        data = json.dumps(message).encode()
        if len(data) > _LONGEST:
            _LOG.warning(
                "a message to another process is not sent: %r takes %d bytes", message.get("kind"), len(data)
            )
        if self.ended.is_set() or len(data) > _LONGEST:
            _close(client)
            return
        if not self._waiting:
            self._loop.add_writer(self._end, self._write)
        self._waiting.append((data, client))
        self._write()

    def close(self) -> None:
        """Close this end; what waits is not sent."""
        if self._end.fileno() >= 0:
            self._loop.remove_reader(self._end)
            self._loop.remove_writer(self._end)
            self._end.close()
        while self._waiting:
            _close(self._waiting.popleft()[1])
        self.ended.set()

    def _write(self) -> None:
        try:
            while self._waiting:
                data, client = self._waiting[0]
                socket.send_fds(self._end, [data], [] if client is None else [client.fileno()])
                self._waiting.popleft()
                _close(client)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno in _ENDED:
                self.close()
            else:  # no memory, or too many sockets on their way
                self._loop.remove_writer(self._end)
                self._loop.call_later(_PAUSE, self._resume)
            return
        self._loop.remove_writer(self._end)

    def _resume(self) -> None:
        if self._waiting and not self.ended.is_set():
            self._loop.add_writer(self._end, self._write)

    def _read(self) -> None:
        try:
            data, handles, _, _ = socket.recv_fds(self._end, _LONGEST, 1)
        except BlockingIOError:
            return
        except OSError as error:
            if (
                error.errno not in _ENDED
            ):  # no memory, or no number left for a client's socket: it still waits
                self._loop.remove_reader(self._end)
                self._loop.call_later(_PAUSE, self._listen)
                return
            data, handles = b"", []
        if data:
            self._receive(json.loads(data), socket.socket(fileno=handles[0]) if handles else None)
        else:
            self.close()

    def _listen(self) -> None:
        if not self.ended.is_set():
            self._loop.add_reader(self._end, self._read)


def _close(client: socket.socket | None) -> None:
    if client is not None:
        client.close()


class Place(Struct):
    """A process among ``count`` that serve; alone it is the first of one, and tells nobody anything."""

    number: int = 0
    count: int = 1
    end: socket.socket | None = None
    """The way to the process that listens."""
    page_key: str | None = None
    """The key of the page, which belongs to all of them."""
    config: str | None = None
    """The configuration that the service started with."""
    others: dict[int, str] = field(default_factory=dict)
    """Who is logged in at other processes, by the number of the session."""
    tell: Callable[[Message], None] = lambda _message: None
    """Sends a message to every other process, or where it names a session to the one that has it."""

    @classmethod
    def given(cls, environment: MutableMapping[str, str]) -> "Place":
        """The place that the process which listens gave this one; alone where there is none."""
        text = environment.pop(VARIABLE, None)
        if text is None:
            return cls()
        with open(int(text), "rb") as file:
            told = json.load(file)
        end = socket.socket(fileno=told["end"])
        return cls(told["number"], told["count"], end, told["page_key"], told["config"])

    def written(self) -> BinaryIO:
        """A file in memory that ``given`` reads: the configuration may be long, and may hold passwords."""
        end = -1 if self.end is None else self.end.fileno()
        file = open(os.memfd_create("place"), "w+b")  # noqa: SIM115 - the caller closes it
        told = {
            "number": self.number, "count": self.count, "end": end, "page_key": self.page_key,
            "config": self.config,
        }  # fmt: skip
        file.write(json.dumps(told).encode())
        file.seek(0)
        return file

    def session(self, before: int) -> int:
        """The number of the session after another one: each process has its own, and ``of`` finds it."""
        following = before + self.count
        return following if before and following <= 0x7FFFFFFF else self.number + self.count

    def has(self, session: int) -> bool:
        """Whether a session of that number would be one of this process."""
        return session % self.count == self.number

    def learn(self, message: Message) -> None:
        """Remember who logs in and out elsewhere."""
        match message:
            case {"kind": "opened", "session": session, "user": user}:
                self.others[session] = user
            case {"kind": "closed", "session": session}:
                self.others.pop(session, None)
            case {"kind": "lost", "number": number}:
                for session in [one for one in self.others if one % self.count == number]:
                    del self.others[session]
            case _:
                pass


def pair() -> tuple[socket.socket, socket.socket]:
    """Two ends that keep messages apart. Raises ``OSError`` where the system has none such."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
