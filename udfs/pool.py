"""A pool of noise drawn before it is used, so that the time of an answer does not depend on the noise in it.

It exists per process and in memory only: a forked child starts with an empty pool, so that no draw is used twice.
"""

import os
import threading
import weakref
from collections import OrderedDict, deque
from typing import Final

import numpy as np

from udfs.privacy import Mechanism
from udfs.randomness import Integers, Words

BLOCK: Final = 1024
"""Noise vectors are drawn in whole blocks of this many."""
MOST_KEPT: Final = 64 * BLOCK
"""The most vectors in the pool for one mechanism."""


class _Shelf:
    """The unused draws of one mechanism; ``fill`` and ``take`` need its lock."""

    __slots__ = ("blocks", "lock", "mechanism", "ready", "target")

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.lock = threading.Lock()
        self.blocks: deque[Integers] = deque()
        self.ready = 0
        self.target = 2 * BLOCK

    def fill(self, least: int, words: Words) -> None:
        """Draw whole blocks until ``least`` vectors are ready."""
        missing = -(-(least - self.ready) // BLOCK) * BLOCK
        if missing > 0:
            self.blocks.append(self.mechanism.draw(missing, words))
            self.ready += missing

    def take(self, count: int) -> Integers:
        """Remove and return ``count`` of the ready vectors."""
        parts = []
        self.ready -= count
        while count:
            block = self.blocks.popleft()
            if len(block) > count:
                self.blocks.appendleft(block[count:])
                block = block[:count]
            parts.append(block)
            count -= len(block)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class Pool:
    """Pre-drawn noise for the mechanisms in use, the least recently used forgotten first.

    Thread-safe; a daemon thread refills what runs low. A closed pool still answers, drawing on request.

    Args:
        mechanisms: how many to keep draws for.
        words: the source of random bytes.
    """

    def __init__(self, mechanisms: int = 64, words: Words = os.urandom) -> None:
        self._mechanisms, self._words = mechanisms, words
        self._empty()
        _POOLS.add(self)

    def _empty(self) -> None:
        """Reset to an empty pool with new locks; a forked child does so too: its copies of locks may be locked."""
        self._lock = threading.Lock()
        self._shelves: OrderedDict[Mechanism, _Shelf] = OrderedDict()
        self._low: set[Mechanism] = set()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def prepare(self, mechanism: Mechanism, count: int = 0) -> None:
        """Make sure that ``count`` vectors (some, if 0) are ready; call it before private data is touched."""
        shelf = self._shelf(mechanism)
        with shelf.lock:
            shelf.fill(max(count, 1), self._words)
            shelf.target = min(max(shelf.target, 2 * count), MOST_KEPT)

    def take(self, mechanism: Mechanism, count: int) -> Integers:
        """Return ``count`` noise vectors, shape (count, d), that nobody else gets."""
        shelf = self._shelf(mechanism)
        with shelf.lock:
            shelf.fill(max(count, 1), self._words)
            taken = shelf.take(count) if count else shelf.blocks[0][:0]
            shelf.target = min(max(shelf.target, 2 * count), MOST_KEPT)
            low = shelf.ready < shelf.target // 2
        if low:
            self._refill(mechanism)
        return taken

    def close(self) -> None:
        """Stop the refilling thread and forget every draw."""
        with self._lock:
            thread, self._thread, self._closed = self._thread, None, True
            self._shelves.clear()
        self._wake.set()
        if thread is not None:
            thread.join()

    def _shelf(self, mechanism: Mechanism) -> _Shelf:
        with self._lock:
            shelf = self._shelves.get(mechanism)
            if shelf is None:
                shelf = self._shelves[mechanism] = _Shelf(mechanism)
                while len(self._shelves) > self._mechanisms:
                    self._shelves.popitem(last=False)
            self._shelves.move_to_end(mechanism)
            return shelf

    def _refill(self, mechanism: Mechanism) -> None:
        with self._lock:
            if self._closed:
                return
            self._low.add(mechanism)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="noise pool", daemon=True)
                self._thread.start()
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                if self._closed:
                    return
                low, self._low = self._low, set()
                shelves = [self._shelves[mechanism] for mechanism in low if mechanism in self._shelves]
            for shelf in shelves:
                self._top_up(shelf)

    def _top_up(self, shelf: _Shelf) -> None:
        """Draw block by block outside the shelf's lock, so that nobody waits longer than it takes to add a block."""
        while not self._closed:
            with shelf.lock:
                if shelf.ready >= shelf.target:
                    return
            block = shelf.mechanism.draw(BLOCK, self._words)
            with shelf.lock:
                shelf.blocks.append(block)
                shelf.ready += BLOCK


_POOLS: "weakref.WeakSet[Pool]" = weakref.WeakSet()


def _after_fork() -> None:
    for pool in list(_POOLS):
        pool._empty()  # noqa: SLF001 - the child's own start, nobody else's business


os.register_at_fork(after_in_child=_after_fork)
