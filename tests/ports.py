"""Ports of the machine that the tests run on."""

import fcntl
import socket
import tempfile
from pathlib import Path
from typing import IO, Final

_PORTS: Final = range(20_000, 32_000)
"""Below those that the system gives to whoever asks for any."""
_HELD: Final[list[IO[str]]] = []
"""Locked until this process ends."""


def free_port() -> int:
    """One that nobody listens on, and that no other process gets here as long as this one runs."""
    for port in _PORTS:
        lock = (Path(tempfile.gettempdir()) / f"dpproxy-port-{port}").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as found:
                found.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
        else:
            _HELD.append(lock)
            return port
    raise AssertionError("no port is free")
