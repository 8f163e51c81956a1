"""Frames on a socket: whole ones, pieces, and what is none."""

import socket
import struct
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from dpproxy.backends.process.frames import Channel, packed, unpacked


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_a_frame_arrives_as_it_was_sent(ends: tuple[socket.socket, socket.socket]):
    ours, theirs = map(Channel, ends)
    ours.send([1, "run", None], b"body")
    header, body = theirs.receive()
    assert (header, bytes(body)) == ([1, "run", None], b"body")
    ours.close()
    with pytest.raises(EOFError):
        theirs.receive()


def test_a_large_frame_is_sent_in_pieces(ends: tuple[socket.socket, socket.socket]):
    ours, theirs = map(Channel, ends)
    table = pa.table({"k0": pa.array(range(500_000), pa.int64()), "m0": [str(n) for n in range(500_000)]})
    sender = threading.Thread(target=lambda: ours.send("groups", packed(table)))
    sender.start()
    header, body = theirs.receive()
    sender.join()
    assert header == "groups"
    assert unpacked(body).equals(table)


def test_who_waits_stops_when_another_thread_hangs_up(ends: tuple[socket.socket, socket.socket]):
    channel = Channel(ends[0])
    threading.Timer(0.1, channel.hang_up).start()
    with pytest.raises(EOFError):
        channel.receive()
    with pytest.raises(OSError, match="Broken pipe"):
        channel.send("x", bytes(10_000_000))


def test_who_sends_to_nobody_stops_when_another_thread_hangs_up(ends: tuple[socket.socket, socket.socket]):
    channel = Channel(ends[0])
    threading.Timer(0.1, channel.hang_up).start()
    with pytest.raises(OSError, match="Broken pipe"):
        channel.send("x", bytes(10_000_000))  # the socket is full


def test_what_is_no_frame_is_refused(ends: tuple[socket.socket, socket.socket]):
    ends[0].sendall(struct.pack(">IQ", 2**32 - 1, 2**63))
    with pytest.raises(ValueError, match="no frame"):
        Channel(ends[1]).receive()
    ends[0].sendall(struct.pack(">IQ", 3, 0) + b"abc")
    with pytest.raises(ValueError):  # noqa: PT011 - of the header
        Channel(ends[1]).receive()
    with pytest.raises(ValueError):  # noqa: PT011 - of Arrow
        unpacked(memoryview(b"no table"))
