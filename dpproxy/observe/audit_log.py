"""The audit log as the proxy writes it: exact answers before they are sent, everything else soon after."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Final, Self, TypeVar

from msgspec.structs import replace

from dpproxy.observe.audit_entry import AuditEntry, AuditOutcome, seal
from dpproxy.observe.audit_file import AlteredLog, AuditFile, Row
from dpproxy.values.errors import LedgerUnavailable

BATCH: Final = 0.05
"""Seconds that an entry may wait for others."""
MOST_WAITING: Final = 20_000
"""The most waiting entries. Further ones are counted and lost: a statement is never delayed for its entry."""
DROP_EVERY: Final = 3600.0
"""Seconds between looks for entries that are too old."""
TELL_EVERY: Final = 10.0
"""Seconds between lines in the server's log about entries that cannot be written."""
DAY: Final = 86_400 * 10**6
_LOG: Final = logging.getLogger(__name__)

T = TypeVar("T")
_Waiting = tuple[AuditEntry | None, Future[None] | None]
"""An entry to be written, and a future for a caller who waits for it."""


class AuditLog:
    """The log, written by a thread of its own; its methods may be called from any thread.

    Args:
        directory: of the state.
        secret: what the key of its macs is derived from.
        keep_days: entries that are older are dropped; None keeps all.
        clock: nanoseconds since 1970.
    """

    def __init__(
        self,
        directory: Path,
        secret: bytes,
        *,
        keep_days: int | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._file = AuditFile(directory, seal(secret))
        self._keep_days = keep_days
        self._clock = clock
        self._wake = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._urgent = False
        self._closed = False
        self._lost = 0
        self._busy = threading.Lock()
        self._next_drop = 0.0
        self._next_told = 0.0
        self._thread = threading.Thread(target=self._work, name="audit log", daemon=True)

    @classmethod
    def open(cls, directory: Path, secret: bytes, *, keep_days: int | None = None) -> Self:
        """The log in the state directory, begun where there is none. Raises ``StartupError``."""
        log = cls(directory, secret, keep_days=keep_days)
        log._file.open()
        log._thread.start()
        return log

    def now(self) -> int:
        """Microseconds since 1970."""
        return self._clock() // 1000

    def write(self, entry: AuditEntry) -> None:
        """Append an entry, durably. Raises ``LedgerUnavailable``, after which nothing may be answered."""
        done: Future[None] = Future()
        self._put(entry, done)
        try:
            done.result()
        except (sqlite3.Error, OSError, AlteredLog) as error:
            raise LedgerUnavailable("the audit log cannot be written: nothing is answered exactly") from error

    def note(self, entry: AuditEntry) -> None:
        """Append an entry soon; returns at once."""
        self._put(entry, None)

    def last(self, limit: int, before: int | None = None) -> list[Row]:
        """The latest entries, or those before a number, the latest first. Raises ``LedgerUnavailable``."""
        return self._read(lambda: self._file.last(limit, before))

    def of_user(
        self, user: str, since: int, outcomes: Sequence[AuditOutcome], limit: int
    ) -> list[AuditEntry]:
        """The latest entries of a user from a time on, in microseconds. Raises ``LedgerUnavailable``."""
        return self._read(lambda: self._file.of_user(user, since, outcomes, limit))

    def verify(self) -> int:
        """Check every entry; how many there are. Raises ``Altered``, ``LedgerUnavailable``."""
        return self._read(self._file.verify)

    def close(self) -> None:
        """Write the waiting entries, and close the file."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, read: Callable[[], T]) -> T:
        """Read, after earlier entries are written."""
        flushed: Future[None] = Future()
        self._put(None, flushed)
        try:
            flushed.result()
            with self._busy:
                return read()
        except (sqlite3.Error, OSError) as error:
            raise LedgerUnavailable("the audit log cannot be read") from error

    def _put(self, entry: AuditEntry | None, done: Future[None] | None) -> None:
        with self._wake:
            if self._closed and done is not None:
                raise LedgerUnavailable("the audit log is closed")
            if self._closed or (done is None and len(self._waiting) >= MOST_WAITING):
                self._lost += 1
                return
            self._waiting.append((entry, done))
            self._urgent = self._urgent or done is not None
            if done is not None or len(self._waiting) == 1:
                self._wake.notify()

    def _work(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._closed)
                self._wake.wait_for(lambda: self._urgent or self._closed, BATCH)
                batch, self._waiting, self._urgent = self._waiting, [], False
                lost, self._lost = self._lost, 0
                if not batch and self._closed:
                    return
            self._commit(batch, lost)

    def _commit(self, batch: list[_Waiting], lost: int) -> None:
        entries = [entry for entry, _ in batch if entry is not None]
        if lost:
            entries.append(
                replace(_NOTHING, at=self.now(), reason=f"{lost} entries are missing before this one")
            )
        error: Exception | None = None
        try:
            with self._busy:
                if entries:
                    self._file.add(entries)
        except (sqlite3.Error, OSError, AlteredLog) as failure:
            error = failure
            with self._wake:
                self._lost += lost + sum(done is None for _, done in batch)
            if time.monotonic() >= self._next_told:
                self._next_told = time.monotonic() + TELL_EVERY
                _LOG.warning("the audit log cannot be written: %d entries are lost so far", self._lost)
        for _, done in batch:
            if done is not None and error is None:
                done.set_result(None)
            elif done is not None:
                done.set_exception(error)
        self._drop()

    def _drop(self) -> None:
        """Drop what is too old, now and then."""
        if self._keep_days is not None and time.monotonic() >= self._next_drop:
            self._next_drop = time.monotonic() + DROP_EVERY
            with self._busy, suppress(sqlite3.Error, OSError, AlteredLog):
                self._file.drop_before(self.now() - self._keep_days * DAY)


_NOTHING = AuditEntry(0, "", "", AuditOutcome.LOST, "")
