"""A minimal client of PostgreSQL's protocol that exposes every byte of the answers, where libraries hide fields."""

import socket
import struct
from collections.abc import Sequence
from typing import Self

from msgspec import Struct
from scramp import ScramClient

TIMEOUT = 60.0
Field = dict[str, str]


class Message(Struct, frozen=True):
    """One message of the server: its type byte and its body, without the length."""

    kind: str
    body: bytes

    def fields(self) -> Field:
        """The fields of an ErrorResponse or NoticeResponse, by their letter."""
        return {part[:1].decode(): part[1:].decode() for part in self.body.split(b"\0") if part}

    def columns(self) -> list[tuple[str, int, bytes]]:
        """The columns of a RowDescription: name, type OID, and all other bytes unparsed."""
        count, at, found = int.from_bytes(self.body[:2], "big"), 2, []
        for _ in range(count):
            end = self.body.index(b"\0", at)
            rest = self.body[end + 1 : end + 19]
            found.append((self.body[at:end].decode(), int.from_bytes(rest[6:10], "big"), rest))
            at = end + 19
        return found

    def values(self) -> list[bytes | None]:
        """The values of a DataRow, None for NULL."""
        count, at = int.from_bytes(self.body[:2], "big"), 2
        found: list[bytes | None] = []
        for _ in range(count):
            size = struct.unpack_from("!i", self.body, at)[0]
            at += 4
            found.append(None if size < 0 else self.body[at : at + size])
            at += max(0, size)
        return found


class Wire:
    """A connection without TLS, logged in.

    Errors: OSError; ConnectionError if the server closes the connection.
    """

    def __init__(self, address: tuple[str, int], user: str, password: str, **settings: str) -> None:
        self._socket = socket.create_connection(address, timeout=TIMEOUT)
        self._buffer = b""
        try:
            self._socket.sendall(_startup({"user": user, "database": "main", **settings}))
            self.greeting = self._login(user, password)
        except BaseException:
            self.close()
            raise

    def _login(self, user: str, password: str) -> list[Message]:
        self._message()
        client = ScramClient(["SCRAM-SHA-256"], user, password)
        first = client.get_client_first().encode()
        self.send("p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first)
        client.set_server_first(self._message().body[4:].decode())
        self.send("p", client.get_client_final().encode())
        client.set_server_final(self._message().body[4:].decode())
        return self.until_ready()

    def send(self, kind: str, body: bytes = b"") -> None:
        """Send one message."""
        self._socket.sendall(kind.encode() + struct.pack("!I", len(body) + 4) + body)

    def until_ready(self) -> list[Message]:
        """Receive all messages up to and including ReadyForQuery."""
        found = [self._message()]
        while found[-1].kind != "Z":
            found.append(self._message())
        return found

    def query(self, sql: str) -> list[Message]:
        """Run a statement by the simple query protocol."""
        self.send("Q", sql.encode() + b"\0")
        return self.until_ready()

    def extended(self, sql: str, values: Sequence[str | None] = (), *, run: bool = True) -> list[Message]:
        """Parse, Bind, Describe (statement and portal), Execute where ``run``, Sync; values and answers as text."""
        given = b"".join(
            struct.pack("!i", -1) if v is None else struct.pack("!i", len(v.encode())) + v.encode()
            for v in values
        )
        self.send("P", b"\0" + sql.encode() + b"\0" + b"\0\0")
        self.send("D", b"S\0")
        if run:
            self.send("B", b"\0\0" + b"\0\0" + struct.pack("!h", len(values)) + given + b"\0\0")
            self.send("D", b"P\0")
            self.send("E", b"\0" + b"\0\0\0\0")
        self.send("S")
        return self.until_ready()

    def value(self, sql: str) -> str:
        """The first value of the first row."""
        rows = [m for m in self.query(sql) if m.kind == "D"]
        return (rows[0].values()[0] or b"").decode()

    def _message(self) -> Message:
        head = self._take(5)
        return Message(head[:1].decode(), self._take(int.from_bytes(head[1:], "big") - 4))

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            more = self._socket.recv(65536)
            if not more:
                raise ConnectionError("the server has hung up")
            self._buffer += more
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _startup(settings: dict[str, str]) -> bytes:
    body = (
        b"".join(name.encode() + b"\0" + value.encode() + b"\0" for name, value in settings.items()) + b"\0"
    )
    return struct.pack("!II", len(body) + 8, 196608) + body
