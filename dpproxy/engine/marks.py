"""The mark of a load: a file that a loader writes at every load, which advances the version of the data.

It is looked at on a fixed schedule, and only whether it says something else than before is used: neither when it was
written nor what the data holds. What it said is kept as a digest under the truncation secret.
"""

import fcntl
import hashlib
import hmac
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FILE = "load-mark"
EVERY = 60.0
"""Seconds between two looks."""
LONGEST = 1_000_000
"""Bytes of a mark that count."""


class LoadMark:
    """The mark of one data source, as far as this process has acted upon it."""

    def __init__(self, file: Path, state: Path, secret: bytes) -> None:
        self._file, self._kept, self._secret = file, state / FILE, secret
        self._done = self._read()
        """What the data at hand was opened with."""

    def begin(self, advance: Callable[[], None]) -> None:
        """At a start, when the data has just been opened: advance where the mark is another than was last acted upon.

        The first mark of all begins the count and advances nothing.
        """
        if self._done is not None:
            self._act(self._done, advance)

    def look(self, renew: Callable[[Callable[[], None]], None], advance: Callable[[], None]) -> bool:
        """Have the data read anew where the mark has moved, and the version advance, once among all proxies.

        ``renew`` calls what it is given after the last statement over the old data and before the first over the new.
        """
        found = self._read()
        if found is None or found == self._done:
            return False
        self._done = found
        renew(lambda: self._act(found, advance))
        return True

    def _act(self, found: str, advance: Callable[[], None]) -> None:
        with self._alone():
            before = self._kept.read_text(encoding="ascii") if self._kept.exists() else None
            if before == found:
                return
            if before is not None:
                advance()
            written = self._kept.with_suffix(".new")
            written.write_text(found, encoding="ascii")
            written.replace(self._kept)

    def _read(self) -> str | None:
        """A digest of what the mark says; None where there is none yet."""
        try:
            with self._file.open("rb") as file:
                said = file.read(LONGEST)
        except OSError:
            return None
        return hmac.new(self._secret, b"load mark" + said, hashlib.sha256).hexdigest()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._kept.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
