"""Keeps the threads that answer statements on one processor, where the system allows it.

Only one of them runs Python at a time. On several processors they would hand over the interpreter at each of many short
waits, which takes longer than the work in between. Work without the interpreter may run on any processor: the process
with the data, and what runs in ``any_processor``.

Where the processor is busy with other programs, another one is chosen. Decision 0015 has the measurements.
"""

import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

TICK: Final = 1.0
"""Seconds between two checks of the load."""
CROWDED: Final = 0.2
"""The share of a tick that the event loop waits for its processor, from which it is crowded..."""
OWN: Final = 0.8
"""...unless this share of the tick was for the program itself."""
TOGETHER: Final = ("ledger", "statement")
"""How the names of the threads begin that stay with the event loop's."""
_ALL: Final = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset[int]()
_AWAY: Final[set[int]] = set()
"""Beginnings of the names of threads that compute for long."""


@contextmanager
def any_processor() -> Iterator[None]:
    """Let this thread run on any processor inside the block, which computes for long."""
    thread = threading.get_native_id()
    before = frozenset(os.sched_getaffinity(thread)) if _ALL else _ALL
    _AWAY.add(thread)
    _put(thread, _ALL)
    try:
        yield
    finally:
        _AWAY.discard(thread)
        _put(thread, before)


class Processor:
    """Where the threads stay: for one event loop, made in its thread."""

    def __init__(self) -> None:
        self._thread = threading.get_native_id()
        self._waited = self._used = self._at = 0.0

    async def keep(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Choose a processor, and check its load now and then, until cancelled; no effect where there is no choice."""
        if len(_ALL) < 2 or not self._times().exists():
            return
        is_free = True
        try:
            while True:
                with suppress(OSError):  # no file can be opened: at the next tick, perhaps
                    if is_free or self._is_crowded():
                        is_free = not is_free  # for a tick: the system knows best which one is idle
                        self._settle(_ALL if is_free else frozenset({_current()}))
                await sleep(TICK)
        finally:
            with suppress(OSError):
                self._settle(_ALL)

    def _settle(self, where: frozenset[int]) -> None:
        for thread in threading.enumerate():
            one = thread.native_id
            if one is not None and (one == self._thread or thread.name.startswith(TOGETHER)):
                _put(one, _ALL if one in _AWAY else where)
        self._shares()

    def _is_crowded(self) -> bool:
        waited, used = self._shares()
        return waited > CROWDED and used < OWN

    def _shares(self) -> tuple[float, float]:
        """Shares of the time since the last call: the loop waiting for its processor, and the program using any."""
        before = self._waited, self._used, self._at
        self._waited = int(self._times().read_text().split()[1]) / 1e9
        self._used, self._at = time.process_time(), time.monotonic()
        passed = max(self._at - before[2], 1e-9)
        return (self._waited - before[0]) / passed, (self._used - before[1]) / passed

    def _times(self) -> Path:
        return Path(f"/proc/self/task/{self._thread}/schedstat")


def _put(thread: int, where: frozenset[int]) -> None:
    if not where:
        return
    with suppress(OSError):  # it has ended, or the system says no
        os.sched_setaffinity(thread, where)


def _current() -> int:
    """The processor that this thread runs on."""
    return int(
        Path(f"/proc/self/task/{threading.get_native_id()}/stat").read_text().rpartition(")")[2].split()[36]
    )
