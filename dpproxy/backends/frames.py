"""Frames on a stream socket between two processes: two lengths, a header of values, a body of bytes."""

import socket
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from dpproxy.backends import values

_LENGTHS = struct.Struct(">IQ")
LARGEST_HEADER = 1 << 30
LARGEST_BODY = 1 << 36
ROOM = 4096
"""Bytes that are read at once before it is known how long a frame is."""
POLL = 0.1
"""Seconds between two looks at whether to wait on."""
_TIMEVAL = struct.pack("@ll", 0, int(POLL * 1_000_000))


Patience = Callable[[], None]


def _no_end() -> None:
    """Wait on."""


class Channel:
    """One end; used by one thread at a time.

    ``patience`` is called while the other end is silent, every ``POLL`` seconds, and raises to give up. Without it
    there is no end to waiting.

    Errors: ``EOFError`` where the other end is gone, ``ValueError`` for what is no frame, ``OSError``.
    """

    def __init__(self, end: socket.socket, *, patient: bool = False) -> None:
        self._end = end
        # By the kernel's own limit: Python's would ask before each call whether it can be made.
        self._end.settimeout(None)
        for limit in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO) if not patient else ():
            self._end.setsockopt(socket.SOL_SOCKET, limit, _TIMEVAL)
        self._ahead = b""

    def send(self, header: object, body: memoryview | bytes = b"", patience: Patience = _no_end) -> None:
        """Write one frame."""
        encoded = values.dumps(header)
        view = memoryview(body).cast("B")
        self._write([memoryview(_LENGTHS.pack(len(encoded), len(view))), memoryview(encoded), view], patience)

    def receive(self, patience: Patience = _no_end) -> tuple[Any, memoryview]:
        """Read one frame: its header and its body."""
        while len(self._ahead) < _LENGTHS.size:
            self._ahead += self._some(patience)
        header, body = _LENGTHS.unpack_from(self._ahead)
        if header > LARGEST_HEADER or body > LARGEST_BODY:
            raise ValueError("no frame")
        end = _LENGTHS.size + header + body
        data = memoryview(self._ahead)[_LENGTHS.size : end]
        self._ahead = self._ahead[end:]
        if len(data) < header + body:
            data = self._read(data, header + body, patience)
        return values.loads(data[:header]), data[header:]

    def close(self) -> None:
        """Hang up."""
        self._end.close()

    def _write(self, parts: list[memoryview], patience: Patience) -> None:
        while parts:
            try:
                sent = self._end.sendmsg(parts)
            except BlockingIOError:
                patience()
                continue
            while parts and sent >= len(parts[0]):
                sent -= len(parts.pop(0))
            if parts:
                parts[0] = parts[0][sent:]

    def _some(self, patience: Patience) -> bytes:
        """What comes next, most often all of a short frame."""
        while True:
            try:
                data = self._end.recv(ROOM)
            except BlockingIOError:
                patience()
                continue
            if not data:
                raise EOFError
            return data

    def _read(self, begun: memoryview, size: int, patience: Patience) -> memoryview:
        whole = memoryview(bytearray(size))
        whole[: len(begun)] = begun
        left = whole[len(begun) :]
        while len(left):
            try:
                count = self._end.recv_into(left)
            except BlockingIOError:
                patience()
                continue
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
