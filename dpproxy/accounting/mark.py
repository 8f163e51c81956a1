"""The high-water mark: the last head of the ledger, in a file that is not rolled back together with the ledger.

The file has two slots. A write replaces the older slot, so that an interrupted write leaves the previous mark intact;
processes of one host take turns by a lock on the file. A slot is a head of the ledger and its mac, as text.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.system import disk
from dpproxy.values.errors import StartupError

SLOT = 4096
"""Bytes of one slot: no sector of a disk holds parts of both."""
WAIT = 5
"""Seconds to wait for another process that writes the mark; none is so slow, but one may be stopped."""
POLL = 0.0005
"""Seconds between two attempts to get the lock: less than an fsync takes."""
MAKE = "dpproxy ledger mark --config FILE"
"""The command that writes a new mark; for messages."""


class Missing(Mismatch):
    """The file of the mark does not exist."""


def _lock(descriptor: int) -> None:
    """Lock the file against other processes. Raises OSError after ``WAIT`` seconds."""
    until = time.monotonic() + WAIT
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(POLL)


class Mark(Struct, frozen=True):
    """The file of a high-water mark, and the key for its macs.

    Errors: Mismatch if it is missing, damaged or of another ledger; StartupError if it cannot be read or written.
    """

    path: Path
    seals: Seals

    def read(self) -> Head:
        """The highest head that was written."""
        with self._locked(os.O_RDONLY) as descriptor:
            return self._latest(descriptor)[1]

    def advance(self, head: Head) -> None:
        """Move the mark to ``head`` unless it is there or beyond; on the disk when this returns."""
        with self._locked(os.O_RDWR) as descriptor:
            slot, latest = self._latest(descriptor)
            if latest.ledger != head.ledger:
                raise Mismatch(f"the high-water mark {self.path} is of another ledger")
            if latest.sequence == head.sequence and latest.mac != head.mac:
                raise Mismatch(f"the high-water mark {self.path} is that of a copy of the ledger")
            if latest.sequence < head.sequence:
                os.pwrite(descriptor, self._record(head), (1 - slot) * SLOT)
                os.fdatasync(descriptor)

    def make(self, head: Head) -> None:
        """Write a new mark at ``head``, whatever the file has in it."""
        with self._telling():
            disk.replace(self.path, self._record(head) * 2)

    @contextmanager
    def _locked(self, flags: int) -> Iterator[int]:
        with self._telling():
            try:
                descriptor = os.open(self.path, flags | os.O_CLOEXEC)
            except FileNotFoundError:
                raise Missing(f"its high-water mark {self.path} is missing") from None
            try:
                _lock(descriptor)
                yield descriptor
            finally:
                os.close(descriptor)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            cause = error.strerror or type(error).__name__
            raise StartupError(
                f"high-water mark {self.path} cannot be used ({cause}): refusing to serve"
            ) from error

    def _latest(self, descriptor: int) -> tuple[int, Head]:
        """The number of the slot with the highest head, and that head."""
        found = [self._parse(os.pread(descriptor, SLOT, slot * SLOT)) for slot in (0, 1)]
        whole = [(slot, head) for slot, head in enumerate(found) if head is not None]
        if not whole:
            raise Mismatch(f"the high-water mark {self.path} is damaged or of another ledger")
        return max(whole, key=lambda each: each[1].sequence)

    def _record(self, head: Head) -> bytes:
        fields = [
            head.format,
            head.ledger.hex(),
            head.sequence,
            head.at,
            head.mac.hex(),
            self.seals.head(head).hex(),
        ]
        return (json.dumps(fields) + "\n").encode("ascii").ljust(SLOT - 1, b" ") + b"\n"

    def _parse(self, record: bytes) -> Head | None:
        """The head in a slot; None if the slot is incomplete or its mac is not of this key."""
        try:
            version, ledger, sequence, at, mac, seal = json.loads(record)
            head = Head(version, bytes.fromhex(ledger), sequence, at, bytes.fromhex(mac))
            return head if self.seals.head(head).hex() == seal else None
        except (ValueError, TypeError):
            return None
