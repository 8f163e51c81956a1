"""Frames on a stream socket between two processes: two lengths, a header of values, a body of bytes."""

import socket
import struct
from contextlib import suppress
from typing import Any

import pyarrow as pa

from dpproxy.backends.process import values

_LENGTHS = struct.Struct(">IQ")
LARGEST_HEADER = 1 << 30
LARGEST_BODY = 1 << 36
ROOM = 4096
"""Bytes that are read at once before it is known how long a frame is."""


class Channel:
    """One end; used by one thread at a time. It waits for the other end until another thread calls ``hang_up``.

    Errors: ``EOFError`` where the other end is gone, ``ValueError`` for what is no frame, ``OSError``.
    """

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._end.settimeout(None)
        self._ahead = b""

    def send(self, header: object, body: memoryview | bytes = b"") -> None:
        """Write one frame."""
        encoded = values.dumps(header)
        view = memoryview(body).cast("B")
        self._write([memoryview(_LENGTHS.pack(len(encoded), len(view))), memoryview(encoded), view])

    def receive(self) -> tuple[Any, memoryview]:
        """Read one frame: its header and its body."""
        while len(self._ahead) < _LENGTHS.size:
            self._ahead += self._some()
        header, body = _LENGTHS.unpack_from(self._ahead)
        if header > LARGEST_HEADER or body > LARGEST_BODY:
            raise ValueError("no frame")
        end = _LENGTHS.size + header + body
        data = memoryview(self._ahead)[_LENGTHS.size : end]
        self._ahead = self._ahead[end:]
        if len(data) < header + body:
            data = self._read(data, header + body)
        return values.loads(data[:header]), data[header:]

    def hang_up(self) -> None:
        """Have the thread that uses it, and the other end, find the other end gone."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the socket back."""
        self._end.close()

    def _write(self, parts: list[memoryview]) -> None:
        while parts:
            sent = self._end.sendmsg(parts)
            while parts and sent >= len(parts[0]):
                sent -= len(parts.pop(0))
            if parts:
                parts[0] = parts[0][sent:]

    def _some(self) -> bytes:
        """What comes next, most often all of a short frame."""
        data = self._end.recv(ROOM)
        if not data:
            raise EOFError
        return data

    def _read(self, begun: memoryview, size: int) -> memoryview:
        whole = memoryview(bytearray(size))
        whole[: len(begun)] = begun
        left = whole[len(begun) :]
        while len(left):
            count = self._end.recv_into(left)
            if not count:
                raise EOFError
            left = left[count:]
        return whole


def packed(table: pa.Table) -> memoryview:
    """A table as the body of a frame."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def unpacked(body: memoryview) -> pa.Table:
    """The table of a body. Raises ``ValueError``."""
    return pa.ipc.open_stream(pa.py_buffer(body)).read_all()
