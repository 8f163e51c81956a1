"""Rows of one statement from the other process, batch by batch: it makes no more than are taken, and a few ahead.

The lane is the brake: the process waits until what it sent was read. Who stops early has the statement stopped, and
the lane is read to its end in the background: it serves the next statement, and an engine that does not obey is killed.
"""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa

from dpproxy.backends.process.frames import Channel, unpacked

GONE = (EOFError, OSError, ValueError)
"""What a lane raises when the other end is gone, or says what it should not."""


class RemoteCall(Protocol):
    """One statement that runs, as ``remote`` knows it."""

    number: int
    until: float
    interrupted: bool

    def interrupt(self) -> None:
        """Stop it, by force where it does not obey."""

    def limited(self) -> AbstractContextManager[object]:
        """Inside the block it is stopped when it is due."""


def batches(
    lane: Channel,
    call: RemoteCall,
    request: object,
    waiting: Callable[[], AbstractContextManager[object]],
    limit: float,
    give: Callable[[Channel], None],
) -> Generator[pa.Table, None, tuple[str, Any]]:
    """Batches of rows, then outcome and value. What comes after an interrupt is not given.

    ``waiting`` is entered while something is awaited, ``limit`` seconds for each batch; ``give`` takes the lane back.

    Errors: those of the lane, which is closed then.
    """
    is_over = False
    try:
        with waiting():
            lane.send(request)
        while True:
            if not call.interrupted:
                call.until = time.monotonic() + limit
            with waiting():
                header, body = lane.receive()
            outcome, value = header
            if outcome != "batch":
                break
            if not call.interrupted:
                yield unpacked(body)
        is_over = True
        give(lane)
    except GONE:
        is_over = True
        lane.close()
        raise
    finally:
        if not is_over:
            call.interrupt()
            threading.Thread(target=_leave, args=(lane, call, give), daemon=True).start()
    return outcome, value


def _leave(lane: Channel, call: RemoteCall, give: Callable[[Channel], None]) -> None:
    """Read what nobody takes any more, to its end."""
    try:
        with call.limited():
            while lane.receive()[0][0] == "batch":
                pass
    except GONE:
        lane.close()
    else:
        give(lane)
