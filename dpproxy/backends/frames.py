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
POLL = 0.1
"""Seconds between two looks at whether to wait on."""


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
        self._end.settimeout(None if patient else POLL)

    def send(self, header: object, body: memoryview | bytes = b"", patience: Patience = _no_end) -> None:
        """Write one frame."""
        encoded = values.dumps(header)
        view = memoryview(body).cast("B")
        self._write([memoryview(_LENGTHS.pack(len(encoded), len(view))), memoryview(encoded), view], patience)

    def receive(self, patience: Patience = _no_end) -> tuple[Any, memoryview]:
        """Read one frame: its header and its body."""
        header, body = _LENGTHS.unpack(self._read(_LENGTHS.size, patience))
        if header > LARGEST_HEADER or body > LARGEST_BODY:
            raise ValueError("no frame")
        data = self._read(header + body, patience)
        return values.loads(data[:header]), data[header:]

    def close(self) -> None:
        """Hang up."""
        self._end.close()

    def _write(self, parts: list[memoryview], patience: Patience) -> None:
        while parts:
            try:
                sent = self._end.sendmsg(parts)
            except TimeoutError:
                patience()
                continue
            while parts and sent >= len(parts[0]):
                sent -= len(parts.pop(0))
            if parts:
                parts[0] = parts[0][sent:]

    def _read(self, size: int, patience: Patience) -> memoryview:
        whole = memoryview(bytearray(size))
        left = whole
        while len(left):
            try:
                count = self._end.recv_into(left)
            except TimeoutError:
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
